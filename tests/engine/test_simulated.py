"""`simulate` says what the engine then does."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.engine.rig import Rig, policy, scheduled
from tests.fakes import succeeded
from tocsin.event import Origin, State
from tocsin.registration import Cron, Every, Misfire, Registration, Schedule
from tocsin.simulation import Nights, Simulation, What

NIGHT = Nights(start=time(22, 30), end=time(6, 45), tz=ZoneInfo("Europe/Berlin"))
AHEAD = timedelta(days=3)
SCHEDULES: tuple[Schedule, ...] = (
    Cron(expr="*/20 * * * *", tz="UTC"),
    Cron(expr="30 8,23 * * *", tz="Europe/Berlin"),
    Cron(expr="45 6 * * *", tz="Europe/Berlin"),
    Every(every=timedelta(hours=5)),
)

Told = list[tuple[datetime, str, str]]


async def lived(rig: Rig, rows: list[Registration]) -> Told:
    """Let the time go by in front of the real engine, which sleeps at night."""
    until = rig.clock.now() + AHEAD
    while True:
        due = [row.next_fire_at for row in [await rig.row(row.id) for row in rows]]
        look = NIGHT.awake(min(at for at in due if at is not None))
        if look > until:
            break
        rig.clock.jump(look - rig.clock.now())
        await rig.tick()
        while rig.taken:
            await rig.settle(rig.taken.pop(0), succeeded())
    return [
        (event.created_at, event.registration, what(event.state, event.origin))
        for event in await rig.events()
    ]


def what(state: State, origin: Origin) -> str:
    if state is State.SKIPPED:
        return What.MISS.value
    return (What.CATCH_UP if origin is Origin.CATCH_UP else What.FIRE).value


@pytest.mark.parametrize("misfire", list(Misfire))
@pytest.mark.parametrize("schedule", SCHEDULES)
async def test_each_rule_is_foretold(open_engine: Rig, schedule: Schedule, misfire: Misfire) -> None:
    row = await open_engine.add(scheduled(schedule=schedule, misfire=policy(misfire)))
    start = open_engine.clock.now()
    ahead = Simulation(start=start, until=start + AHEAD, nights=NIGHT, is_present=True).steps([row])
    told = sorted((step.at, step.registration, step.what.value) for step in ahead)
    assert sorted(await lived(open_engine, [row])) == told
    assert len(told) > 2


async def test_all_together_are_foretold(open_engine: Rig) -> None:
    rows = [await open_engine.add(scheduled(f"t{n}", schedule)) for n, schedule in enumerate(SCHEDULES)]
    start = open_engine.clock.now()
    ahead = Simulation(start=start, until=start + AHEAD, nights=NIGHT, is_present=True).steps(rows)
    told = sorted((step.at, step.registration, step.what.value) for step in ahead)
    assert sorted(await lived(open_engine, rows)) == told
