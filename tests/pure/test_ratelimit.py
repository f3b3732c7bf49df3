"""How often a source may tell of something: never more than a burst and what came back since."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.ratelimit import of_props, step
from tocsin.trigger import Rate

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
RATES = st.builds(
    Rate,
    count=st.integers(1, 12),
    per=st.integers(1, 5_000_000).map(lambda us: timedelta(microseconds=us)),
)
WAITS = st.lists(st.integers(0, 3_000_000).map(lambda us: timedelta(microseconds=us)), max_size=60)


def passed(rate: Rate, arrivals: Sequence[datetime]) -> list[datetime]:
    """Those that may pass, in order."""
    tat, found = None, []
    for now in arrivals:
        moved, _ = step(rate, tat, now)
        if moved is not None:
            tat = moved
            found.append(now)
    return found


def spaced(waits: Sequence[timedelta]) -> list[datetime]:
    """Arrivals so far apart."""
    arrivals, now = [], NOW
    for wait in waits:
        now += wait
        arrivals.append(now)
    return arrivals


@given(rate=RATES, waits=WAITS)
def test_no_stretch_sees_more_than_a_burst_and_what_came_back_in_it(
    rate: Rate, waits: list[timedelta]
) -> None:
    times = passed(rate, spaced(waits))
    for first, start in enumerate(times):
        for last in range(first, len(times)):
            assert last - first + 1 <= rate.count + (times[last] - start) // rate.distance


@given(rate=RATES, waits=WAITS)
def test_what_keeps_its_distance_always_passes(rate: Rate, waits: list[timedelta]) -> None:
    arrivals = spaced([max(wait, rate.distance) for wait in waits])
    assert passed(rate, arrivals) == arrivals


@given(rate=RATES, waits=WAITS)
def test_one_that_waits_as_long_as_it_was_told_passes(rate: Rate, waits: list[timedelta]) -> None:
    tat: datetime | None = None
    for now in spaced(waits):
        moved, wait = step(rate, tat, now)
        if moved is None:
            assert step(rate, tat, now + wait - timedelta(microseconds=1))[0] is None
            assert step(rate, tat, now + wait)[0] is not None
        else:
            tat = moved


def test_a_whole_burst_passes_at_once_and_no_more() -> None:
    rate = Rate(count=3, per=MINUTE)
    assert passed(rate, [NOW] * 5) == [NOW] * 3


def test_a_clock_set_back_by_hours_locks_nobody_out() -> None:
    rate = Rate(count=6, per=MINUTE)
    tat, _ = step(rate, None, NOW)
    earlier = NOW - timedelta(hours=5)
    tat, wait = step(rate, tat, earlier)
    assert (tat, wait) == (earlier + MINUTE, timedelta())
    assert step(rate, tat, earlier) == (None, timedelta(seconds=10))
    assert step(rate, tat, earlier + timedelta(seconds=10))[0] is not None


def test_in_props() -> None:
    assert of_props({"rate": {"count": 60, "per_ms": 60_000}}) == Rate(count=60, per=MINUTE)


@pytest.mark.parametrize(
    "props", [{}, {"rate": None}, {"rate": {"count": 0, "per_ms": 1}}, {"rate": "60/min"}]
)
def test_without_one(props: dict[str, object]) -> None:
    assert of_props(props) is None  # type: ignore[arg-type]
