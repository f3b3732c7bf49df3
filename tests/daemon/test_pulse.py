"""Looks at the clocks: each gap is written down once, with what it cost, before it is made up for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.engine.rig import MINUTELY, Rig, open_rig, policy, scheduled, spec
from tocsin.daemon.pulse import Pulse
from tocsin.engine.gap_ledger import GapLedger
from tocsin.gaps import Cause
from tocsin.instants import EPOCH
from tocsin.notices import GapFound
from tocsin.settings import Retention
from tocsin.store import gaps, pauses
from tocsin.trigger import At, Misfire


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_rig(tmp_path) as opened:
        opened.open()
        yield opened


def pulse_of(rig: Rig) -> Pulse:
    ledger = GapLedger(store=rig.store, announce=rig.notices)
    return Pulse(rig.paths.lock, clock=rig.clock, ledger=ledger)


async def recorded(rig: Rig) -> list[gaps.Recorded]:
    return await rig.read(lambda tx: gaps.since(tx, EPOCH))


async def test_a_sleep_is_priced_before_the_schedule_makes_up_for_it(rig: Rig) -> None:
    await rig.add(scheduled("tick"))
    await rig.add(scheduled("all", misfire=policy(Misfire.FIRE_ALL, limit=5)))
    await rig.add(scheduled("none", misfire=policy(Misfire.SKIP)))
    await rig.add(scheduled("later", At(at=rig.clock.now() + timedelta(days=3))))
    await rig.add(spec("hook"))
    pulse = pulse_of(rig)
    await pulse.begin()
    round_ = pulse.watching(rig.clockwork.once)
    rig.clock.sleep(timedelta(hours=8))
    await round_(rig.clock.now())
    [found] = await recorded(rig)
    assert (found.gap.cause, found.gap.length) == (Cause.ASLEEP, timedelta(hours=8))
    assert [(one.registration, one.planned, one.events, one.skipped) for one in found.cost] == [
        ("all", 480, 5, 0),
        ("none", 480, 1, 478),  # the last two are within the grace, and one event
        ("tick", 480, 1, 0),
    ]
    made = {name: [e for e in await rig.events() if e.registration == name] for name in ("tick", "all")}
    assert (len(made["tick"]), len(made["all"])) == (1, 5)
    await round_(rig.clock.now())
    assert len(await recorded(rig)) == 1


async def test_it_is_told(rig: Rig) -> None:
    await rig.add(scheduled(schedule=MINUTELY))
    pulse = pulse_of(rig)
    await pulse.begin()
    rig.clock.sleep(timedelta(hours=1))
    await pulse.look()
    [notice] = rig.notices.of(GapFound)
    assert (notice.gap.cause, notice.triggers) == (Cause.ASLEEP, 1)


async def test_a_clock_set_back_costs_nothing(rig: Rig) -> None:
    await rig.add(scheduled())
    pulse = pulse_of(rig)
    await pulse.begin()
    rig.clock.jump(timedelta(hours=-2))
    await pulse.look()
    [found] = await recorded(rig)
    assert (found.gap.cause, found.gap.length, found.cost) == (Cause.CLOCK, timedelta(hours=-2), ())


async def test_a_paused_or_switched_off_trigger_misses_nothing(rig: Rig) -> None:
    await rig.disarm(await rig.add(scheduled()))
    pulse = pulse_of(rig)
    await pulse.begin()
    rig.clock.sleep(timedelta(hours=1))
    await pulse.look()
    assert [found.cost for found in await recorded(rig)] == [()]


async def test_what_came_after_the_end_of_a_pause_is_a_cost_and_what_came_before_is_none(rig: Rig) -> None:
    row = await rig.add(scheduled())
    now = rig.clock.now()
    await rig.write(lambda tx: pauses.begin(tx, row.id, until=now + timedelta(minutes=30), now=now))
    held = await rig.add(scheduled("held"))
    await rig.write(lambda tx: pauses.begin(tx, held.id, until=now + timedelta(hours=9), now=now))
    pulse = pulse_of(rig)
    await pulse.begin()
    rig.clock.sleep(timedelta(hours=8))
    await pulse.watching(rig.clockwork.once)(rig.clock.now())
    [found] = await recorded(rig)
    [cost] = found.cost
    assert (cost.registration, cost.planned, cost.events, cost.skipped) == ("t", 451, 1, 0)
    skipped, fired = await rig.events(row)
    assert (skipped.reason, skipped.count, fired.missed) == ("paused", 29, 450)


async def test_what_was_planned_up_to_the_end_of_a_trigger_is_lost(rig: Rig) -> None:
    row = await rig.add(scheduled(expires_at=rig.clock.now() + timedelta(minutes=30)))
    pulse = pulse_of(rig)
    await pulse.begin()
    rig.clock.sleep(timedelta(hours=8))
    await pulse.watching(rig.clockwork.once)(rig.clock.now())
    [found] = await recorded(rig)
    assert [(one.planned, one.events, one.skipped) for one in found.cost] == [(30, 0, 30)]
    [event] = await rig.events(row)
    assert (event.reason, event.count) == ("expired", 30)


@pytest.mark.parametrize(
    ("cleanly", "evidence"), [(True, "it was stopped"), (False, "its last sign of life before it was killed")]
)
async def test_the_next_engine_knows_since_when_there_was_none(
    rig: Rig, cleanly: bool, evidence: str
) -> None:
    await rig.add(scheduled())
    first = pulse_of(rig)
    await first.begin()
    rig.clock.advance(3)
    await first.look()
    seen = rig.clock.now()
    if cleanly:
        first.end()
    rig.clock.advance(3600)
    await pulse_of(rig).begin()
    [found] = await recorded(rig)
    assert (found.gap.cause, found.gap.from_at, found.gap.evidence) == (Cause.OFF, seen, evidence)
    assert [one.planned for one in found.cost] == [60]


async def test_the_first_engine_of_a_home_finds_no_gap(rig: Rig) -> None:
    await pulse_of(rig).begin()
    assert await recorded(rig) == []
    file = rig.paths.lock.with_name("engine.alive")
    assert file.stat().st_mode & 0o777 == 0o600
    assert datetime.fromtimestamp(file.stat().st_mtime, UTC) == rig.clock.now()


async def test_a_file_that_was_tidied_away_is_made_again(rig: Rig) -> None:
    pulse = pulse_of(rig)
    await pulse.begin()
    rig.paths.lock.with_name("engine.alive").unlink()
    rig.clock.advance(1)
    await pulse.look()
    assert rig.paths.lock.with_name("engine.alive").exists()


async def test_gaps_are_kept_as_long_as_events(rig: Rig) -> None:
    pulse = pulse_of(rig)
    await pulse.begin()
    rig.clock.sleep(timedelta(hours=1))
    await pulse.look()
    for days, left in ((89, 1), (2, 0)):
        now = rig.clock.advance(timedelta(days=days))
        await rig.keeper.collect(Retention(), now)
        assert len(await recorded(rig)) == left
