"""Placeholders: what they put into an argument, and every brace that is none."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.engine.runners.placeholders import fill
from tocsin.errors import SpawnFailed
from tocsin.trigger import Json

PARAMS: dict[str, Json] = {
    "event": {
        "raw_payload": {
            "path": "/in/a b.txt",
            "n": 7,
            "ratio": 1.5,
            "ok": True,
            "nothing": None,
            "empty": "",
            "items": ["x", {"id": 3}],
            "größe": "ü",
            "big": 10**30,
        },
        "safe_headers": {"x-github-event": "push"},
    },
    "config": {"out": "/out"},
    "state": {"v": 1},
    "attempt": 3,
}


@pytest.mark.parametrize(
    ("element", "wanted"),
    [
        ("{event.raw_payload.path}", "/in/a b.txt"),
        ("{config.out}/{event.raw_payload.path}!", "/out//in/a b.txt!"),
        ("{event.raw_payload.n}", "7"),
        ("{event.raw_payload.big}", str(10**30)),
        ("{event.raw_payload.ratio}", "1.5"),
        ("{event.raw_payload.ok}", "true"),
        ("{event.raw_payload.empty}", ""),
        ("{event.raw_payload.items}", '["x",{"id":3}]'),
        ("{event.raw_payload.items.0}", "x"),
        ("{event.raw_payload.items.1.id}", "3"),
        ("{event.raw_payload.größe}", "ü"),
        ("{event.safe_headers.x-github-event}", "push"),
        ("{state.v}", "1"),
        ("${state.v}", "$1"),
        ('{"v":{state.v}}', '{"v":1}'),
        ('{"a":{"v":{state.v}}}', '{"a":{"v":1}}'),
    ],
)
def test_a_placeholder_is_replaced_by_its_value(element: str, wanted: str) -> None:
    assert fill(element, PARAMS) == (wanted.encode(), True)


@pytest.mark.parametrize(
    ("element", "wanted"),
    [
        ("{{event.raw_payload.n}}", "{event.raw_payload.n}"),
        ("a{{config.out}}b", "a{config.out}b"),
        ("{{config.not.there}}", "{config.not.there}"),
        ("{{{{config.out}}}}", "{{config.out}}"),
    ],
)
def test_doubled_braces_keep_a_placeholder_from_being_one(element: str, wanted: str) -> None:
    assert fill(element, PARAMS) == (wanted.encode(), False)


def test_three_braces_are_the_value_in_braces() -> None:
    assert fill("{{{state.v}}}", PARAMS) == (b"{1}", True)
    assert fill("{{state.v}", PARAMS) == (b"{1", True)


@pytest.mark.parametrize(
    "element",
    [
        *("{}", "{{}}", "{event}", "{state}", "{attempt}", "{other.x}", "{event.}", "{ event.x }"),
        *(
            "{event.a b}",
            "%{time}",
            "{a,b}",
            "awk '{print $1}'",
            '{"a": {"b": 1}}',
            "{{",
            "}}",
            "{" * 100_000,
        ),
    ],
)
def test_every_other_brace_stays_as_it_is(element: str) -> None:
    assert fill(element, PARAMS) == (element.encode(), False)


@given(st.text(alphabet="{}.,x event", max_size=40))
def test_text_without_a_root_and_a_dot_is_never_touched(element: str) -> None:
    assert fill(element, {}) == (element.encode(), False) or "event." in element


@pytest.mark.parametrize(
    "name",
    [
        *("event.raw_payload.nothing", "event.raw_payload.missing", "event.raw_payload.n.x", "config.out.0"),
        *(
            "event.raw_payload.items.2",
            "event.raw_payload.items.-1",
            "event.raw_payload.items.x",
            "state.a.b",
        ),
    ],
)
def test_a_missing_or_null_value_fails_for_good_and_is_named(name: str) -> None:
    with pytest.raises(SpawnFailed, match=f"placeholder {{{name}}} has no value") as raised:
        fill(f"--x={{{name}}}", PARAMS)
    assert raised.value.permanent


@given(st.binary(max_size=60))
def test_a_base64_twin_gives_the_exact_bytes(raw: bytes) -> None:
    twin = base64.b64encode(raw).decode()
    payload: Json = {"path": raw.decode("utf-8", "replace"), "path_base64": twin}
    assert fill("<{event.p.path}>", {"event": {"p": payload}}) == (b"<" + raw + b">", True)


def test_a_field_that_only_looks_like_a_twin_is_left_alone() -> None:
    assert fill("{config.a}", {"config": {"a": "x", "a_base64": "not base64!"}}) == (b"x", True)
    assert fill("{config.a}", {"config": {"a": "x", "a_base64": 5}}) == (b"x", True)
    assert fill("{config.a}", {"config": {"a": 1, "a_base64": "eA=="}}) == (b"1", True)


def test_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(SpawnFailed, match="not Unicode"):
        fill("{config.a}", {"config": {"a": "\ud800"}})


def test_a_value_is_never_looked_at_again() -> None:
    assert fill("{config.a}", {"config": {"a": "{config.b}", "b": "no"}}) == (b"{config.b}", True)
