"""`max_runs_per_hour`: what is over it waits until there is room again, and nobody else waits with it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.engine.rig import Rig, ended, limits, open_rig, spec
from tests.fakes import failed, succeeded
from tocsin.notices import EventsDeferred
from tocsin.registration import Registration
from tocsin.runs import Outcome, Verdict
from tocsin.store import journal
from tocsin.trigger import Overlap, TriggerSpec

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
RATE = "max_runs_per_hour"


def limited(limit: int = 3, **changes: Any) -> TriggerSpec:
    return spec(max_runs_per_hour=limit, **{"overlap": Overlap.ALLOW, "max_attempts": 5, **changes})


async def fill_hour(rig: Rig, row: Registration, count: int = 3) -> None:
    """So many runs, a minute apart."""
    for n in range(count):
        await rig.accept(row, f"first {n}")
        await rig.settle(rig.taken.pop(), succeeded())
        rig.clock.advance(MINUTE)


async def test_the_next_one_waits_until_the_oldest_has_left_the_hour(open_engine: Rig) -> None:
    row, began = await open_engine.add(limited()), open_engine.clock.now()
    await fill_hour(open_engine, row)
    await open_engine.accept(row, "over")
    [*_, over] = await open_engine.events()
    assert (over.state, over.reason, over.next_fire_at) == ("pending", RATE, began + HOUR)
    open_engine.clock.jump(began + HOUR - open_engine.clock.now() - timedelta(microseconds=1))
    await open_engine.look()
    assert open_engine.taken == []
    open_engine.clock.advance(timedelta(microseconds=1))
    await open_engine.look()
    assert [claim.event.delivery_id for claim in open_engine.taken] == ["over"]


async def test_the_loop_of_the_queue_sleeps_until_then(open_engine: Rig) -> None:
    row = await open_engine.add(limited(1))
    await fill_hour(open_engine, row, 1)
    await open_engine.accept(row, "over")
    assert await open_engine.look() == (HOUR - MINUTE).total_seconds()


async def test_every_attempt_counts_however_it_ended(open_engine: Rig) -> None:
    row = await open_engine.add(limited(3, max_attempts=9))
    await open_engine.accept(row)
    for outcome in (failed(), Outcome(verdict=Verdict.LOST), Outcome(verdict=Verdict.INTERRUPTED)):
        await open_engine.settle(open_engine.taken.pop(), outcome)
        open_engine.clock.advance(60)
        await open_engine.take()
    assert open_engine.taken == []
    [event] = await open_engine.events()
    assert (event.state, event.reason) == ("pending", RATE)


async def test_tests_do_not_count(open_engine: Rig) -> None:
    row = await open_engine.add(limited(1))
    await ended(open_engine, succeeded(), row)
    await open_engine.count("UPDATE runs SET event_id = NULL, test = 1 RETURNING 1")
    await open_engine.accept(row, "next")
    assert len(open_engine.taken) == 1


async def test_all_that_waits_is_put_off_at_once_and_told_of_once(open_engine: Rig) -> None:
    row, began = await open_engine.add(limited()), open_engine.clock.now()
    await fill_hour(open_engine, row)
    open_engine.claims.close()
    for n in range(20):
        await open_engine.accept(row, f"over {n}")
    open_engine.open()
    for _ in range(5):
        await open_engine.take()
        open_engine.clock.advance(1)
    for n in range(20, 25):
        await open_engine.accept(row, f"over {n}")
    assert {
        (event.state, event.reason, event.next_fire_at) for event in (await open_engine.events())[3:]
    } == {("pending", RATE, began + HOUR)}
    told = EventsDeferred(
        registration="t", reason="max_runs_per_hour = 3 reached", events=20, until=began + HOUR
    )
    assert open_engine.notices.of(EventsDeferred) == [told]
    assert await open_engine.count("SELECT count(*) FROM journal WHERE what = 'deferred'") == 1


async def test_the_story_of_the_event_says_why(open_engine: Rig) -> None:
    row = await open_engine.add(limited(1))
    await fill_hour(open_engine, row, 1)
    over = await open_engine.accepted(row, "over")
    [entry] = await open_engine.read(lambda tx: journal.of_event(tx, over.event_id))
    assert (entry.what, entry.reason) == ("deferred", "max_runs_per_hour = 1 reached")
    assert entry.detail == {"until": "2026-01-01T13:00:00Z", "events": 1}


async def test_nothing_is_lost_and_order_holds(open_engine: Rig) -> None:
    """Also for those that join while others wait, and across the engine's end."""
    row = await open_engine.add(limited(2, overlap=Overlap.QUEUE))
    for n in range(4):
        await open_engine.accept(row, f"d{n}")
    order = []
    for n in range(60):
        while open_engine.taken:
            claim = open_engine.taken.pop(0)
            order.append((claim.event.delivery_id, claim.ref.claimed_at))
            await open_engine.settle(claim, succeeded())
        if n == 30:
            await open_engine.accept(row, "d4")
        open_engine.clock.advance(5 * MINUTE)
        await open_engine.look()
    assert [delivery for delivery, _ in order] == [f"d{n}" for n in range(5)]
    for (_, earlier), (_, later) in zip(order, order[2:], strict=False):
        assert later - earlier >= HOUR


async def test_a_burst_of_a_limited_trigger_holds_nobody_up(rig: Rig) -> None:
    rig.claims.settings = limits(total=2)
    burst, other = await rig.add(limited(1, name="burst")), await rig.add(spec("other"))
    for n in range(1000):
        await rig.accept(burst, f"b{n}")
    await rig.accept(other, "o")
    rig.open()
    await rig.take()
    assert [claim.registration.spec.name for claim in rig.taken] == ["burst", "other"]
    await rig.settle(rig.taken[0], succeeded())
    await rig.accept(other, "o2")
    await rig.settle(rig.taken[1], succeeded())
    assert [claim.event.delivery_id for claim in rig.taken] == ["b0", "o", "o2"]
    rig.clock.advance(HOUR)
    await rig.look()
    assert rig.taken[-1].event.delivery_id == "b1"


async def test_the_hour_outlives_the_engine(open_engine: Rig) -> None:
    row = await open_engine.add(limited(1))
    await fill_hour(open_engine, row, 1)
    async with open_rig(open_engine.paths.home, owner="own_2", clock=open_engine.clock) as after:
        after.open()
        await after.accept(row, "over")
        assert after.taken == []


@pytest.mark.parametrize(
    ("line", "count"), [("max_runs_per_hour = 3", 2), ("", 4), ("max_runs_per_hour = 1", 0)]
)
async def test_an_edited_limit_holds_at_once_also_for_what_was_put_off(
    open_engine: Rig, line: str, count: int
) -> None:
    config = (
        '[workflows.w]\ncommand = ["true"]\n[triggers.t]\nworkflow = "w"\nmanual = true\noverlap = "allow"\n'
    )
    await open_engine.apply(config + "max_runs_per_hour = 1\n")
    row = await open_engine.named("t")
    await fill_hour(open_engine, row, 1)
    for n in range(4):
        await open_engine.accept(row, f"over {n}")
    assert open_engine.taken == []
    await open_engine.apply(config + line + "\n")
    await open_engine.look()
    assert [claim.event.delivery_id for claim in open_engine.taken] == [f"over {n}" for n in range(count)]


async def test_turns_that_were_not_used_put_nobody_back(rig: Rig) -> None:
    """However many wait, the one that may run stands in its turn beside a neighbour that is never idle."""
    rig.claims.settings = limits(total=1)
    few, many = await rig.add(limited(1, name="few")), await rig.add(spec("many", overlap=Overlap.ALLOW))
    for n in range(200):
        await rig.accept(few, f"few {n}")
        await rig.accept(many, f"many {n}")
    rig.open()
    await rig.take()
    order = []
    for n in range(40):
        claim = rig.taken.pop(0)
        order.append(claim.registration.spec.name)
        await rig.settle(claim, succeeded())
        if n % 10 == 9:
            rig.clock.advance(HOUR)
            await rig.look()
    shares = [order[start : start + 10].count("few") for start in (0, 10, 20, 30)]
    assert shares == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("back", "wait"),
    [
        (
            timedelta(seconds=90),
            HOUR,
        ),  # it began "later" than now: it counts, and an hour is the longest wait
        (timedelta(minutes=30), HOUR),
        (timedelta(days=400), None),  # nobody waits for the clock to come back to where it was
    ],
)
async def test_a_clock_that_was_set_back_makes_nobody_wait_longer_than_an_hour(
    open_engine: Rig, back: timedelta, wait: timedelta | None
) -> None:
    row = await open_engine.add(limited(1))
    await fill_hour(open_engine, row, 1)
    now = open_engine.clock.jump(-back)
    await open_engine.accept(row, "over")
    if wait is None:
        assert len(open_engine.taken) == 1
    else:
        [*_, over] = await open_engine.events()
        assert over.next_fire_at is not None
        assert over.next_fire_at <= now + wait
        open_engine.clock.advance(2 * HOUR)
        await open_engine.look()
        assert len(open_engine.taken) == 1


async def test_a_clock_that_was_put_forward_frees_everybody(open_engine: Rig) -> None:
    row = await open_engine.add(limited(1))
    await fill_hour(open_engine, row, 1)
    await open_engine.accept(row, "over")
    open_engine.clock.jump(timedelta(days=1))
    await open_engine.look()
    assert len(open_engine.taken) == 1
