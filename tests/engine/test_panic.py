"""`panic`: every trigger paused, every run stopped, and what waited comes back with `resume --all`."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.pausing import pause, resume, states
from tests.engine.rig import Rig, limits, open_rig, spec
from tests.engine.test_chains import after
from tests.fakes import failed, succeeded
from tocsin.engine.verbs import VERBS
from tocsin.notices import RunEnded, StopAsked
from tocsin.runs import Outcome, RunState, Verdict
from tocsin.trigger import Overlap

DROPPED = ("dropped", "panic")
HELD = ("held", "paused")


async def test_it_says_what_it_paused_and_what_it_stops(open_engine: Rig) -> None:
    rig = open_engine
    rig.claims.settings = limits(total=1)
    row = await rig.add(spec(overlap=Overlap.ALLOW))
    off = await rig.add(spec("off"))
    await rig.disarm(off)
    ids = [(await rig.accepted(row, f"d{n}")).event_id for n in range(2)]
    assert await VERBS["panic"](rig.controls, {}) == {"paused": 2, "stopping": ids[:1]}
    assert rig.notices.of(StopAsked) == [StopAsked(event_id=ids[0], registration="t", reason="panic")]
    assert await states(rig, row) == [("claimed", None), HELD]


@pytest.mark.parametrize("verdict", [Verdict.CANCELLED, Verdict.FAILED, Verdict.LOST, Verdict.INTERRUPTED])
async def test_what_runs_is_dropped_however_it_ends(open_engine: Rig, verdict: Verdict) -> None:
    rig = open_engine
    row, follower = await rig.add(), await rig.add(after(on="any"))
    await rig.accepted(row)
    await rig.controls.pauses.panic()
    await rig.settle(rig.taken.pop(), Outcome(verdict=verdict))
    assert await states(rig, row) == [DROPPED]
    assert await rig.events(follower) == []
    await resume(rig)
    assert await rig.take() == []


async def test_what_succeeds_before_it_is_stopped_has_succeeded(open_engine: Rig) -> None:
    rig = open_engine
    row, follower = await rig.add(), await rig.add(after())
    await rig.accepted(row)
    await rig.controls.pauses.panic()
    await rig.settle(rig.taken.pop(), succeeded())
    assert await rig.states(row) == ["succeeded"]
    assert await states(rig, follower) == [HELD], "its chain waits for the end of the pause"


async def test_what_waits_comes_back(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add()
    for n in range(3):
        await rig.accepted(row, f"d{n}")
    await rig.controls.pauses.panic()
    await rig.settle(rig.taken.pop(), Outcome(verdict=Verdict.CANCELLED))
    assert await states(rig) == [DROPPED, HELD, HELD]
    await resume(rig)
    await rig.take()
    assert await states(rig) == [DROPPED, ("claimed", None), ("held", "lane")]


async def test_a_pause_with_an_end_loses_it(rig: Rig) -> None:
    row = await rig.add()
    await pause(rig, row, until=rig.clock.now() + timedelta(hours=1))
    await rig.controls.pauses.panic()
    assert (await rig.row(row.id)).paused_until is None


async def test_asked_twice_it_stops_each_run_once(open_engine: Rig) -> None:
    rig = open_engine
    await rig.accepted(await rig.add())
    first, second = await rig.controls.pauses.panic(), await rig.controls.pauses.panic()
    assert first.stopping == second.stopping
    assert len(rig.notices.of(StopAsked)) == 1


async def test_the_dispatcher_stops_the_run(rig: Rig) -> None:
    row = await rig.add()
    async with rig.running():
        await rig.accepted(row)
        await rig.controls.pauses.panic()
        await rig.look()
        ended = await rig.notices.wait_for(RunEnded)
    assert ended.run_state is RunState.CANCELLED
    assert await states(rig) == [DROPPED]


async def test_what_a_dead_engine_left_running_is_dropped_by_whoever_recovers(rig: Rig) -> None:
    rig.open()
    row = await rig.add()
    await rig.accepted(row)
    (rig.paths.runs / rig.taken[0].ref.run_id).mkdir(parents=True)
    async with open_rig(rig.paths.home, owner="own_2") as later:
        done = await later.controls.pauses.panic()
        assert len(done.stopping) == 1
        await later.recovery().recover()
        assert await states(later) == [DROPPED]


async def test_it_counts_as_no_failure(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add(spec(disable_after=1))
    await rig.accepted(row)
    await rig.controls.pauses.panic()
    await rig.settle(rig.taken.pop(), failed())
    assert (await rig.row(row.id)).consecutive_failures == 0
