"""`Prefer: wait=N` as RFC 7240 writes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.web.preferring import wait_of


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        (["wait=5"], 5),
        (["WAIT = 5"], 5),
        (['wait="5"'], 5),
        (["respond-async, wait=5"], 5),
        (["respond-async", "wait=5"], 5),
        (["wait=5; foo=bar, wait=9"], 5),
        (['foo="a, wait=7; b\\"", wait=5'], 5),
        (["foo; wait=9, wait=5"], 5),
        (["wait=x, wait=5"], 5),
        (["wait=60"], 60),
        (["wait=61"], 60),
        (["wait=999999999"], 60),
        (["wait=0, wait=5"], None),
        ([], None),
        (["", ",,;;="], None),
        (["wait"], None),
        (["wait="], None),
        (["wait=-1"], None),
        (["wait=1.5"], None),
        (["wait=1e1"], None),
        (["wait=\u0665"], None),
        (["wait=9999999999"], None),
        (["await=5", "wait-for=5"], None),
        (['foo="wait=5'], None),
        (["x" * 2000 + ", wait=5"], None),
    ],
)
def test_a_wait_is_read_where_it_is_one(values: list[str], seconds: int | None) -> None:
    assert wait_of(values) == seconds


@given(st.lists(st.text(alphabet='wait=;,"\\ 5x', max_size=40), max_size=5))
def test_whatever_is_sent_it_is_a_wait_or_none(values: list[str]) -> None:
    assert wait_of(values) in {None, *range(1, 61)}
