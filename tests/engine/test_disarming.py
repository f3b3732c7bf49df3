"""Turning off, by limits and by people; what is dropped then, and what comes back."""

from __future__ import annotations

from datetime import timedelta

from tests.engine.rig import Rig, claimed, ended, scheduled, spec
from tests.fakes import failed, succeeded
from tocsin.event import State
from tocsin.notices import Disarmed, EventDropped
from tocsin.registration import DisabledReason
from tocsin.runs import Outcome, Verdict
from tocsin.store import registrations

HOUR = timedelta(hours=1)


class TestDisarm:
    async def test_a_streak_of_failures_turns_it_off_and_drops_what_waits(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(max_attempts=1, disable_after=2))
        await open_engine.accept(row, "d0")
        for n in (1, 2, 3):
            await open_engine.accept(row, f"d{n}")
        await open_engine.settle(open_engine.taken.pop(), failed())
        assert (await open_engine.row(row.id)).enabled
        await open_engine.settle(open_engine.taken.pop(), failed())
        after = await open_engine.row(row.id)
        assert (after.enabled, after.disabled_reason) == (False, DisabledReason.FAILURES)
        assert after.status(open_engine.clock.now()) == "disabled"
        found = [(event.state.value, event.reason) for event in await open_engine.events()]
        assert found == [("failed", "attempts")] * 2 + [("dropped", "failures")] * 2
        assert len(open_engine.notices.of(Disarmed)) == 1
        assert [notice.reason for notice in open_engine.notices.of(EventDropped)] == ["failures"] * 2

    async def test_failed_attempts_of_one_event_count_each(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(max_attempts=10, disable_after=2))
        await ended(open_engine, failed(), row)
        open_engine.clock.advance(10)
        await open_engine.take()
        await open_engine.settle(open_engine.taken.pop(), failed())
        (event,) = await open_engine.events()
        assert (event.state, event.reason) == (State.FAILED, "failures")

    async def test_a_success_ends_the_streak(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(max_attempts=1, disable_after=2))
        for outcome in (failed(), succeeded(), failed()):
            after, _ = await ended(open_engine, outcome, row)
            assert after.enabled

    async def test_max_runs_turns_it_off_after_the_last_success(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled(max_runs=1))
        after, event = await ended(open_engine, succeeded(next_fire_at="1h"), row)
        assert event.state is State.SUCCEEDED
        assert (after.enabled, after.disabled_reason) == (False, DisabledReason.MAX_RUNS)
        assert await open_engine.read(registrations.next_due) is None

    async def test_an_end_before_the_next_fire_turns_it_off(self, open_engine: Rig) -> None:
        until = open_engine.clock.now() + HOUR
        row = await open_engine.add(spec(expires_at=until))
        after, _ = await ended(open_engine, succeeded(next_fire_at="2h"), row)
        assert after.disabled_reason is DisabledReason.EXPIRED

    async def test_a_first_reason_stays(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(max_runs=1))
        claim = await claimed(open_engine, row)
        await open_engine.disarm(row, DisabledReason.USER)
        await open_engine.settle(claim, succeeded())
        assert (await open_engine.row(row.id)).disabled_reason is DisabledReason.USER
        assert len(open_engine.notices.of(Disarmed)) == 1


class TestRequeue:
    async def test_enable_brings_back_only_what_the_last_disarm_dropped(self, rig: Rig) -> None:
        row = await rig.add()
        rig.claims.settings = rig.settings
        await rig.accept(row, "first disarm")
        await rig.disarm(row)
        rig.clock.advance(10)
        await rig.enable(row)
        await rig.accept(row, "a")
        await rig.accept(row, "b")
        rig.clock.advance(10)
        await rig.disarm(row)
        rig.clock.advance(10)
        assert await rig.enable(row, requeue_dropped=True) == 2
        found = [(event.delivery_id, event.state.value) for event in await rig.events()]
        assert found == [("first disarm", "dropped"), ("a", "pending"), ("b", "held")]

    async def test_without_it_nothing_comes_back(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.accept(row)
        await rig.disarm(row)
        await rig.enable(row)
        assert await rig.states() == ["dropped"]

    async def test_a_cancelled_event_does_not_come_back(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        claim = await claimed(open_engine, row)
        await open_engine.accept(row, "waits")
        open_engine.clock.advance(1)
        await open_engine.disarm(row)
        open_engine.clock.advance(1)
        await open_engine.settle(claim, Outcome(verdict=Verdict.CANCELLED))
        assert await open_engine.enable(row, requeue_dropped=True) == 1
        assert await open_engine.states() == ["dropped", "claimed"]

    async def test_one_that_ran_then_and_was_not_tried_again_comes_back(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        claim = await claimed(open_engine, row)
        await open_engine.disarm(row)
        open_engine.clock.advance(1)
        await open_engine.settle(claim, failed())
        assert await open_engine.states() == ["dropped"]
        assert await open_engine.enable(row, requeue_dropped=True) == 1
        [event] = await open_engine.events()
        assert (event.state, event.attempts) == (State.CLAIMED, 2)

    async def test_one_that_was_to_be_stopped_stays_dropped_even_at_that_instant(
        self, open_engine: Rig
    ) -> None:
        row = await open_engine.add()
        claim = await claimed(open_engine, row)
        await open_engine.controls.pauses.panic()
        await open_engine.disarm(row)
        await open_engine.settle(claim, Outcome(verdict=Verdict.LOST))
        assert await open_engine.enable(row, requeue_dropped=True) == 0
        [event] = await open_engine.events()
        assert (event.state, event.reason) == (State.DROPPED, "panic")

    async def test_asking_twice_brings_nothing_twice(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.accept(row)
        await rig.disarm(row)
        assert [await rig.enable(row, requeue_dropped=True) for _ in range(2)] == [1, 0]
        assert await rig.states() == ["pending"]

    async def test_enabling_forgets_the_streak_and_the_successes_but_not_the_count(
        self, open_engine: Rig
    ) -> None:
        row = await open_engine.add(spec(max_runs=2, max_attempts=1, disable_after=1))
        await ended(open_engine, succeeded(), row)
        after, _ = await ended(open_engine, failed(), row)
        assert (after.disabled_reason, after.consecutive_failures) == (DisabledReason.FAILURES, 1)
        await open_engine.enable(row)
        again = await open_engine.row(row.id)
        assert (again.enabled, again.disabled_reason, again.consecutive_failures) == (True, None, 0)
        assert (again.run_count, again.runs_since_armed) == (1, 0)
        assert again.armed_at == open_engine.clock.now()
