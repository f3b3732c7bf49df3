"""Settling: what a run's end changes, in one transaction, and only for whom it is still true."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from tests.engine.rig import Rig, claimed, commits_of, ended, scheduled, spec
from tests.fakes import failed, succeeded
from tests.store.raw import on_writer
from tocsin.event import State
from tocsin.notices import RunEnded
from tocsin.registration import DisabledReason
from tocsin.runs import Outcome, Outputs, RunState, Verdict
from tocsin.store import journal, registrations
from tocsin.trigger import Json

LOST = Outcome(verdict=Verdict.LOST, error="the engine died while it ran")
INTERRUPTED = Outcome(verdict=Verdict.INTERRUPTED)
HOUR = timedelta(hours=1)


class TestSuccess:
    async def test_the_event_is_over(self, open_engine: Rig) -> None:
        _, event = await ended(open_engine, succeeded())
        assert (event.state, event.reason, event.attempts) == (State.SUCCEEDED, None, 1)
        assert (event.settled_at, event.next_fire_at) == (open_engine.clock.now(), None)

    async def test_the_registration_counts_it(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        await ended(open_engine, failed("exit code 9"), row)
        open_engine.clock.advance(10)
        await open_engine.take()
        claim_time = open_engine.clock.now()
        open_engine.clock.advance(10)
        await open_engine.settle(open_engine.taken.pop(), succeeded())
        after = await open_engine.row(row.id)
        assert (after.run_count, after.runs_since_armed, after.consecutive_failures) == (1, 1, 0)
        assert (after.last_fired_at, after.last_error) == (claim_time, None)

    async def test_the_run_row_holds_its_end(self, open_engine: Rig) -> None:
        outcome = succeeded(pages=3, cost_usd=0.25, state={"v": 1})
        _, event = await ended(open_engine, outcome)
        (run,) = await open_engine.runs(event.id)
        assert (run.state, run.exit_code, run.error) == (RunState.SUCCEEDED, 0, None)
        assert (run.result, run.cost_usd) == ({"pages": 3}, 0.25)
        assert run.finished_at == run.started_at + timedelta(seconds=10)

    async def test_all_of_it_is_one_transaction_with_the_next_claim(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        await open_engine.accept(claim.registration, "next")
        commits = await commits_of(open_engine)
        await open_engine.settle(claim, succeeded(state=1, next_fire_at="1h"))
        assert len(commits) == 1
        assert await open_engine.states() == ["succeeded", "claimed"]

    async def test_the_world_is_told(self, open_engine: Rig) -> None:
        _, event = await ended(open_engine, succeeded())
        assert open_engine.notices.of(RunEnded) == [
            RunEnded(
                run_id=event.run_id or "",
                event_id=event.id,
                registration="t",
                run_state=RunState.SUCCEEDED,
                event_state=State.SUCCEEDED,
                duration_s=10.0,
            )
        ]


class TestFailure:
    async def test_another_attempt_is_planned(self, open_engine: Rig) -> None:
        row, event = await ended(open_engine, failed("exit code 9"))
        due = open_engine.clock.now() + timedelta(seconds=2)
        assert (event.state, event.reason, event.attempts) == (State.PENDING, "retry", 1)
        assert (event.next_fire_at, event.settled_at) == (due, None)
        assert (row.consecutive_failures, row.last_error) == (1, "exit code 9")
        assert (row.run_count, row.last_fired_at) == (0, None)
        (told,) = open_engine.notices.of(RunEnded)
        assert (told.event_state, told.retry_at, told.error) == (State.PENDING, due, "exit code 9")

    async def test_waits_double_and_then_it_is_given_up(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(max_attempts=4))
        await open_engine.accept(row)
        waits = []
        while open_engine.taken:
            claim = open_engine.taken.pop()
            await open_engine.settle(claim, failed(f"attempt {claim.attempt}"))
            event = await open_engine.event(claim.event.id)
            if event.next_fire_at is not None:
                waits.append((event.next_fire_at - open_engine.clock.now()).total_seconds())
                open_engine.clock.advance(waits[-1])
                await open_engine.take()
        assert waits == [2, 4, 8]
        assert (event.state, event.reason, event.attempts) == (State.FAILED, "attempts", 4)
        runs = await open_engine.runs(event.id)
        assert [(run.attempt, run.state, run.error) for run in runs] == [
            (n, RunState.FAILED, f"attempt {n}") for n in (1, 2, 3, 4)
        ]
        assert {run.event_id for run in runs} == {event.id}

    async def test_the_attempts_of_an_event_share_its_idempotency_key(self, open_engine: Rig) -> None:
        _, event = await ended(open_engine, failed())
        open_engine.clock.advance(10)
        await open_engine.take()
        keys = await on_writer(open_engine.store, "SELECT engine_key FROM runs ORDER BY seq")
        assert keys == [(f"{event.idempotency_key}:1",), (f"{event.idempotency_key}:2",)]

    async def test_a_permanent_one_is_not_tried_again(self, open_engine: Rig) -> None:
        outcome = Outcome(verdict=Verdict.FAILED_PERMANENTLY, exit_code=65, error="exit code 65")
        row, event = await ended(open_engine, outcome)
        assert (event.state, event.reason, event.attempts) == (State.FAILED, "permanent", 1)
        assert row.consecutive_failures == 1

    async def test_the_schedule_goes_on(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled(max_attempts=1))
        after, event = await ended(open_engine, failed(), row)
        assert event.state is State.FAILED
        assert after.next_fire_at == row.next_fire_at

    async def test_a_lost_attempt_counts_for_the_event_and_not_for_the_streak(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        open_engine.claims.close()
        await open_engine.settle(claim, LOST)
        row, event = await open_engine.row(claim.registration.id), await open_engine.event(claim.event.id)
        assert (event.state, event.attempts, event.reason) == (State.PENDING, 1, "lost")
        assert event.next_fire_at == open_engine.clock.now()
        assert (row.consecutive_failures, row.last_error) == (0, None)

    async def test_a_stopped_engine_gives_the_attempt_back(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        open_engine.claims.close()
        await open_engine.settle(claim, INTERRUPTED)
        event = await open_engine.event(claim.event.id)
        assert (event.state, event.attempts) == (State.PENDING, 0)
        assert event.next_fire_at == open_engine.clock.now()
        assert (await open_engine.row(claim.registration.id)).consecutive_failures == 0
        open_engine.open()
        await open_engine.take()
        assert open_engine.taken.pop().attempt == 1

    async def test_a_cancelled_event_is_dropped(self, open_engine: Rig) -> None:
        row, event = await ended(open_engine, Outcome(verdict=Verdict.CANCELLED))
        assert (event.state, event.reason) == (State.DROPPED, "cancelled")
        assert row.consecutive_failures == 0


class TestState:
    @pytest.mark.parametrize(
        "outcome",
        [
            succeeded(state={"v": 2}),
            failed(state={"v": 2}),
            replace(LOST, outputs=Outputs(present=frozenset({"state"}), state={"v": 2})),
            replace(INTERRUPTED, outputs=Outputs(present=frozenset({"state"}), state={"v": 2})),
        ],
    )
    async def test_it_is_written_back_however_the_run_ended(self, open_engine: Rig, outcome: Outcome) -> None:
        row, _ = await ended(open_engine, outcome)
        assert row.state == {"v": 2}

    async def test_an_absent_state_leaves_the_old_one(self, open_engine: Rig) -> None:
        row, _ = await ended(open_engine, succeeded(state=[1]))
        after, _ = await ended(open_engine, succeeded(other=1), row)
        assert after.state == [1]

    async def test_null_takes_it_away(self, open_engine: Rig) -> None:
        row, _ = await ended(open_engine, succeeded(state=[1]))
        after, _ = await ended(open_engine, succeeded(state=None), row)
        assert after.state is None


class TestNextFire:
    @pytest.mark.parametrize("trigger", [spec(), scheduled()])
    async def test_a_run_names_the_next_instant_for_triggers_of_every_kind(
        self, open_engine: Rig, trigger: object
    ) -> None:
        row = await open_engine.add(trigger)  # type: ignore[arg-type]
        after, event = await ended(open_engine, succeeded(next_fire_at="2d"), row)
        assert after.next_fire_at == open_engine.clock.now() + timedelta(days=2)
        assert after.next_fire_run == event.run_id

    async def test_never_holds_the_schedule(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled())
        after, _ = await ended(open_engine, succeeded(next_fire_at="never"), row)
        assert (after.next_fire_at, after.held_until_enabled) == (None, True)

    async def test_a_later_value_lifts_never(self, open_engine: Rig) -> None:
        row, _ = await ended(open_engine, succeeded(next_fire_at="never"))
        after, _ = await ended(open_engine, succeeded(next_fire_at="1h"), row)
        assert (after.next_fire_at, after.held_until_enabled) == (open_engine.clock.now() + HOUR, False)

    @pytest.mark.parametrize(("said", "kept"), [("0s", timedelta(seconds=1)), ("400d", timedelta(days=366))])
    async def test_it_is_kept_within_bounds_and_the_journal_says_so(
        self, open_engine: Rig, said: str, kept: timedelta
    ) -> None:
        row, event = await ended(open_engine, succeeded(next_fire_at=said))
        assert row.next_fire_at == open_engine.clock.now() + kept
        (entry,) = await open_engine.read(lambda tx: journal.of_event(tx, event.id))
        assert entry.what == "next fire clamped"
        assert said in (entry.reason or "")

    async def test_only_the_attempt_that_ends_the_event_names_it(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(max_attempts=2))
        after, _ = await ended(open_engine, failed(next_fire_at="1h"), row)
        assert after.next_fire_at is None
        open_engine.clock.advance(10)
        await open_engine.take()
        await open_engine.settle(open_engine.taken.pop(), failed(next_fire_at="1h"))
        assert (await open_engine.row(row.id)).next_fire_at == open_engine.clock.now() + HOUR

    async def test_one_that_is_not_understood_fails_the_run(self, open_engine: Rig) -> None:
        row, event = await ended(open_engine, succeeded(next_fire_at="soon", state={"v": 3}))
        assert event.state is State.PENDING
        assert row.consecutive_failures == 1
        assert "soon" in (row.last_error or "")
        assert row.state == {"v": 3}


class TestOnlyWhatIsStillYours:
    async def test_a_claim_that_was_taken_away_settles_nothing(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        old = await claimed(open_engine, row)
        await open_engine.settle(old, LOST)
        new = open_engine.taken.pop()
        before = await open_engine.row(row.id), await open_engine.event(old.event.id)
        late: dict[str, Json] = {"state": {"v": 9}, "next_fire_at": "1h"}
        assert not await open_engine.settle(old, succeeded(**late))
        assert (await open_engine.row(row.id), await open_engine.event(old.event.id)) == before
        assert len(open_engine.notices.of(RunEnded)) == 1
        assert await open_engine.settle(new, succeeded())

    async def test_settling_twice_counts_once(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        assert [await open_engine.settle(claim, succeeded()) for _ in range(2)] == [True, False]
        assert (await open_engine.row(claim.registration.id)).run_count == 1

    async def test_a_run_of_a_taken_claim_keeps_the_end_it_had(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        await open_engine.settle(claim, LOST)
        await open_engine.settle(claim, succeeded())
        assert (await open_engine.runs(claim.event.id))[0].state is RunState.LOST

    async def test_an_edit_during_the_run_is_not_written_back(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled())
        claim = await claimed(open_engine, row)
        edited = replace(row.spec, config={"new": True}, max_attempts=9)
        await open_engine.write(
            lambda tx: registrations.update_spec(
                tx, row.id, edited, installation_id=row.installation_id, workflow_version=1
            )
        )
        await open_engine.settle(claim, succeeded(state=1))
        assert (await open_engine.row(row.id)).spec == edited

    async def test_limits_of_today_decide_not_those_at_the_claim(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(max_attempts=1))
        claim = await claimed(open_engine, row)
        edited = replace(row.spec, max_attempts=2)
        await open_engine.write(
            lambda tx: registrations.update_spec(
                tx, row.id, edited, installation_id=row.installation_id, workflow_version=1
            )
        )
        await open_engine.settle(claim, failed())
        assert await open_engine.states() == ["pending"]

    @pytest.mark.parametrize("outcome", [succeeded(), failed(), LOST])
    async def test_settling_never_enables(self, open_engine: Rig, outcome: Outcome) -> None:
        claim = await claimed(open_engine)
        await open_engine.disarm(claim.registration)
        await open_engine.settle(claim, outcome)
        after = await open_engine.row(claim.registration.id)
        assert (after.enabled, after.disabled_reason) == (False, DisabledReason.USER)

    async def test_a_failure_after_it_was_turned_off_is_not_retried(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        await open_engine.disarm(claim.registration)
        await open_engine.settle(claim, failed())
        event = await open_engine.event(claim.event.id)
        assert (event.state, event.reason) == (State.DROPPED, "user")

    async def test_a_removed_registrations_run_still_ends(self, open_engine: Rig) -> None:
        claim = await claimed(open_engine)
        await open_engine.remove(claim.registration)
        assert await open_engine.settle(claim, succeeded())
        assert (await open_engine.event(claim.event.id)).state is State.SUCCEEDED
        assert (await open_engine.row(claim.registration.id)).removed_at == open_engine.clock.now()


async def test_a_run_may_end_before_it_began(open_engine: Rig) -> None:
    """The wall clock was set back meanwhile; nothing is refused and durations are what they are."""
    claim = await claimed(open_engine)
    open_engine.clock.jump(-HOUR)
    assert await open_engine.settle(claim, succeeded())
    assert isinstance((await open_engine.event(claim.event.id)).settled_at, datetime)
