"""Whatever arrives: a payload that can be stored and read again, or a refusal. Nothing else."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tocsin.store.columns import dump, load
from tocsin.trigger import Json
from tocsin.web.body import decode
from tocsin.web.refusals import Refusal

LIMIT = 2000
TYPES = st.sampled_from(
    [
        None,
        "",
        "application/json",
        "application/json; charset=utf-16",
        "application/json; charset=\udcff",
        "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded; charset=shift_jis",
        "text/plain",
        ";;;=",
    ]
)
ENCODINGS = st.sampled_from([None, "", "gzip", "identity", "br"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
FRAGMENTS = st.sampled_from(
    ["[", "]", "{", "}", '"', ",", ":", "1", "-", "e9", ".", "\\ud800", "NaN", "a=", "&", "%"]
)


@given(
    body=st.binary() | st.lists(FRAGMENTS).map(lambda parts: "".join(parts).encode()),
    type_=TYPES,
    encoding=ENCODINGS,
)
def test_any_bytes_give_what_can_be_stored_or_a_refusal(
    body: bytes, type_: str | None, encoding: str | None
) -> None:
    status, payload = outcome(body, type_, encoding)
    assert status in {202, 400, 413}
    assert load(dump(payload)) == payload
    json.dumps(payload, ensure_ascii=False).encode()


def outcome(body: bytes, type_: str | None, encoding: str | None) -> tuple[int, Json]:
    """The answer that a body leads to, and its payload."""
    try:
        return 202, decode(body, content_type=type_, content_encoding=encoding, limit=LIMIT)
    except Refusal as refusal:
        return refusal.status, None


@given(value=VALUES)
def test_any_value_comes_through_as_it_was_sent(value: object) -> None:
    body = json.dumps(value).encode()
    assert decode(body, content_type="application/json", content_encoding=None, limit=LIMIT) == value
