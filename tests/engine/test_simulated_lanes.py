"""`simulate` says what the engine then does where runs take time: delays after a gap, what runs already."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.engine.rig import Rig, policy, scheduled
from tests.fakes import succeeded
from tocsin.cli.simulate import known
from tocsin.event import State
from tocsin.instants import MICROSECOND
from tocsin.simulation import Simulation, What
from tocsin.trigger import Cron, Every, Misfire, Overlap

MINUTE = timedelta(minutes=1)
LENGTH = 40 * MINUTE
QUARTERS = Cron(expr="*/15 * * * *", tz="UTC")


async def lived(rig: Rig, until: datetime) -> list[tuple[datetime, bool]]:
    """Let minutes go by in front of the real engine, whose runs take `LENGTH`. (when, whether skipped)."""
    while rig.clock.now() < until:
        rig.clock.advance(60)
        for claim in list(rig.taken):
            if rig.clock.now() >= (await rig.runs(claim.event.id))[-1].started_at + LENGTH:
                rig.taken.remove(claim)
                await rig.settle(claim, succeeded())
        await rig.tick()
        await rig.take()
    return [(event.created_at, event.state is State.SKIPPED) for event in await rig.events()]


def fired(found: list[tuple[datetime, bool]]) -> list[datetime]:
    """Without what was skipped, of which the engine keeps one row with a count."""
    return [at for at, skipped in found if not skipped]


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE, Overlap.ALLOW])
async def test_what_runs_and_waits_at_the_start_is_reckoned_with(open_engine: Rig, overlap: Overlap) -> None:
    rig = open_engine
    made = await rig.add(scheduled(schedule=QUARTERS, overlap=overlap))
    before = await lived(rig, rig.clock.now() + 90 * MINUTE)
    start, until = rig.clock.now(), rig.clock.now() + 200 * MINUTE
    found = await rig.read(lambda tx: known(tx, None, start))
    assert found.lengths == {made.id: LENGTH}
    assert found.busy is not None
    assert (made.id in found.busy) == (overlap is not Overlap.ALLOW)
    ahead = Simulation(
        start=start + MICROSECOND, until=until, lengths=found.lengths, busy=found.busy, is_present=True
    )
    told = [(step.at, step.what is What.SKIP) for step in ahead.steps(found.rows)]
    after = (await lived(rig, until))[len(before) :]
    assert fired(after) == fired(told)
    assert len(told) > 5


async def test_a_delay_after_a_gap_keeps_the_lane(open_engine: Rig) -> None:
    rig = open_engine
    wait = replace(policy(Misfire.FIRE_ONCE), wake_delay=20 * MINUTE)
    await rig.add(scheduled(schedule=Every(every=30 * MINUTE), misfire=wait))
    rig.clock.jump(190 * MINUTE)
    start, until = rig.clock.now(), rig.clock.now() + 200 * MINUTE
    found = await rig.read(lambda tx: known(tx, None, start))
    ahead = Simulation(
        start=start, until=until, lengths={row.id: LENGTH for row in found.rows}, is_present=True
    )
    told = [step.at for step in ahead.steps(found.rows) if step.what is not What.SKIP]
    await rig.tick()
    assert fired(await lived(rig, until)) == told
    assert len(told) > 2
