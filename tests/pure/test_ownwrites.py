"""What is a loop of own writes, and what is a person at work."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.ownwrites import Link, is_loop, named

TDD = [3.0, 21.0, 12.0, 27.0, 8.0, 17.0, 2.0]  # seconds into runs of 30 s


def link(into: float, length: float = 30, *, stopped: bool = False) -> Link:
    return Link(
        paths=("/a",),
        into=timedelta(seconds=into),
        length=timedelta(seconds=length),
        before_end=None if stopped else timedelta(seconds=length - into),
    )


@pytest.mark.parametrize(
    ("links", "verdict"),
    [
        ([link(0.005, 0.01)] * 4, False),
        ([link(0.005, 0.01)] * 5, True),
        ([link(into, 0.9) for into in (0.1, 0.8, 0.3, 0.5, 0.7)], True),  # short: no moment can be told
        ([link(10)] * 5, True),
        ([link(10 + n / 4) for n in range(5)], True),
        ([link(into) for into in TDD[:5]], False),
        ([link(length - 1, length) for length in (10, 60, 20, 45, 30)], True),  # always at its end
        ([link(length - 1, length, stopped=True) for length in (10, 60, 20, 45, 30)], False),
        ([link(into) for into in TDD * 3][:20], True),  # nobody saves during each of twenty runs
    ],
)
def test_a_loop_is_five_at_the_same_moment_or_twenty(links: list[Link], *, verdict: bool) -> None:
    assert is_loop(links, replaces=False) is verdict


@pytest.mark.parametrize(
    ("links", "verdict"),
    [
        ([link(into, into + 1.5, stopped=True) for into in (5, 60, 7, 300, 20)] * 10, False),
        ([link(0.2, 1.7, stopped=True)] * 5, True),
        ([link(0.2, 1.7, stopped=True)] * 4 + [link(4, 5.5, stopped=True)], False),
    ],
)
def test_of_a_program_that_is_restarted_only_the_first_second_counts(
    links: list[Link], *, verdict: bool
) -> None:
    assert is_loop(links, replaces=True) is verdict


@given(st.lists(st.floats(0, 600), max_size=19))
def test_fewer_than_five_links_are_never_a_loop(moments: list[float]) -> None:
    assert not is_loop([link(into, 600) for into in moments[:4]], replaces=False)


def test_paths_are_named_once_and_not_without_end() -> None:
    assert named(["/a", "/b", "/a"]) == "/a, /b"
    assert named(f"/{n}" for n in range(9)) == "/0, /1, /2, /3, /4, …"
