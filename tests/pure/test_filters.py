"""Filters: what they see, and that nothing that arrives can make one fail or run for ever."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.filters import DEEPEST, LONGEST, InvalidFilter, check, depth, refusal
from tocsin.trigger import Json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def judged(
    text: str, payload: Json = None, config: dict[str, Json] | None = None, **more: Json
) -> str | None:
    return refusal(text, {"raw_payload": payload, "event_type": "push", **more}, config or {})


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("true", None),
        ('event.event_type == "push"', None),
        ("event.raw_payload.a.b[1] == 2", {"a": {"b": [1, 2]}}),
        ('has(event.raw_payload.a) && event.raw_payload.a.startsWith("x")', {"a": "xy"}),
        ("event.raw_payload.items.exists(i, i.n > 2)", {"items": [{"n": 1}, {"n": 3}]}),
        ("event.raw_payload.n > 1.5", {"n": 2}),
        ("event.raw_payload.n > 0", {"n": 10**30}),
        ("event.raw_payload.n < 0", {"n": -(10**400)}),
        ("event.raw_payload == null", None),
        ('event.raw_payload.s.matches("^(a+)+$") == false', {"s": "a" * 40 + "b"}),
        ("event.raw_payload.missing == 1 || true", {}),
    ],
)
def test_wanted(text: str, payload: Json) -> None:
    assert judged(text, payload) is None


@pytest.mark.parametrize(
    ("text", "payload", "reason"),
    [
        ("false", None, "filter: false"),
        ("event.raw_payload.a == 1", {}, "filter: there is no a"),
        ("event.raw_payload.a == 1", [], "filter: "),
        ("event.raw_payload.a", {"a": "yes"}, "filter: gave str, expected bool"),
        ("event.raw_payload.a + 1 > 0", {"a": 2**63 - 1}, "filter: Arithmetic overflow"),
        ("1 / event.raw_payload.a > 0", {"a": 0}, "filter: division by zero"),
        ("event.raw_payload.a[3] == 1", {"a": []}, "filter: index out of bounds"),
        ('event.raw_payload.a == "x"', {"a": "\ud800"}, "filter: false"),
    ],
)
def test_not_wanted(text: str, payload: Json, reason: str) -> None:
    told = judged(text, payload)
    assert told is not None
    assert told.startswith(reason)


def test_config_is_there_too() -> None:
    assert judged("event.raw_payload.n > config.least", {"n": 3}, {"least": 2}) is None


@given(payload=VALUES)
def test_whatever_arrives_is_no_error(payload: Any) -> None:
    for text in ("event.raw_payload.a == 1", "event.raw_payload == 1", "event.raw_payload.all(x, x > 1)"):
        told = judged(text, payload)
        assert told is None or told.startswith("filter: ")


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


def test_a_payload_that_is_nested_too_deeply_is_not_wanted() -> None:
    assert judged("true", nested(DEEPEST - 1)) is None
    assert judged("true", nested(DEEPEST + 1)) == "filter: nested more deeply than 100 levels"
    assert judged("true", nested(5_000)) == "filter: nested more deeply than 100 levels"


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("true", 1),
        ("event.a.exists(x, x.b == 1) && event.c.all(x, x)", 1),
        ("event.a.exists(x, x.b.all(y, y > 1))", 2),
        ("event.a.map(x, x + 1).exists(x, x > 1)", 2),
        ("event.a.all(x, x.map(y, y.filter(z, z > 1)))", 5),
        ('event.a == ".all(" && event.b == ".all("', 1),
    ],
)
def test_loops_within_loops_are_counted(text: str, loops: int) -> None:
    assert depth(text) == loops


@pytest.mark.parametrize(
    "text",
    [
        "event.raw_payload.all(x, event.raw_payload.all(y, x + y >= 0))",
        "event.raw_payload.map(x, x).size() > 0",
    ],
)
def test_what_would_take_minutes_is_not_begun(text: str) -> None:
    began = time.monotonic()
    told = judged(text, list(range(100_000)))
    assert told is not None
    assert told.startswith("filter: too much to look at")
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("event.a ==", "saw no CEL expression: 1:11: Syntax error"),
        ("", "saw no CEL expression"),
        (
            'payload.action == "x"',
            "saw 'payload', which is nothing that CEL knows, expected event.… or config.…",
        ),
        ("nothing(event)", "saw 'nothing', which is nothing that CEL knows"),
        ("(" * 500 + "true" + ")" * 500, "saw no CEL expression"),
        ("true || " * 1_000 + "true", f"saw 8004 characters, expected at most {LONGEST}"),
    ],
)
def test_what_can_never_match_is_told_when_it_is_read(text: str, message: str) -> None:
    with pytest.raises(InvalidFilter) as caught:
        check(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_what_depends_on_an_event_is_no_mistake() -> None:
    check("event.raw_payload.a.b.c == 1 && config.x > 2")
