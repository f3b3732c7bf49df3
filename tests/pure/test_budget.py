"""`tocsin.budget`: exact money, and periods by the calendar of a zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.budget import MOST_USD, begins, begins_again, counted_from, dollars, exact, nanos, spent_of
from tocsin.instants import rfc3339
from tocsin.trigger import NANOS, Budget, BudgetPeriod

DAY, WEEK, MONTH = BudgetPeriod.DAY, BudgetPeriod.WEEK, BudgetPeriod.MONTH


def budget(period: BudgetPeriod, tz: str = "Europe/Berlin", usd: float = 5) -> Budget:
    return Budget(max_nanos=nanos(usd), period=period, tz=tz)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def test_a_cost_is_the_number_that_was_written() -> None:
    assert nanos(0.1) * 10 == nanos(1) == NANOS
    assert nanos(4.37) == 4_370_000_000
    assert nanos(0.000000001) == 1
    assert nanos(1e-12) == 0
    assert nanos(MOST_USD) < 2**63


@given(st.integers(min_value=0, max_value=10**15))
def test_what_a_float_can_hold_to_the_nano_comes_back_exactly(amount: int) -> None:
    assert nanos(float(exact(amount))) == amount


@pytest.mark.parametrize(
    ("usd", "shown", "number"),
    [
        (4.37, "$4.37", "4.37"),
        (5, "$5.00", "5"),
        (0.1, "$0.10", "0.1"),
        (0, "$0.00", "0"),
        (0.0012, "$0.0012", "0.0012"),
        (1e9, "$1000000000.00", "1000000000"),
        (100, "$100.00", "100"),
    ],
)
def test_money_in_words_hides_nothing(usd: float, shown: str, number: str) -> None:
    assert (dollars(nanos(usd)), exact(nanos(usd))) == (shown, number)


@pytest.mark.parametrize(("period", "when"), [(DAY, "today"), (WEEK, "this week"), (MONTH, "this month")])
def test_a_sentence(period: BudgetPeriod, when: str) -> None:
    assert spent_of(nanos(5.02), budget(period)) == f"$5.02 of $5.00 {when}"


@pytest.mark.parametrize(
    ("period", "tz", "now", "start", "following"),
    [
        (DAY, "Europe/Berlin", "2026-06-10T12:00:00Z", "2026-06-09T22:00:00Z", "2026-06-10T22:00:00Z"),
        (DAY, "Europe/Berlin", "2026-06-09T22:00:00Z", "2026-06-09T22:00:00Z", "2026-06-10T22:00:00Z"),
        (
            DAY,
            "Europe/Berlin",
            "2026-03-29T12:00:00Z",
            "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z",
        ),  # 23 h
        (
            DAY,
            "Europe/Berlin",
            "2026-10-25T12:00:00Z",
            "2026-10-24T22:00:00Z",
            "2026-10-25T23:00:00Z",
        ),  # 25 h
        (
            WEEK,
            "Europe/Berlin",
            "2026-06-14T21:59:59Z",
            "2026-06-07T22:00:00Z",
            "2026-06-14T22:00:00Z",
        ),  # Sunday
        (
            WEEK,
            "Europe/Berlin",
            "2026-06-14T22:00:00Z",
            "2026-06-14T22:00:00Z",
            "2026-06-21T22:00:00Z",
        ),  # Monday
        (WEEK, "Europe/Berlin", "2026-03-27T12:00:00Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"),
        (MONTH, "Europe/Berlin", "2026-03-31T12:00:00Z", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"),
        (MONTH, "Europe/Berlin", "2026-12-31T12:00:00Z", "2026-11-30T23:00:00Z", "2026-12-31T23:00:00Z"),
        # a midnight that the clock leaves out: Beirut goes from 0:00 to 1:00
        (DAY, "Asia/Beirut", "2026-03-29T12:00:00Z", "2026-03-28T22:00:00Z", "2026-03-29T21:00:00Z"),
        # a midnight that is shown twice: Havana goes from 1:00 back to 0:00
        (DAY, "America/Havana", "2026-11-01T05:30:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"),
        # a day that was left out: Apia had no 30 December in 2011
        (DAY, "Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"),
    ],
)
def test_a_period_begins_at_its_zones_midnight(
    period: BudgetPeriod, tz: str, now: str, start: str, following: str
) -> None:
    found = budget(period, tz)
    assert (rfc3339(begins(found, at(now))), rfc3339(begins_again(found, at(now)))) == (start, following)


@given(
    st.sampled_from(list(BudgetPeriod)),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Asia/Beirut", "Australia/Lord_Howe", "UTC"]),
    st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2040, 1, 1)),  # noqa: DTZ001
)
def test_periods_hold_their_instants_and_follow_each_other(
    period: BudgetPeriod, tz: str, moment: datetime
) -> None:
    now, found = moment.replace(tzinfo=UTC), budget(period, tz)
    assert begins(found, now) <= now
    assert begins_again(found, now) > begins(found, now)
    assert begins(found, begins_again(found, now)) == begins_again(found, now)


def test_what_a_person_forgave_does_not_count() -> None:
    now, found = at("2026-06-10T12:00:00Z"), budget(DAY)
    start = begins(found, now)
    assert counted_from(found, None, now) == start
    assert counted_from(found, start - timedelta(days=1), now) == start
    assert counted_from(found, start + timedelta(hours=1), now) == start + timedelta(hours=1)
