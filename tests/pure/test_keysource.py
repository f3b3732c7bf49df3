"""Key sources: what is written, and what an envelope answers."""

from __future__ import annotations

from typing import Any

import pytest

from tocsin.keysource import KeySource, key_of, parse

ENVELOPE: dict[str, Any] = {
    "provider": "tocsin",
    "event_type": "opened",
    "connection_id": None,
    "delivery_id": "d1",
    "raw_payload": {
        "issue": {"id": 7, "title": "a"},
        "ids": ["x", {"n": 1.5}],
        "flag": True,
        "nothing": None,
        "a.b": "dotted",
        "empty": "",
        "long": "x" * 300,
    },
    "safe_headers": {"x-github-event": "push"},
    "safe_query": {"a.b": "1"},
}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("payload:issue.id", "7"),
        ("payload:issue.title", "a"),
        ("payload:issue", '{"id":7,"title":"a"}'),
        ("payload:ids.0", "x"),
        ("payload:ids.1.n", "1.5"),
        ("payload:ids.2", None),
        ("payload:ids.-1", None),
        ("payload:flag", "true"),
        ("payload:nothing", None),
        ("payload:empty", ""),
        ("payload:issue.id.deeper", None),
        ("payload:no.such", None),
        ("safe_header:X-GitHub-Event", "push"),
        ("safe_header:x-other", None),
        ("safe_query:a.b", "1"),
        ("event_type", "opened"),
        ("delivery_id", "d1"),
        ("provider", "tocsin"),
        ("connection_id", None),
    ],
)
def test_a_source_names_a_part_of_the_envelope(text: str, key: str | None) -> None:
    assert key_of(parse(text), ENVELOPE) == key


def test_an_id_is_the_same_key_as_a_number_and_as_text() -> None:
    source = parse("payload:id")
    assert key_of(source, {"raw_payload": {"id": 7}}) == key_of(source, {"raw_payload": {"id": "7"}})


def test_the_order_of_an_objects_keys_does_not_matter() -> None:
    source = parse("payload:o")
    one, other = {"raw_payload": {"o": {"a": 1, "b": 2}}}, {"raw_payload": {"o": {"b": 2, "a": 1}}}
    assert key_of(source, one) == key_of(source, other)


def test_a_long_key_is_hashed_and_still_tells_keys_apart() -> None:
    keys = {key_of(parse("payload:k"), {"raw_payload": {"k": "x" * 300 + end}}) for end in "ab"}
    assert len(keys) == 2
    assert all(key is not None and len(key) == len("sha256:") + 64 for key in keys)


@pytest.mark.parametrize("payload", [None, [], "text", 3, {}])
def test_a_payload_without_the_part_has_no_key(payload: Any) -> None:
    assert key_of(parse("payload:a.b"), {"raw_payload": payload}) is None


@pytest.mark.parametrize(
    "text", ["", "payload", "payload:", "payload:a..b", "payload:.a", "header:x", "Payload:a", "event", ":a"]
)
def test_anything_else_is_refused_with_what_would_do(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected payload:PATH, safe_header:NAME"):
        parse(text)


def test_a_source_is_read_once_for_all() -> None:
    assert parse("payload:a.b") == KeySource(part="payload", name="a.b")
    assert parse("event_type") == KeySource(part="event_type")
