"""What was planned up to a trigger's end, with nobody there to fire it, leaves a row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.engine.rig import MINUTELY, Rig, policy, scheduled
from tests.fakes import succeeded
from tocsin.engine.gap_ledger import cost_of
from tocsin.registration import DisabledReason
from tocsin.trigger import At, Every, Misfire, Schedule

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("schedule", "end", "count"),
    [
        (MINUTELY, 10.5, 10),
        (MINUTELY, 10, 10),  # the last one falls on the end itself: by then it has expired
        (At(at=NOON + 5 * MINUTE), 30, 1),
    ],
)
async def test_instants_before_the_end_are_one_skipped_row(
    open_engine: Rig, schedule: Schedule, end: float, count: int
) -> None:
    row = await open_engine.add(scheduled(schedule=schedule, expires_at=NOON + end * MINUTE))
    later = open_engine.clock.jump(timedelta(hours=1))
    cost = cost_of(await open_engine.row(row.id), later)
    assert cost is not None
    assert (cost.planned, cost.events, cost.skipped) == (count, 0, count)
    await open_engine.tick()
    [event] = await open_engine.events()
    assert (event.state.value, event.reason, event.count) == ("skipped", "expired", count)
    assert (await open_engine.row(row.id)).disabled_reason is DisabledReason.EXPIRED


async def test_one_that_fired_all_it_had_leaves_none(open_engine: Rig) -> None:
    row = await open_engine.add(scheduled(schedule=MINUTELY, expires_at=NOON + 90 * timedelta(seconds=1)))
    open_engine.clock.advance(60)
    await open_engine.tick()
    await open_engine.settle(open_engine.taken.pop(), succeeded())
    open_engine.clock.advance(3600)
    assert cost_of(await open_engine.row(row.id), open_engine.clock.now()) is None
    await open_engine.tick()
    assert await open_engine.states() == ["succeeded"]


async def test_what_waits_runs_before_the_last_of_it_ends_the_trigger(open_engine: Rig) -> None:
    """After a gap the next fire would be after the end, but three catch-ups are still to run."""
    row = await open_engine.add(
        scheduled(
            schedule=Every(every=20 * MINUTE, anchor=NOON),
            expires_at=NOON + 75 * MINUTE,
            misfire=policy(Misfire.FIRE_ALL),
        )
    )
    open_engine.clock.jump(65 * MINUTE)
    await open_engine.tick()
    while open_engine.taken:
        await open_engine.settle(open_engine.taken.pop(0), succeeded())
    assert await open_engine.states() == ["succeeded"] * 3
    assert (await open_engine.row(row.id)).disabled_reason is DisabledReason.EXPIRED
