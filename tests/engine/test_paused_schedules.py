"""Paused time is not missed time: what was planned for it is skipped in one row, and not made up for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.engine.pausing import pause, resume
from tests.engine.rig import Rig, open_rig, policy, scheduled, spec
from tests.fakes import succeeded
from tocsin.event import Event, Origin, State
from tocsin.notices import Resumed
from tocsin.trigger import At, Cron, Every, Misfire, Schedule

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
EVERY_TEN = Every(every=timedelta(minutes=10), anchor=NOON + timedelta(minutes=3))


def skipped(event: Event) -> tuple[State, str | None, int, datetime | None]:
    return event.state, event.reason, event.count, event.planned_at


@pytest.mark.parametrize("misfire", list(Misfire))
@pytest.mark.parametrize(
    ("schedule", "count", "last", "following"),
    [
        (Cron(expr="*/10 * * * *", tz="UTC"), 6, HOUR, HOUR + 10 * MINUTE),
        (EVERY_TEN, 6, 53 * MINUTE, 63 * MINUTE),
        (At(at=NOON + 7 * MINUTE), 1, 7 * MINUTE, None),
    ],
    ids=["cron", "every", "at"],
)
async def test_one_row_says_how_many_were_skipped_and_the_next_keeps_the_grid(
    rig: Rig, schedule: Schedule, count: int, last: timedelta, following: timedelta | None, misfire: Misfire
) -> None:
    row = await rig.add(scheduled(schedule=schedule, misfire=policy(misfire)))
    await pause(rig, row)
    rig.clock.advance(HOUR + MINUTE)
    await rig.tick()
    assert await rig.events() == [], "nothing is due in a pause"
    await resume(rig, row)
    (event,) = await rig.events()
    assert skipped(event) == (State.SKIPPED, "paused", count, NOON + last)
    assert (await rig.row(row.id)).next_fire_at == (None if following is None else NOON + following)
    assert rig.notices.of(Resumed) == [Resumed(registration="t", skipped=count)]
    await rig.tick()
    assert len(await rig.events()) == 1, "nothing of it is missed"


async def test_a_pause_in_which_nothing_was_planned_leaves_no_row(rig: Rig) -> None:
    row = await rig.add(scheduled())
    await pause(rig, row)
    rig.clock.advance(30)
    await resume(rig, row)
    assert await rig.events() == []
    assert (await rig.row(row.id)).next_fire_at == NOON + MINUTE


async def test_what_is_planned_for_the_very_end_fires(rig: Rig) -> None:
    row = await rig.add(scheduled())
    await pause(rig, row, until=NOON + 3 * MINUTE)
    rig.clock.advance(3 * MINUTE)
    await rig.tick()
    two, third = await rig.events()
    assert skipped(two) == (State.SKIPPED, "paused", 2, NOON + 2 * MINUTE)
    assert (third.state, third.planned_at, third.missed) == (State.PENDING, NOON + 3 * MINUTE, 0)


async def test_after_its_end_with_no_engine_up_it_is_missed_as_ever(rig: Rig) -> None:
    row = await rig.add(scheduled(schedule=Cron(expr="0 * * * *", tz="UTC")))
    await pause(rig, row, until=NOON + 2 * HOUR + MINUTE)
    async with open_rig(rig.paths.home, owner="own_2") as later:
        later.clock.advance(4 * HOUR + 30 * MINUTE)
        await later.tick()
        await later.tick()
        in_pause, afterwards = await later.events()
        assert skipped(in_pause) == (State.SKIPPED, "paused", 2, NOON + 2 * HOUR)
        assert (afterwards.state, afterwards.origin) == (State.PENDING, Origin.CATCH_UP)
        assert (afterwards.planned_at, afterwards.missed) == (NOON + 4 * HOUR, 1)


async def test_a_time_that_a_run_named_is_skipped_too_and_says_so(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add(spec())
    await rig.accepted(row)
    run_id = rig.taken[0].ref.run_id
    await rig.settle(rig.taken.pop(), succeeded(next_fire_at="5m"))
    await pause(rig, row)
    rig.clock.advance(HOUR)
    await resume(rig, row)
    _, event = await rig.events()
    assert skipped(event) == (State.SKIPPED, "paused", 1, NOON + 5 * MINUTE)
    assert (event.origin, event.delivery_id) == (Origin.SELF, f"self:{run_id}")
    found = await rig.row(row.id)
    assert (found.next_fire_at, found.next_fire_run) == (None, None)


async def test_a_run_that_ends_in_the_pause_may_name_a_time_after_it(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add(scheduled())
    rig.clock.advance(MINUTE)
    await rig.tick()
    await pause(rig, row)
    await rig.settle(rig.taken.pop(), succeeded(next_fire_at="2h"))
    rig.clock.advance(HOUR)
    await resume(rig, row)
    assert (await rig.row(row.id)).next_fire_at == NOON + MINUTE + 2 * HOUR
    assert await rig.states() == ["succeeded"]


async def test_one_that_was_switched_off_has_nothing_to_skip(rig: Rig) -> None:
    row = await rig.add(scheduled())
    await pause(rig, row)
    await rig.disarm(row)
    rig.clock.advance(HOUR)
    await resume(rig, row)
    assert await rig.events() == []
    await rig.enable(row)
    assert (await rig.row(row.id)).next_fire_at == NOON + HOUR + MINUTE


async def test_it_expires_in_its_pause(rig: Rig) -> None:
    row = await rig.add(scheduled(expires_at=NOON + 10 * MINUTE))
    await pause(rig, row, until=NOON + HOUR)
    rig.clock.advance(2 * HOUR)
    await rig.tick()
    assert (await rig.row(row.id)).disabled_reason == "expired"
    assert [skipped(event)[:3] for event in await rig.events()] == [(State.SKIPPED, "paused", 10)]
