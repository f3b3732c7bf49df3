"""`tocsin.instants`: microseconds in the database, RFC 3339 in JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.instants import instant, microseconds, rfc3339

ANY = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))


def test_microseconds_count_from_the_epoch() -> None:
    assert microseconds(datetime(1970, 1, 1, tzinfo=UTC)) == 0
    assert microseconds(datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)) == 1_000_005
    assert microseconds(datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)) == -1


@given(ANY)
def test_an_instant_comes_back_to_the_microsecond(at: datetime) -> None:
    assert instant(microseconds(at)) == at
    assert instant(microseconds(at)).tzinfo is UTC


@given(ANY, ANY)
def test_microseconds_keep_the_order_of_instants(one: datetime, other: datetime) -> None:
    assert (microseconds(one) < microseconds(other)) == (one < other)


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), "2026-10-25T00:30:00Z"),
        (datetime(2026, 10, 25, 0, 30, 0, 5, tzinfo=UTC), "2026-10-25T00:30:00.000005Z"),
        (datetime(2026, 1, 15, 23, tzinfo=timezone(timedelta(hours=5, minutes=30))), "2026-01-15T17:30:00Z"),
    ],
)
def test_json_times_are_utc_with_a_z(at: datetime, text: str) -> None:
    assert rfc3339(at) == text
    assert datetime.fromisoformat(text) == at
