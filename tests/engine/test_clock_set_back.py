"""The wall clock goes back: nothing fires twice, nothing falls silent, nothing waits for it to catch up."""

from __future__ import annotations

from tests.engine.rig import Rig, open_rig, scheduled
from tests.engine.test_clockwork import DAY, HOUR, MINUTE, NINE, NOON, jump, planned
from tests.fakes import failed, succeeded
from tocsin.trigger import Overlap


async def test_a_clock_set_back_fires_nothing_twice(rig: Rig) -> None:
    await rig.add(scheduled(overlap=Overlap.ALLOW))
    for _ in range(3):
        rig.clock.advance(MINUTE)
        await rig.tick()
    rig.clock.jump(-3 * MINUTE)
    for _ in range(3):
        rig.clock.advance(MINUTE)
        await rig.tick()
    assert [event.planned_at for event in await rig.events()] == [NOON + n * MINUTE for n in (1, 2, 3)]


async def test_a_clock_set_back_leaves_no_silence(rig: Rig) -> None:
    """A board without a clock of its own believed it was 2029 until the network told it better."""
    rig.clock.jump(1000 * DAY)
    row = await rig.add(scheduled(schedule=NINE))
    await rig.tick()
    await jump(rig, -1000 * DAY)
    assert (await rig.row(row.id)).next_fire_at == NOON + 21 * HOUR
    await jump(rig, 21 * HOUR)
    assert planned(await rig.events()) == [(NOON + 21 * HOUR, 0, "live")]


async def test_a_clock_set_back_frees_what_waits(rig: Rig) -> None:
    await rig.accept(await rig.add())
    await rig.tick()
    await jump(rig, -HOUR)
    rig.open()
    await rig.take()
    assert await rig.states() == ["claimed"]


async def test_a_clock_set_back_makes_no_retry_wait_longer_than_the_longest_back_off(
    open_engine: Rig,
) -> None:
    await open_engine.accept(await open_engine.add())
    await open_engine.settle(open_engine.taken.pop(), failed())
    await open_engine.tick()
    await jump(open_engine, -8 * HOUR)
    (event,) = await open_engine.events()
    assert event.next_fire_at == open_engine.clock.now()


async def test_nor_when_it_was_set_back_while_the_engine_was_off(rig: Rig) -> None:
    rig.clock.jump(1000 * DAY)
    row = await rig.add(scheduled(schedule=NINE))
    async with open_rig(rig.paths.home, owner="own_2") as after:
        await after.tick()
        assert (await after.row(row.id)).next_fire_at == NOON + 21 * HOUR


async def test_what_a_run_has_named_stays_when_the_clock_is_set_back(open_engine: Rig) -> None:
    row = await open_engine.add(scheduled(schedule=NINE))
    await open_engine.fire(row, "by hand")
    await open_engine.settle(open_engine.taken.pop(), succeeded(next_fire_at="3d"))
    await open_engine.tick()
    await jump(open_engine, -HOUR)
    assert (await open_engine.row(row.id)).next_fire_at == NOON + 3 * DAY
