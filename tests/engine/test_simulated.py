"""`simulate` says what the engine then does."""

from __future__ import annotations

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.engine.rig import Rig, policy, scheduled
from tests.fakes import succeeded
from tocsin.engine.clockwork import next_look
from tocsin.event import Origin, State
from tocsin.nights import Nights
from tocsin.notices import Disarmed
from tocsin.simulation import Simulation, What
from tocsin.store import pauses
from tocsin.trigger import Cron, Every, Misfire, Schedule

NIGHT = Nights(start=time(22, 30), end=time(6, 45), tz=ZoneInfo("Europe/Berlin"))
AHEAD = timedelta(days=3)
SCHEDULES: tuple[Schedule, ...] = (
    Cron(expr="*/20 * * * *", tz="UTC"),
    Cron(expr="30 8,23 * * *", tz="Europe/Berlin"),
    Cron(expr="45 6 * * *", tz="Europe/Berlin"),
    Every(every=timedelta(hours=5)),
)

HOURS = timedelta(hours=1)

Told = list[tuple[datetime, str, str]]


async def lived(rig: Rig) -> Told:
    """Let the time go by in front of the real engine, which sleeps at night."""
    until, ends = rig.clock.now() + AHEAD, Told()
    while True:
        look = await rig.read(next_look)
        if look is None or NIGHT.awake(look) > until:
            break
        rig.clock.jump(max(NIGHT.awake(look) - rig.clock.now(), timedelta()))
        await rig.tick()
        while rig.taken:
            await rig.settle(rig.taken.pop(0), succeeded())
        disarmed = rig.notices.of(Disarmed)[len(ends) :]
        ends += [(rig.clock.now(), notice.registration, What.END.value) for notice in disarmed]
    return ends + [
        (event.created_at, event.registration, what(event.state, event.origin, event.reason))
        for event in await rig.events()
    ]


def what(state: State, origin: Origin, reason: str | None) -> str:
    if state is State.SKIPPED:
        return (What.SKIP if reason in ("paused", "overlap") else What.MISS).value
    return (What.CATCH_UP if origin is Origin.CATCH_UP else What.FIRE).value


@pytest.mark.parametrize("misfire", list(Misfire))
@pytest.mark.parametrize("schedule", SCHEDULES)
async def test_each_rule_is_foretold(open_engine: Rig, schedule: Schedule, misfire: Misfire) -> None:
    row = await open_engine.add(scheduled(schedule=schedule, misfire=policy(misfire)))
    start = open_engine.clock.now()
    ahead = Simulation(start=start, until=start + AHEAD, nights=NIGHT, is_present=True).steps([row])
    told = sorted((step.at, step.registration, step.what.value) for step in ahead)
    assert sorted(await lived(open_engine)) == told
    assert len(told) > 2


async def test_all_together_are_foretold(open_engine: Rig) -> None:
    rows = [await open_engine.add(scheduled(f"t{n}", schedule)) for n, schedule in enumerate(SCHEDULES)]
    start = open_engine.clock.now()
    ahead = Simulation(start=start, until=start + AHEAD, nights=NIGHT, is_present=True).steps(rows)
    told = sorted((step.at, step.registration, step.what.value) for step in ahead)
    assert sorted(await lived(open_engine)) == told


@pytest.mark.parametrize("hours", [7, 21, 30, 50])
@pytest.mark.parametrize("schedule", SCHEDULES)
async def test_a_pause_is_foretold(open_engine: Rig, schedule: Schedule, hours: int) -> None:
    made = await open_engine.add(scheduled(schedule=schedule))
    start = open_engine.clock.now()
    await open_engine.write(lambda tx: pauses.begin(tx, made.id, until=start + hours * HOURS, now=start))
    row = await open_engine.row(made.id)
    ahead = Simulation(start=start, until=start + AHEAD, nights=NIGHT, is_present=True).steps([row])
    told = sorted((step.at, step.registration, step.what.value) for step in ahead)
    assert sorted(await lived(open_engine)) == told


@pytest.mark.parametrize("hours", [7, 21, 30.3, 50])
@pytest.mark.parametrize("paused", [None, 5, 60])
@pytest.mark.parametrize("schedule", SCHEDULES)
async def test_an_end_is_foretold(
    open_engine: Rig, schedule: Schedule, paused: int | None, hours: float
) -> None:
    start = open_engine.clock.now()
    made = await open_engine.add(scheduled(schedule=schedule, expires_at=start + hours * HOURS))
    if paused is not None:
        resumes = start + paused * HOURS
        await open_engine.write(lambda tx: pauses.begin(tx, made.id, until=resumes, now=start))
    row = await open_engine.row(made.id)
    ahead = Simulation(start=start, until=start + AHEAD, nights=NIGHT, is_present=True).steps([row])
    told = sorted((step.at, step.registration, step.what.value) for step in ahead)
    assert sorted(await lived(open_engine)) == told
    assert What.END.value in [what for _, _, what in told]
