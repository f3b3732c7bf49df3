"""`tocsin.schedule`: when next, what is refused, what a run may wish for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.duration import parse_duration
from tocsin.errors import InvalidSchedule
from tocsin.schedule import SelfSchedule, delivery_id, next_after, self_scheduled, upcoming, validate
from tocsin.trigger import At, Cron, Every, Json, Schedule

ARMED = datetime(2026, 1, 1, tzinfo=UTC)
DAILY = Cron(expr="0 9 * * *", tz="Europe/Berlin")
FIVE = Cron(expr="*/5 * * * *", tz="UTC")
MINUTELY = Cron(expr="* * * * *", tz="Europe/Berlin")
SECONDLY = Every(every=timedelta(seconds=1))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def every(text: str, anchor: str | None = None) -> Every:
    return Every(every=parse_duration(text), anchor=None if anchor is None else at(anchor))


def after(schedule: Schedule | None, text: str) -> datetime | None:
    return next_after(schedule, after=at(text), anchor=ARMED)


@pytest.mark.parametrize(
    ("schedule", "base", "expected"),
    [
        pytest.param(every("2h", "2026-03-08T06:00Z"), "2026-03-08T06:00Z", "2026-03-08T08:00Z", id="CR-45a"),
        pytest.param(every("2h", "2026-11-01T05:00Z"), "2026-11-01T05:00Z", "2026-11-01T07:00Z", id="CR-45b"),
        pytest.param(
            every("7d", "2019-03-26T15:00Z"), "2019-03-26T15:00Z", "2019-04-02T15:00Z", id="CR-45 days"
        ),
        pytest.param(DAILY, "2026-07-01T00:00Z", "2026-07-01T07:00Z", id="CR-47 the named zone's 09:00"),
        (every("1h"), "2026-01-01T00:00Z", "2026-01-01T01:00Z"),
        (every("1h"), "2026-01-01T00:59:59.999999Z", "2026-01-01T01:00Z"),
        (every("1h", "2026-02-01T12:30:00+01:00"), "2026-01-01T00:00Z", "2026-01-01T00:30Z"),
        (At(at=at("2026-01-02T10:00:00+01:00")), "2026-01-01T00:00Z", "2026-01-02T09:00Z"),
    ],
)
def test_next_after(schedule: Schedule, base: str, expected: str) -> None:
    assert after(schedule, base) == at(expected)


def test_an_instant_that_is_reached_is_not_next() -> None:
    assert after(At(at=ARMED), "2026-01-01T00:00Z") is None
    assert after(None, "2026-01-01T00:00Z") is None


SCHEDULES = [DAILY, FIVE, MINUTELY, SECONDLY, every("7h"), every("90s", "2030-05-05T05:05:05.5Z")]
INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


@given(st.sampled_from(SCHEDULES), INSTANTS)
def test_upcoming_rises_strictly(schedule: Schedule, start: datetime) -> None:
    found = [start, *upcoming(schedule, after=start, anchor=ARMED, limit=20)]
    assert len(found) == 21
    assert all(earlier < later for earlier, later in pairwise(found))


def test_upcoming_stops_at_until_included_and_at_the_limit() -> None:
    start, until = at("2026-01-01T00:00Z"), at("2026-01-01T00:15Z")
    assert len(list(upcoming(FIVE, after=start, anchor=ARMED, limit=99, until=until))) == 3
    assert len(list(upcoming(FIVE, after=start, anchor=ARMED, limit=2, until=until))) == 2
    assert list(upcoming(At(at=until), after=start, anchor=ARMED, limit=5)) == [until]


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        (every("999ms"), "every 999ms is out of range; wanted 1s to 36525d"),
        (every("0s"), "every 0s is out of range"),
        (every("100000d"), "every 100000d is out of range"),
        (Every(every=timedelta(hours=1), anchor=datetime(2026, 1, 1)), "has no zone"),  # noqa: DTZ001
        (At(at=datetime(2026, 1, 1)), "has no zone"),  # noqa: DTZ001
        (At(at=at("9999-12-31T23:59Z")), "year 9999 is out of range"),
        (Cron(expr="61 * * * *", tz="UTC"), "minute '61' is out of range"),
        (Cron(expr="@daily", tz="Europe/Belrin"), "did you mean Europe/Berlin?"),
        (Cron(expr="*/30 2 * 3 L0", tz="Europe/Berlin"), "never fires in Europe/Berlin"),
    ],
)
def test_validate_says_what_is_wrong(schedule: Schedule, says: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        validate(schedule, ARMED)
    assert says in str(caught.value)


@pytest.mark.parametrize("schedule", [*SCHEDULES, At(at=at("2020-01-01T00:00Z"))])
def test_validate_lets_the_rest_pass(schedule: Schedule) -> None:
    validate(schedule, ARMED)


def test_a_delivery_id_is_exact_to_the_microsecond() -> None:
    assert delivery_id(3, at("2026-01-01T00:00:00.000001Z")) == "3:1767225600000001"
    assert delivery_id(3, at("2026-01-01T01:00:00.000001+01:00")) == "3:1767225600000001"


@pytest.mark.parametrize(
    ("value", "wish"),
    [
        ("never", None),
        ("30s", "2026-01-01T00:00:30Z"),
        ("2d", "2026-01-03T00:00:00Z"),
        ("1h30m", "2026-01-01T01:30:00Z"),
        ("2026-02-01T09:00:00+01:00", "2026-02-01T08:00:00Z"),
        ("2026-02-01t09:00:00.25z", "2026-02-01T09:00:00.25Z"),
        ("1s", "2026-01-01T00:00:01Z"),
        ("366d", "2027-01-02T00:00:00Z"),
    ],
)
def test_a_run_names_its_next_fire(value: Json, wish: str | None) -> None:
    assert self_scheduled(value, now=ARMED) == SelfSchedule(at=None if wish is None else at(wish))


@pytest.mark.parametrize(
    ("value", "moved", "note"),
    [
        ("500ms", "2026-01-01T00:00:01Z", "the soonest is 1s from now"),
        ("2020-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "the soonest is 1s from now"),
        ("367d", "2027-01-02T00:00:00Z", "the latest is 366d from now"),
        ("99999999w", "2027-01-02T00:00:00Z", "the latest is 366d from now"),
        ("9999-01-01T00:00:00Z", "2027-01-02T00:00:00Z", "the latest is 366d from now"),
    ],
)
def test_a_wish_out_of_bounds_is_moved_and_noted(value: str, moved: str, note: str) -> None:
    found = self_scheduled(value, now=ARMED)
    assert found.at == at(moved)
    assert found.note is not None
    assert found.note.startswith(f"next_fire_at {value}: {note}")
    assert found.note.endswith(moved)


@pytest.mark.parametrize(
    "value",
    [5, 5.5, True, [], {}, "", "5", "-5s", "tomorrow", "Never", "2026-02-01", "2026-02-01T09:00:00",
     "2026-02-30T09:00:00Z", "2026-W01-1T09:00:00Z", "0001-01-01T00:00:00+14:00", "9" * 5000],
)  # fmt: skip
def test_any_other_wish_is_refused(value: Json) -> None:
    with pytest.raises(
        InvalidSchedule, match=r"^next_fire_at .* wanted an RFC 3339 time with offset, a duration"
    ):
        self_scheduled(value, now=ARMED)
