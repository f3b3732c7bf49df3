"""Schemas of payloads: what fits, and that no payload and no schema makes a check run for ever."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tocsin.schemas import InvalidSchema, check, violation
from tocsin.trigger import Json

LEAVES = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 2.5]) | st.text("ab", max_size=3)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=8,
)
SCHEMAS: list[dict[str, Any]] = [
    {"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
    {"additionalProperties": {"type": "string"}, "properties": {"a": {}}},
    {"type": "array", "uniqueItems": True},
    {"anyOf": [{"type": "string", "pattern": "^a+$"}, {"type": "array", "items": {"$ref": "#"}}]},
]


def judged(schema: dict[str, Any], payload: Json, seconds: float = 2.0) -> str | None:
    return violation(schema, payload, is_time_left=until(seconds))


def until(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


@given(payload=VALUES, schema=st.sampled_from(SCHEMAS))
def test_the_replaced_keywords_say_what_the_library_says(payload: Any, schema: dict[str, Any]) -> None:
    assert (judged(schema, payload) is None) == Draft202012Validator(schema).is_valid(payload)


@pytest.mark.parametrize(
    ("schema", "payload", "told"),
    [
        ({"type": "object", "required": ["id"]}, {}, "$: 'id' is a required property"),
        (
            {"properties": {"a": {"items": {"minimum": 3}}}},
            {"a": [5, 2]},
            "$.a[1]: 2 is less than the minimum of 3",
        ),
        ({"maxLength": 3}, "x" * 5_000, "$: maxLength 3 does not hold"),
        ({"$ref": "http://example.org/x.json"}, 1, "the schema refers to 'http://example.org/x.json'"),
        ({"$ref": "file:///etc/passwd"}, 1, "the schema refers to 'file:///etc/passwd'"),
        ({"$ref": "#"}, 1, "nested too deeply for its schema"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(schema: dict[str, Any], payload: Json, told: str) -> None:
    found = judged(schema, payload)
    assert found is not None
    assert found.startswith(told)


def test_an_older_draft_is_read_by_its_own_rules() -> None:
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "maximum": 3, "exclusiveMaximum": True}
    assert judged(schema, 3) is not None
    assert judged(schema, 2) is None


def test_a_nasty_pattern_takes_no_time() -> None:
    began = time.monotonic()
    assert judged({"pattern": "^(a+)+$"}, "a" * 50_000 + "b") is not None
    assert judged({"patternProperties": {"^(a+)+$": False}}, {"a" * 50_000 + "b": 1}) is None
    assert judged(
        {"additionalProperties": False, "patternProperties": {"^(a|a)*$": True}}, {"a" * 99 + "b": 1}
    )
    assert time.monotonic() - began < 1


def test_many_elements_are_compared_in_no_time() -> None:
    began = time.monotonic()
    assert judged({"uniqueItems": True}, [{"n": n, "m": [n]} for n in range(20_000)]) is None
    assert time.monotonic() - began < 2


def test_what_takes_too_long_does_not_fit() -> None:
    branch = {"anyOf": [{"items": {"$ref": "#/$defs/x"}}] * 4 + [False]}
    payload: Json = "x"
    for _ in range(40):
        payload = [payload]
    began = time.monotonic()
    schema = {"$defs": {"x": {"allOf": [branch, branch, branch]}}, "$ref": "#/$defs/x"}
    assert judged(schema, payload, 0.2) == "takes too long to check"
    assert time.monotonic() - began < 2


def test_depth_is_bounded() -> None:
    payload: Json = 1
    for _ in range(5_000):
        payload = [payload]
    assert judged({}, payload) == "nested more deeply than 100 levels"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ([], "saw no JSON object"),
        ({"type": "objekt"}, "saw no JSON Schema: $.type: 'objekt' is not valid"),
        (
            {"properties": {"a": {"pattern": "(?<=x)y"}}},
            "saw the pattern '(?<=x)y', expected one without look-around",
        ),
        ({"patternProperties": {"(a)\\1": {}}}, "saw the pattern"),
        ({"pattern": "("}, "saw "),
        ({"$ref": "other.json"}, "saw the reference 'other.json', expected a place in the same file"),
        ({"$ref": "#/$defs/none"}, "saw the reference '#/$defs/none'"),
        (
            {"patternProperties": {"a": {}}, "unevaluatedProperties": False},
            "saw unevaluatedProperties beside",
        ),
    ],
)
def test_a_schema_that_cannot_judge_is_refused(schema: Json, message: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        check(schema)
    assert str(caught.value).startswith(message)


def test_references_within_the_file_are_fine() -> None:
    check({"$defs": {"x": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/x"}}})
    check({"$id": "https://example.org/a.json", "$defs": {"x": {"$anchor": "y"}}, "$ref": "#y"})
