"""`tocsin.schedule.decide`: what becomes of the instants that have come due."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.event import Origin
from tocsin.schedule import Decision, decide, next_after, upcoming
from tocsin.trigger import At, Cron, Every, Misfire, MisfirePolicy, Schedule

ARMED = datetime(2026, 1, 1, tzinfo=UTC)
DAILY = Cron(expr="0 9 * * *", tz="Europe/Berlin")
FIVE = Cron(expr="*/5 * * * *", tz="UTC")
MINUTELY = Cron(expr="* * * * *", tz="Europe/Berlin")
SECONDLY = Every(every=timedelta(seconds=1))
LIVE, CATCH_UP = "live", "catch_up"
ONCE, SKIP, ALL = Misfire.FIRE_ONCE, Misfire.SKIP, Misfire.FIRE_ALL


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def decided(
    schedule: Schedule | None,
    due: str,
    now: str,
    misfire: Misfire = ONCE,
    *,
    grace: int = 60,
    limit: int = 24,
) -> Decision:
    policy = MisfirePolicy(misfire=misfire, grace=timedelta(seconds=grace), limit=limit)
    return decide(schedule, next_fire_at=at(due), now=at(now), anchor=ARMED, policy=policy)


def fires(decision: Decision) -> list[tuple[datetime, int, str]]:
    return [(fire.planned_at, fire.missed, fire.origin.value) for fire in decision.fires]


@pytest.mark.parametrize("misfire", [ONCE, SKIP, ALL])
def test_what_is_on_time_fires_live(misfire: Misfire) -> None:
    found = decided(DAILY, "2026-07-01T07:00Z", "2026-07-01T07:00:00.004Z", misfire)
    assert fires(found) == [(at("2026-07-01T07:00Z"), 0, LIVE)]
    assert (found.skipped, found.next_fire_at) == (None, at("2026-07-02T07:00Z"))


def test_cr_39_a_lid_closed_over_nine_o_clock_is_one_catch_up() -> None:
    found = decided(DAILY, "2026-07-01T07:00Z", "2026-07-01T08:00Z")
    assert fires(found) == [(at("2026-07-01T07:00Z"), 0, CATCH_UP)]
    assert found.next_fire_at == at("2026-07-02T07:00Z")


def test_cr_39_or_one_skipped_span_when_catching_up_is_off() -> None:
    found = decided(DAILY, "2026-07-01T07:00Z", "2026-07-03T08:00Z", SKIP)
    assert found.fires == ()
    assert found.skipped is not None
    assert (found.skipped.planned_at, found.skipped.count) == (at("2026-07-03T07:00Z"), 3)


def test_cr_41_an_hour_of_five_minutes_is_one_event() -> None:
    found = decided(FIVE, "2026-01-01T00:05Z", "2026-01-01T01:02Z")
    assert fires(found) == [(at("2026-01-01T01:00Z"), 11, CATCH_UP)]
    assert found.next_fire_at == at("2026-01-01T01:05Z")


def test_cr_41_fire_all_is_all_twelve_in_order() -> None:
    found = decided(FIVE, "2026-01-01T00:05Z", "2026-01-01T01:00:30Z", ALL)
    slots = [at("2026-01-01T00:00Z") + n * timedelta(minutes=5) for n in range(1, 13)]
    assert fires(found) == [(slot, 0, CATCH_UP) for slot in slots[:11]] + [(slots[11], 0, LIVE)]


def test_cr_43_an_early_wake_decides_nothing() -> None:
    found = decided(Cron(expr="0 0 1 * *", tz="UTC"), "2026-02-01T00:00Z", "2026-01-31T23:59:59.1Z")
    assert found == Decision(next_fire_at=at("2026-02-01T00:00Z"))


def test_cr_43_a_second_tick_in_the_due_minute_decides_nothing() -> None:
    monthly = Cron(expr="0 0 1 * *", tz="UTC")
    first = decided(monthly, "2026-02-01T00:00Z", "2026-02-01T00:00:00.006Z")
    assert fires(first) == [(at("2026-02-01T00:00Z"), 0, LIVE)]
    assert first.next_fire_at == at("2026-03-01T00:00Z")
    assert decided(monthly, "2026-03-01T00:00Z", "2026-02-01T00:00:30Z").fires == ()


@pytest.mark.parametrize(
    ("now", "origin"), [("2026-07-01T07:01:00Z", LIVE), ("2026-07-01T07:01:00.000001Z", CATCH_UP)]
)
def test_exactly_the_grace_late_is_on_time(now: str, origin: str) -> None:
    assert fires(decided(DAILY, "2026-07-01T07:00Z", now)) == [(at("2026-07-01T07:00Z"), 0, origin)]


def test_fire_once_lets_an_instant_on_time_stand_for_the_missed() -> None:
    found = decided(FIVE, "2026-01-01T00:05Z", "2026-01-01T01:00:30Z")
    assert fires(found) == [(at("2026-01-01T01:00Z"), 11, LIVE)]


def test_skip_keeps_what_is_on_time_and_folds_it_to_the_latest() -> None:
    found = decided(MINUTELY, "2026-01-01T00:00Z", "2026-01-01T00:10:05Z", SKIP, grace=120)
    assert fires(found) == [(at("2026-01-01T00:10Z"), 1, LIVE)]
    assert found.skipped is not None
    assert (found.skipped.planned_at, found.skipped.count) == (at("2026-01-01T00:08Z"), 9)


def test_fire_all_keeps_the_latest_and_the_first_of_them_counts_the_rest() -> None:
    found = decided(FIVE, "2026-01-01T00:05Z", "2026-01-01T01:02Z", ALL, limit=3)
    slots = [at(f"2026-01-01T{slot}Z") for slot in ("00:50", "00:55", "01:00")]
    assert fires(found) == [(slots[0], 9, CATCH_UP), (slots[1], 0, CATCH_UP), (slots[2], 0, CATCH_UP)]


def test_fire_all_fires_each_of_several_cron_instants_on_time() -> None:
    found = decided(MINUTELY, "2026-01-01T00:00Z", "2026-01-01T00:02:05Z", ALL, grace=600, limit=2)
    assert fires(found) == [(at("2026-01-01T00:01Z"), 1, LIVE), (at("2026-01-01T00:02Z"), 0, LIVE)]


@pytest.mark.parametrize("misfire", [ONCE, SKIP, ALL])
def test_a_short_stall_never_makes_an_interval_burst(misfire: Misfire) -> None:
    found = decided(SECONDLY, "2026-01-01T00:00:01Z", "2026-01-01T00:00:05.5Z", misfire)
    assert fires(found) == [(at("2026-01-01T00:00:05Z"), 4, LIVE)]
    assert (found.skipped, found.next_fire_at) == (None, at("2026-01-01T00:00:06Z"))


def test_fire_all_of_an_interval_makes_the_missed_slots_and_one_on_time() -> None:
    found = decided(SECONDLY, "2026-01-01T00:00:01Z", "2026-01-01T00:00:10Z", ALL, grace=3, limit=3)
    slots = [at(f"2026-01-01T00:00:{second}Z") for second in ("05", "06", "10")]
    assert fires(found) == [(slots[0], 4, CATCH_UP), (slots[1], 0, CATCH_UP), (slots[2], 3, LIVE)]


def test_a_past_at_is_caught_up_once_and_is_not_due_again() -> None:
    found = decided(At(at=at("2026-01-02T00:00Z")), "2026-01-02T00:00Z", "2026-01-05T00:00Z")
    assert fires(found) == [(at("2026-01-02T00:00Z"), 0, CATCH_UP)]
    assert found.next_fire_at is None


@pytest.mark.parametrize("schedule", [None, DAILY, Every(every=timedelta(hours=7))])
def test_an_instant_that_a_run_named_fires_off_the_grid(schedule: Schedule | None) -> None:
    found = decided(schedule, "2026-07-01T03:33:33Z", "2026-07-01T03:33:40Z")
    assert fires(found) == [(at("2026-07-01T03:33:33Z"), 0, LIVE)]
    assert found.next_fire_at == next_after(schedule, after=at("2026-07-01T03:33:40Z"), anchor=ARMED)


@settings(max_examples=150, deadline=None)
@given(
    schedule=st.sampled_from(
        [DAILY, FIVE, MINUTELY, Every(every=timedelta(minutes=7)), At(at=at("2026-03-29T01:30Z"))]
    ),
    start=st.timedeltas(timedelta(), timedelta(hours=4)),
    stall=st.timedeltas(timedelta(), timedelta(hours=9)),
    policy=st.builds(
        MisfirePolicy,
        misfire=st.sampled_from(Misfire),
        grace=st.timedeltas(timedelta(), timedelta(hours=1)),
        limit=st.integers(1, 30),
    ),
)
def test_every_due_instant_is_accounted_for_once(
    schedule: Schedule, start: timedelta, stall: timedelta, policy: MisfirePolicy
) -> None:
    due = at("2026-03-28T23:00Z") + start
    now = due + stall
    found = decide(schedule, next_fire_at=due, now=now, anchor=ARMED, policy=policy)
    planned = [
        due,
        *takewhile(lambda p: p <= now, upcoming(schedule, after=due, anchor=ARMED, limit=9999)),
    ]
    skipped = found.skipped.count if found.skipped else 0
    assert sum(1 + fire.missed for fire in found.fires) + skipped == len(planned)
    assert [fire.planned_at for fire in found.fires] == sorted({fire.planned_at for fire in found.fires})
    assert {fire.planned_at for fire in found.fires} <= set(planned)
    assert all((now - f.planned_at > policy.grace) == (f.origin is Origin.CATCH_UP) for f in found.fires)
    assert len(found.fires) <= (policy.limit if policy.misfire is ALL else 1)
    assert found.next_fire_at == next_after(schedule, after=now, anchor=ARMED)


def test_a_year_asleep_is_counted_exactly() -> None:
    found = decided(MINUTELY, "2025-01-01T00:00Z", "2026-01-01T00:00:00.5Z")
    assert fires(found) == [(at("2026-01-01T00:00Z"), 525_600, LIVE)]
