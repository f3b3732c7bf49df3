"""`tocsin.cron` against the minute-by-minute oracle and, in UTC, against croniter where that is right."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import available_timezones

import pytest
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import is_thorough
from tests.pure import oracle
from tocsin import cron, zones

DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)

CHANGES = [  # zone, an instant close to the change
    ("Europe/Berlin", "2026-03-29T01:00:00Z"),
    ("Europe/Berlin", "2026-10-25T01:00:00Z"),
    ("America/New_York", "2026-03-08T07:00:00Z"),
    ("America/New_York", "2026-11-01T06:00:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T15:00:00Z"),  # half an hour back
    ("Australia/Lord_Howe", "2026-10-03T15:30:00Z"),  # half an hour on
    ("Pacific/Apia", "2011-12-30T10:00:00Z"),  # a whole day was left out
    ("America/Sao_Paulo", "2018-02-18T02:00:00Z"),  # 24:00 back to 23:00
    ("America/Sao_Paulo", "2018-11-04T03:00:00Z"),  # 00:00 on to 01:00
    ("America/Santiago", "2018-08-12T04:00:00Z"),
    ("America/Santiago", "2026-04-05T03:00:00Z"),
    ("Africa/Cairo", "2026-04-23T22:00:00Z"),
    ("Africa/Cairo", "2026-10-29T21:00:00Z"),
    ("America/Nuuk", "2026-03-29T01:00:00Z"),  # Saturday 23:00 on to Sunday 00:00
    ("America/Nuuk", "2026-10-25T01:00:00Z"),
    ("Antarctica/Troll", "2026-03-29T01:00:00Z"),  # two hours
    ("Antarctica/Troll", "2026-10-25T01:00:00Z"),
    ("Africa/Casablanca", "2026-02-15T02:00:00Z"),
    ("Asia/Kathmandu", "1985-12-31T18:30:00Z"),  # a quarter of an hour
    ("Asia/Pyongyang", "2015-08-14T15:00:00Z"),
    ("Pacific/Kwajalein", "1993-08-21T12:00:00Z"),  # a whole day, the other way to Apia
    ("Asia/Manila", "1978-03-21T16:00:00Z"),
]

ZONES = sorted(available_timezones() - {"localtime", "posixrules"})  # names that mean this host
MINUTES = ["*", "*/15", "*/7", "0", "30", "59", "0,30", "5-25/10", "1,*/20"]
HOURS = ["*", "*/2", "0", "2", "23", "1-3", "2-23/4", "*/5"]
DAYS = ["* * *", "29-31,1-15 * *", "*/2 * 0-7", "25 * 0"]


def window(near: str) -> tuple[datetime, datetime]:
    middle = oracle.whole_minute(near)
    return middle - DAY, middle + DAY + timedelta(hours=2)


def fires_in(text: str, key: str, start: datetime, stop: datetime) -> list[datetime]:
    found = cron.fires(cron.parse(text), cron.zone(key), start - TICK)
    return list(takewhile(lambda at: at < stop, found))


@pytest.mark.parametrize(("key", "near"), CHANGES)
def test_every_fire_around_a_change_is_the_oracles(key: str, near: str) -> None:
    start, stop = window(near)
    for text in (f"{minute} {hour} * * *" for minute in MINUTES for hour in HOURS):
        assert fires_in(text, key, start, stop) == oracle.fires(text, key, start, stop), text


@pytest.mark.parametrize(("key", "near"), CHANGES)
@pytest.mark.parametrize("days", DAYS[1:])
def test_day_fields_around_a_change_are_the_oracles(key: str, near: str, days: str) -> None:
    start, stop = window(near)
    for text in (f"{times} {days}" for times in ("30 2", "*/30 *", "0 0", "15 23")):
        assert fires_in(text, key, start, stop) == oracle.fires(text, key, start, stop), text


@pytest.mark.parametrize(("key", "near"), CHANGES)
def test_counts_across_a_change_are_the_walks(key: str, near: str) -> None:
    """From before, at and after the change: a gap counts once, a fixed time in a second pass never."""
    change, tz = oracle.whole_minute(near), cron.zone(key)
    starts = [change + minutes * oracle.MINUTE for minutes in (-1500, -200, -60, -30, 0, 1, 45, 90)]
    for text in (f"{minute} {hour} * * *" for minute in MINUTES for hour in HOURS):
        walked = fires_in(text, key, starts[0], change + DAY + TICK)
        for first in starts:
            for until in (first + timedelta(hours=1), change, change + timedelta(hours=3), change + DAY):
                expected = sum(first <= at <= until for at in walked)
                assert cron.count(cron.parse(text), tz, first=first, until=until) == expected, (text, first)


ANYTHING = st.tuples(
    st.sampled_from([*MINUTES, "13", "7-50/9"]),
    st.sampled_from([*HOURS, "4", "0-23", "1,2"]),
    st.sampled_from(["*", "*/3", "1-31", "28", "10-20/2", "30,31,1"]),
    st.sampled_from(["*", "3,4,10,11", "1-12/2", "2-12"]),
    st.sampled_from(["*", "0", "1-5", "5-7", "*/2", "0,6", "2-6/2"]),
).map(" ".join)


@settings(max_examples=5_000 if is_thorough() else 120, deadline=None)
@given(
    text=ANYTHING,
    change=st.sampled_from(CHANGES),
    offset=st.timedeltas(-DAY, DAY + timedelta(hours=2)),
)
def test_next_fire_from_anywhere_is_the_oracles_first(
    text: str, change: tuple[str, str], offset: timedelta
) -> None:
    key, near = change
    start, stop = window(near)
    after = oracle.whole_minute(near) + offset
    expected = [at for at in oracle.fires(text, key, start, stop) if at > after]
    found = cron.next_fire(cron.parse(text), cron.zone(key), after)
    assert found > after
    assert found == expected[0] if expected else found >= stop


@settings(max_examples=120, deadline=None)
@given(
    text=ANYTHING,
    change=st.sampled_from(CHANGES),
    offsets=st.tuples(st.timedeltas(-DAY, DAY), st.timedeltas(-DAY, DAY)),
    limit=st.integers(0, 40),
)
def test_count_and_recent_agree_with_walking(
    text: str, change: tuple[str, str], offsets: tuple[timedelta, timedelta], limit: int
) -> None:
    first, until = (oracle.whole_minute(change[1]) + offset for offset in offsets)
    expr, tz = cron.parse(text), cron.zone(change[0])
    walked = [at for at in fires_in(text, change[0], first, until + TICK) if first <= at <= until]
    assert cron.count(expr, tz, first=first, until=until) == len(walked)
    latest = cron.recent(expr, tz, first=first, until=until, limit=limit)
    assert list(latest) == walked[max(0, len(walked) - limit) :]


@settings(max_examples=60, deadline=None)
@given(text=ANYTHING, key=st.sampled_from([key for key, _ in CHANGES]), days=st.integers(0, 20_000))
def test_fires_rise_strictly_and_are_never_before_the_start(text: str, key: str, days: int) -> None:
    after = datetime(1975, 1, 1, 13, 37, 11, tzinfo=UTC) + days * DAY
    found = [after, *islice(cron.fires(cron.parse(text), cron.zone(key), after), 50)]
    assert all(earlier < later for earlier, later in pairwise(found))
    stepped = [after]
    for _ in range(10):
        stepped.append(cron.next_fire(cron.parse(text), cron.zone(key), stepped[-1]))
    assert stepped == found[:11]


@settings(max_examples=5_000 if is_thorough() else 80, deadline=None)
@given(text=ANYTHING, key=st.sampled_from(ZONES), year=st.integers(1973, 2037))
def test_any_zone_at_its_first_change_of_any_year(text: str, key: str, year: int) -> None:
    first, tz = datetime(year, 1, 1, tzinfo=UTC), cron.zone(key)
    change = zones.change(tz, first, first + 365 * DAY) or first
    start, stop = change - timedelta(hours=4), change + timedelta(hours=4)
    assert fires_in(text, key, start, stop) == oracle.fires(text, key, start, stop)


@pytest.mark.parametrize("share", range(4))
def test_five_years_of_next_rise_strictly_and_keep_their_distance(share: int) -> None:
    """Some fires a day in any zone; in CI a thousand schedules."""
    chance = random.Random(share)  # noqa: S311 - the same schedules each time
    for _ in range(250 if is_thorough() else 5):
        hours = sorted(chance.sample(range(24), chance.randint(1, 3)))
        days = chance.choice(["* * *", "1,15 * *", "* * mon-fri", "*/2 * *", "L * *", "* 3,10 sun"])
        text = f"{chance.randint(0, 59)} {','.join(map(str, hours))} {days}"
        start = datetime(chance.randint(1990, 2030), 1, 1, tzinfo=UTC)
        until, key = start + timedelta(days=5 * 365 + 1), chance.choice(ZONES)
        before = start
        for at in takewhile(
            lambda at: at <= until,  # noqa: B023 - used up within the round
            cron.fires(cron.parse(text), cron.zone(key), start),
        ):
            assert at > before, (text, key, at)
            before = at
        assert until - before < timedelta(days=370), (text, key)


SPECIAL_DAYS = [
    "L * *",
    "15W * *",
    "1W * *",
    "31W * *",
    "* * mon#1",
    "* * 5#3",
    "* * L5",
    "13 * fri",
    "* 2 */2",
]


@settings(max_examples=150, deadline=None)
@given(
    text=st.one_of(ANYTHING, st.sampled_from(SPECIAL_DAYS).map("7 */6 {}".format)),
    at=st.datetimes(datetime(1980, 1, 1), datetime(2060, 1, 1)),  # noqa: DTZ001 - hypothesis adds the zone
)
def test_in_utc_croniter_agrees_where_it_is_right(text: str, at: datetime) -> None:
    after = at.replace(tzinfo=UTC)
    peer = croniter(text.lower(), after, implement_cron_bug=True, ret_type=datetime)
    found = list(islice(cron.fires(cron.parse(text), cron.zone("UTC"), after), 5))
    assert found == [peer.get_next(datetime) for _ in range(5)]
