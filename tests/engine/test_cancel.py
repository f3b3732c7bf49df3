"""`cancel`: what waits is dropped, what runs is stopped, and it stays so."""

from __future__ import annotations

import pytest

from tests.engine.deciding import cancel, follower, noted, waiting
from tests.engine.rig import Rig, claimed, ended, open_rig, spec
from tests.fakes import failed, succeeded
from tocsin.engine.claims import Claim
from tocsin.errors import NotFound, Refused
from tocsin.event import State
from tocsin.notices import EventDropped, RunEnded, RunStarted
from tocsin.runs import Outcome, RunState, Verdict


class TestCancelWhatWaits:
    async def test_a_pending_event_is_dropped_and_the_next_of_its_lane_goes_on(self, rig: Rig) -> None:
        first, second = await waiting(rig, 2)
        (event,) = await cancel(rig, first)
        assert (event.state, event.reason, event.settled_at) == (State.DROPPED, "cancelled", rig.clock.now())
        assert (await rig.event(second)).state is State.PENDING
        assert rig.notices.of(EventDropped) == [
            EventDropped(event_id=first, registration="t", reason="cancelled")
        ]
        assert await noted(rig, event) == [("cancelled", "by hand")]
        assert rig.changes == [None]

    async def test_a_held_event_leaves_its_lane_as_it_is(self, rig: Rig) -> None:
        _, second, _ = await waiting(rig, 3)
        await cancel(rig, second)
        assert await rig.states() == ["pending", "dropped", "held"]

    async def test_a_whole_lane(self, rig: Rig) -> None:
        assert {event.state for event in await cancel(rig, *await waiting(rig, 3))} == {State.DROPPED}

    async def test_a_retry_that_waits(self, open_engine: Rig) -> None:
        _, event = await ended(open_engine, failed())
        (event,) = await cancel(open_engine, event.id)
        open_engine.clock.advance(1000)
        await open_engine.look()
        assert (event.state, open_engine.taken) == (State.DROPPED, [])

    async def test_enable_does_not_bring_it_back(self, rig: Rig) -> None:
        first, second = await waiting(rig, 2)
        await cancel(rig, first)
        row = await rig.named("t")
        await rig.disarm(row)
        assert await rig.enable(row, requeue_dropped=True) == 1
        assert [(await rig.event(id_)).state for id_ in (first, second)] == [State.DROPPED, State.PENDING]

    async def test_one_that_has_ended_is_refused_with_its_end(self, open_engine: Rig) -> None:
        for outcome, end in ((succeeded(), "succeeded"), (failed(), r"failed \(attempts\)")):
            _, event = await ended(open_engine, outcome, await open_engine.add(spec(end, max_attempts=1)))
            with pytest.raises(Refused, match=f"{event.id} has ended: {end}"):
                await cancel(open_engine, event.id)

    async def test_a_refused_one_among_others_changes_nothing(self, rig: Rig) -> None:
        first, second = await waiting(rig, 2)
        await cancel(rig, first)
        with pytest.raises(Refused, match=r"has ended: dropped \(cancelled\)"):
            await cancel(rig, second, first)
        with pytest.raises(NotFound):
            await cancel(rig, second, "evt_nobody")
        assert (await rig.event(second)).state is State.PENDING
        assert len(rig.notices.of(EventDropped)) == 1


class TestCancelWhatRuns:
    async def test_its_run_is_stopped_and_settles_cancelled(self, rig: Rig) -> None:
        row = await rig.add()
        async with rig.running():
            event = await rig.event((await rig.accepted(row, "d0")).event_id)
            started = await rig.notices.wait_for(RunStarted)
            assert [one.state for one in await cancel(rig, event.id)] == [State.CLAIMED]
            await rig.look()
            end = await rig.notices.wait_for(RunEnded)
        assert rig.runner.handles[started.run_id].cancels == [False]
        assert (end.run_state, end.event_state) == (RunState.CANCELLED, State.DROPPED)
        event = await rig.event(event.id)
        assert (event.state, event.reason, event.attempts) == (State.DROPPED, "cancelled", 1)
        assert await noted(rig, event) == [("cancel asked for", "by hand")]

    async def test_no_streak_grows_and_the_trigger_stays_on(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine, await open_engine.add(spec(disable_after=1)))
        await cancel(open_engine, claim.event.id)
        await open_engine.settle(claim, Outcome(verdict=Verdict.CANCELLED))
        found = await open_engine.row(claim.registration.id)
        assert (found.consecutive_failures, found.last_error, found.enabled) == (0, None, True)

    @pytest.mark.parametrize("on", ["failure", "success", "any"])
    async def test_no_chain_is_fired(self, open_engine: Rig, on: str) -> None:
        chained = await open_engine.add(follower("follower", on=on))
        claim = await claimed(open_engine, await open_engine.add())
        await cancel(open_engine, claim.event.id)
        await open_engine.settle(claim, Outcome(verdict=Verdict.CANCELLED))
        assert await open_engine.events(chained) == []

    async def test_the_next_of_its_lane_goes_on(self, open_engine: Rig) -> None:
        first, second = await waiting(open_engine, 2)
        await cancel(open_engine, first)
        await open_engine.settle(open_engine.taken.pop(), Outcome(verdict=Verdict.CANCELLED))
        assert [claim.event.id for claim in open_engine.taken] == [second]

    async def test_a_success_that_was_faster_counts(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        await cancel(open_engine, claim.event.id)
        await open_engine.settle(claim, succeeded())
        assert (await open_engine.event(claim.event.id)).state is State.SUCCEEDED

    async def test_a_failure_that_was_faster_is_not_tried_again(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        await cancel(open_engine, claim.event.id)
        await open_engine.settle(claim, failed("exit code 3"))
        event = await open_engine.event(claim.event.id)
        (run,) = await open_engine.runs(event.id)
        assert (event.state, event.reason) == (State.DROPPED, "cancelled")
        assert (run.state, run.error) == (RunState.CANCELLED, "exit code 3")

    async def test_asked_twice_it_is_noted_once(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        (first,) = await cancel(open_engine, claim.event.id)
        open_engine.clock.advance(1)
        (second,) = await cancel(open_engine, claim.event.id)
        assert first.cancel_requested_at == second.cancel_requested_at is not None
        assert len(await noted(open_engine, second)) == 1

    async def test_one_that_is_cancelled_before_it_has_started_never_starts(self, rig: Rig) -> None:
        claims: list[Claim] = []
        rig.claims.open(claims.append)
        await rig.accept(await rig.add())
        await cancel(rig, claims[0].event.id)
        await rig.look()
        await rig.attempts.run(claims[0])
        assert rig.runner.requests == []
        (run,) = await rig.runs(claims[0].event.id)
        assert (run.state, run.error) == (RunState.CANCELLED, "cancelled before it started")
        assert await rig.states() == ["dropped"]

    async def test_a_cancel_outlives_the_engine(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        (open_engine.paths.runs / claim.ref.run_id).mkdir(parents=True)
        await cancel(open_engine, claim.event.id)
        async with open_rig(open_engine.paths.home, owner="own_2") as later:
            await later.recovery().recover()
            event = await later.event(claim.event.id)
            (run,) = await later.runs(event.id)
        assert (event.state, event.reason, run.state) == (State.DROPPED, "cancelled", RunState.LOST)

    async def test_what_a_dead_engine_left_can_be_cancelled_too(self, open_engine: Rig) -> None:
        """By a command, with no engine up: the next one drops it."""
        claim = await claimed(open_engine)
        async with open_rig(open_engine.paths.home, owner="own_2") as beside:
            assert [event.state for event in await cancel(beside, claim.event.id)] == [State.CLAIMED]
            await beside.recovery().recover()
            assert await beside.states() == ["dropped"]

    async def test_an_engine_that_stops_gives_it_not_back(self, rig: Rig) -> None:
        row = await rig.add()
        async with rig.running():
            event_id = (await rig.accepted(row, "d0")).event_id
            await rig.notices.wait_for(RunStarted)
            await cancel(rig, event_id)
        assert await rig.states() == ["dropped"]
