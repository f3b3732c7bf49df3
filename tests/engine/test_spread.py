"""Catch-ups are spread: `wake_delay`, and each trigger's own part of `splay`."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.engine.rig import Rig, policy, scheduled
from tests.engine.test_clockwork import HOUR, MINUTE, NINE, NOON, jump
from tests.fakes import succeeded
from tocsin.event import Origin, State
from tocsin.passing import spread
from tocsin.trigger import Cron, Every, Misfire


class TestSpread:
    async def test_what_is_made_up_for_waits_and_what_is_on_time_does_not(self, open_engine: Rig) -> None:
        wait = replace(policy(Misfire.FIRE_ONCE), wake_delay=10 * MINUTE)
        row = await open_engine.add(scheduled(schedule=NINE, misfire=wait))
        await jump(open_engine, 22 * HOUR)
        [event] = await open_engine.events(row)
        assert (event.state, event.origin) == (State.PENDING, Origin.CATCH_UP)
        assert event.next_fire_at == open_engine.clock.now() + 10 * MINUTE
        assert await open_engine.take() == []
        open_engine.clock.advance(600)
        assert len(await open_engine.take()) == 1
        await open_engine.settle(open_engine.taken.pop(), succeeded())
        open_engine.clock.advance(23 * HOUR - 10 * MINUTE)
        await open_engine.tick()
        assert (await open_engine.states(row))[-1] == "claimed"

    async def test_each_trigger_has_its_own_part_of_the_splay_and_keeps_it(self, rig: Rig) -> None:
        wide = replace(policy(Misfire.FIRE_ONCE), wake_delay=MINUTE, splay=HOUR)
        for n in range(20):
            await rig.add(scheduled(f"t{n}", NINE, misfire=wide))
        await jump(rig, 22 * HOUR)
        waits = [event.next_fire_at for event in await rig.events()]
        assert len(set(waits)) == 20
        now = rig.clock.now()
        assert all(at is not None and now + MINUTE <= at <= now + HOUR + MINUTE for at in waits)
        row = await rig.named("t0")
        assert spread(row) == spread(replace(row, run_count=7))

    async def test_fire_all_keeps_its_order_behind_the_wait(self, open_engine: Rig) -> None:
        later = replace(policy(Misfire.FIRE_ALL), wake_delay=MINUTE)
        await open_engine.add(scheduled(schedule=Cron(expr="0 * * * *", tz="UTC"), misfire=later))
        await jump(open_engine, 3 * HOUR + 5 * MINUTE)
        assert await open_engine.states() == ["pending", "held", "held"]
        order = []
        for _ in range(3):
            open_engine.clock.advance(60)
            await open_engine.take()
            claim = open_engine.taken.pop()
            order.append(claim.event.planned_at)
            await open_engine.settle(claim, succeeded())
        assert order == [NOON + n * HOUR for n in (1, 2, 3)]

    async def test_what_stands_for_missed_ones_waits_though_it_is_itself_within_the_grace(
        self, open_engine: Rig
    ) -> None:
        wait = replace(policy(Misfire.FIRE_ONCE), wake_delay=10 * MINUTE)
        tens = Every(every=timedelta(seconds=10))
        row = await open_engine.add(scheduled(schedule=tens, misfire=wait))
        await jump(open_engine, MINUTE)
        [event] = await open_engine.events(row)
        assert (event.state, event.origin, event.missed) == (State.PENDING, Origin.LIVE, 5)
        assert event.next_fire_at == open_engine.clock.now() + 10 * MINUTE
