"""The loop of the queue and the attempts it starts: nothing claimed goes unattended."""

from __future__ import annotations

import asyncio
import stat
import threading
from datetime import timedelta

import pytest

from tests.engine.rig import Rig, limits, open_rig, scheduled, spec
from tests.fakes import DEADLINE_S, FakeHandle, FakeRunner, failed, succeeded
from tests.store.raw import on_writer
from tocsin.engine import attempt
from tocsin.errors import RunnerUnreachable, SpawnFailed
from tocsin.event import State
from tocsin.notices import EventRecorded, RunEnded, RunStarted, Trouble
from tocsin.runs import Outcome, ProcessFacts, RunRequest, RunState
from tocsin.store.connection import Tx
from tocsin.trigger import Overlap


def handle_of(rig: Rig, event_id: str) -> FakeHandle:
    """The latest run of an event."""
    runs = [request.run_id for request in rig.runner.requests if request.event_id == event_id]
    return rig.runner.handles[runs[-1]]


class TestAttempt:
    async def test_an_accepted_event_is_run_and_settled(self, rig: Rig) -> None:
        row = await rig.add()
        async with rig.running():
            answer = await rig.accepted(row)
            started = await rig.notices.wait_for(RunStarted)
            handle_of(rig, answer.event_id).succeed(pages=3)
            ended = await rig.notices.wait_for(RunEnded)
        assert answer.run_id == started.run_id == ended.run_id
        assert (started.attempt, started.max_attempts) == (1, 3)
        assert await rig.states() == ["succeeded"]

    async def test_the_request_describes_the_run_fully(self, rig: Rig) -> None:
        row = await rig.add(spec(config={"a": 1}))
        rig.runner.script = lambda _: succeeded()
        async with rig.running():
            await rig.accept(row)
            await rig.notices.wait_for(RunEnded)
        (request,) = rig.runner.requests
        event = (await rig.events())[0]
        assert (request.run_id, request.event_id) == (event.run_id, event.id)
        assert (request.registration, request.registration_id) == ("t", row.id)
        assert (request.workflow.name, request.workflow_version, request.attempt) == ("w", 1, 1)
        assert request.idempotency_key == event.idempotency_key
        assert request.engine_key == f"{event.idempotency_key}:1"
        assert request.params["config"] == {"a": 1}
        assert request.run_dir == rig.paths.runs / request.run_id
        assert request.log_path == rig.paths.logs / f"{request.run_id}.log"
        assert request.home == rig.paths.home

    async def test_its_directory_is_private_and_gone_afterwards(self, rig: Rig) -> None:
        modes = []

        def script(request: RunRequest) -> Outcome:
            modes.append(stat.S_IMODE(request.run_dir.stat().st_mode))
            (request.run_dir / "left.txt").write_text("x")
            return succeeded()

        rig.runner.script = script
        row = await rig.add()
        async with rig.running():
            await rig.accept(row)
            await rig.notices.wait_for(RunEnded)
        assert modes == [0o700]
        assert list(rig.paths.runs.iterdir()) == []

    async def test_its_process_is_noted(self, rig: Rig) -> None:
        rig.runner.process = ProcessFacts(pid=4711, started=99, boot_id="boot")
        row = await rig.add()
        async with rig.running():
            answer = await rig.accepted(row)
            await rig.notices.wait_for(RunStarted)
            handle_of(rig, answer.event_id).succeed()
            await rig.notices.wait_for(RunEnded)
        found = await on_writer(rig.store, "SELECT pid, pid_started, boot_id FROM runs")
        assert found == [(4711, 99, "boot")]

    @pytest.mark.parametrize(
        ("broken", "state", "error"),
        [
            (SpawnFailed("command not found: x"), "pending", "command not found: x"),
            (SpawnFailed("no value", permanent=True), "failed", "no value"),
            (RuntimeError("a fault"), "pending", "internal error: RuntimeError('a fault')"),
        ],
    )
    async def test_a_runner_that_cannot_start_it_is_a_failed_run(
        self, rig: Rig, broken: Exception, state: str, error: str
    ) -> None:
        rig.runner.broken = broken
        row = await rig.add()
        async with rig.running():
            await rig.accept(row)
            ended = await rig.notices.wait_for(RunEnded)
        assert (ended.run_state, ended.error) == (RunState.FAILED, error)
        assert await rig.states() == [state]
        assert (await rig.row(row.id)).consecutive_failures == 1

    @pytest.mark.parametrize("broken", [RunnerUnreachable("no room"), OSError(28, "No space left")])
    async def test_a_runner_that_cannot_work_gives_the_attempt_back(
        self, rig: Rig, broken: Exception
    ) -> None:
        rig.runner.broken = broken
        row = await rig.add(spec(max_attempts=1, disable_after=1))
        async with rig.running():
            await rig.accept(row)
            ended = await rig.notices.wait_for(RunEnded)
        assert (ended.run_state, ended.error) == (RunState.FAILED, str(broken))
        (event,) = await rig.events()
        assert (event.state, event.attempts) == (State.PENDING, 0)
        after = await rig.row(row.id)
        assert (after.enabled, after.consecutive_failures) == (True, 0)

    async def test_a_handle_that_raises_is_a_failed_run(self, rig: Rig) -> None:
        row = await rig.add()
        async with rig.running():
            answer = await rig.accepted(row)
            await rig.notices.wait_for(RunStarted)
            handle_of(rig, answer.event_id)._end.set_exception(ValueError("a fault"))
            ended = await rig.notices.wait_for(RunEnded)
        assert ended.error == "internal error: ValueError('a fault')"
        assert len(rig.notices.of(Trouble)) == 1

    async def test_a_home_that_takes_no_directory_is_a_failed_run_and_no_dead_engine(self, rig: Rig) -> None:
        rig.paths.runs.write_text("in the way")
        row = await rig.add()
        async with rig.running():
            await rig.accept(row)
            ended = await rig.notices.wait_for(RunEnded)
        assert ended.run_state is RunState.FAILED
        assert rig.runner.requests == []

    async def test_runs_go_on_side_by_side(self, rig: Rig) -> None:
        rows = [await rig.add(spec(name)) for name in ("a", "b", "c")]
        async with rig.running():
            answers = [await rig.accepted(row) for row in rows]
            await rig.notices.wait_for(RunStarted, count=3)
            for answer in reversed(answers):
                handle_of(rig, answer.event_id).succeed()
                await rig.notices.wait_for(RunEnded, lambda end, id_=answer.event_id: end.event_id == id_)  # type: ignore[misc]
        assert await rig.states() == ["succeeded"] * 3

    async def test_a_freed_seat_is_taken_at_once(self, rig: Rig) -> None:
        rig.claims.settings = limits(total=1)
        rig.runner.script = lambda _: succeeded()
        row = await rig.add(spec(overlap=Overlap.ALLOW))
        async with rig.running():
            for n in range(50):
                await rig.accept(row, f"d{n}")
            await rig.notices.wait_for(RunEnded, count=50)
        assert [request.params["event_id"] for request in rig.runner.requests] == [
            event.id for event in await rig.events()
        ]


class TestFullDisk:
    async def test_an_end_is_settled_as_soon_as_there_is_room(
        self, rig: Rig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attempt, "SETTLE_AGAIN_S", 0.01)
        row = await rig.add()
        async with rig.running():
            answer = await rig.accepted(row)
            await rig.notices.wait_for(RunStarted)
            await on_writer(rig.store, "PRAGMA query_only = ON")
            handle_of(rig, answer.event_id).succeed()
            trouble = await rig.notices.wait_for(Trouble)
            assert trouble.where == f"settling {answer.run_id}"
            assert rig.notices.of(RunEnded) == []
            await on_writer(rig.store, "PRAGMA query_only = OFF")
            await rig.notices.wait_for(RunEnded)
        assert len(rig.notices.of(Trouble)) == 1
        assert len(rig.runner.requests) == 1
        assert await rig.states() == ["succeeded"]

    async def test_a_hurried_stop_leaves_what_cannot_be_written_to_the_next_start(self, rig: Rig) -> None:
        row = await rig.add()
        hurry = asyncio.Event()
        async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
            rig.dispatcher.open(group)
            answer = await rig.accepted(row)
            await rig.notices.wait_for(RunStarted)
            await on_writer(rig.store, "PRAGMA query_only = ON")
            handle_of(rig, answer.event_id).succeed()
            await rig.notices.wait_for(Trouble)
            hurry.set()
            await rig.dispatcher.drain(0, hurry)
        await on_writer(rig.store, "PRAGMA query_only = OFF")
        assert await rig.states() == ["claimed"]

    async def test_a_run_whose_process_cannot_be_noted_goes_on(self, rig: Rig) -> None:
        rig.runner.process = ProcessFacts(pid=4711, started=99, boot_id="boot")
        row = await rig.add()
        await on_writer(
            rig.store,
            "CREATE TEMP TRIGGER full BEFORE UPDATE OF pid ON main.runs "
            "BEGIN SELECT json_extract('{', '$'); END",  # fails as the disk would: an OperationalError
        )
        async with rig.running():
            answer = await rig.accepted(row)
            await rig.notices.wait_for(Trouble)
            handle = handle_of(rig, answer.event_id)
            assert handle.cancels == []
            handle.succeed()
            ended = await rig.notices.wait_for(RunEnded)
        assert ended.run_state is RunState.SUCCEEDED


class TestLoop:
    async def test_it_finds_what_another_process_wrote(self, rig: Rig) -> None:
        row = await rig.add()
        rig.runner.script = lambda _: succeeded()
        async with rig.running():
            async with open_rig(rig.paths.home, owner="own_cli") as other:
                await other.fire(row, "by hand")
            assert await rig.look() == 0.0
            await rig.notices.wait_for(RunEnded)
        assert await rig.states() == ["succeeded"]

    async def test_it_says_when_the_next_retry_is_due(self, open_engine: Rig) -> None:
        await open_engine.accept(await open_engine.add())
        await open_engine.settle(open_engine.taken.pop(), failed())
        assert await open_engine.look() == 2.0
        open_engine.clock.advance(2)
        await open_engine.look()
        assert open_engine.taken.pop().attempt == 2

    async def test_with_nothing_to_do_it_looks_again_in_a_second(self, open_engine: Rig) -> None:
        assert await open_engine.look() == 1.0

    async def test_an_own_claim_that_nobody_attends_is_reaped(self, open_engine: Rig) -> None:
        await open_engine.accept(await open_engine.add(spec(max_attempts=2)))
        claim = open_engine.taken.pop()
        open_engine.claims.live.clear()  # its task died
        await open_engine.look()
        event = await open_engine.event(claim.event.id)
        assert (event.state, event.attempts) == (State.CLAIMED, 2)  # lost once, taken again at once
        assert [run.state.value for run in await open_engine.runs(event.id)] == ["lost", "running"]
        assert (await open_engine.row(claim.registration.id)).consecutive_failures == 0

    @pytest.mark.parametrize("length", [timedelta(minutes=25), timedelta(days=10)], ids=str)
    async def test_a_claim_that_is_attended_is_left_alone_however_long_it_takes(
        self, open_engine: Rig, length: timedelta
    ) -> None:
        """A render of 25 minutes, a laptop that slept for days: no lease runs out, for there is none."""
        await open_engine.accept(await open_engine.add())
        for _ in range(10):
            open_engine.clock.advance(length / 10)
            await open_engine.tick()
            await open_engine.look()
        assert await open_engine.states() == ["claimed"]
        (claim,) = open_engine.taken
        assert await open_engine.settle(claim, succeeded())
        assert await open_engine.states() == ["succeeded"]
        (run,) = await open_engine.runs(claim.event.id)
        assert (run.state, run.finished_at) == (RunState.SUCCEEDED, run.started_at + length)

    async def test_a_claim_of_another_owner_is_left_to_recovery(self, open_engine: Rig) -> None:
        await open_engine.accept(await open_engine.add())
        async with open_rig(open_engine.paths.home, owner="own_2") as other:
            other.open()
            await other.look()
            assert await other.states() == ["claimed"]
            assert other.taken == []

    async def test_live_claims_are_forgotten_once_settled(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        for n in range(3):
            await open_engine.accept(row, f"d{n}")
            await open_engine.settle(open_engine.taken.pop(), succeeded())
        assert open_engine.claims.live == set()


class TestDrain:
    async def test_runs_may_end_within_the_grace(self, rig: Rig) -> None:
        row = await rig.add()
        async with rig.running(grace_s=30):
            answer = await rig.accepted(row)
            await rig.notices.wait_for(RunStarted)
            handle = handle_of(rig, answer.event_id)
            asyncio.get_running_loop().call_later(0.05, handle.succeed)
        assert handle.cancels == []
        assert await rig.states() == ["succeeded"]

    async def test_after_it_they_are_stopped_and_their_attempts_given_back(self, rig: Rig) -> None:
        rows = [await rig.add(spec(name)) for name in ("a", "b")]
        async with rig.running(grace_s=0):
            for row in rows:
                await rig.accept(row)
            await rig.notices.wait_for(RunStarted, count=2)
        assert {tuple(handle.cancels) for handle in rig.runner.handles.values()} == {(True,)}
        found = await rig.events()
        assert [(event.state.value, event.attempts) for event in found] == [("pending", 0)] * 2
        runs = [run for event in found for run in await rig.runs(event.id)]
        assert {run.state for run in runs} == {RunState.CANCELLED}

    async def test_what_is_accepted_meanwhile_waits_for_the_next_engine(self, rig: Rig) -> None:
        row = await rig.add()
        async with rig.running():
            pass
        assert (await rig.accepted(row)).run_id is None
        assert await rig.states() == ["pending"]

    async def test_a_hurry_cuts_the_grace_short(self, rig: Rig) -> None:
        row = await rig.add()
        hurry = asyncio.Event()
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            rig.dispatcher.open(group)
            await rig.accept(row)
            await rig.notices.wait_for(RunStarted)
            draining = group.create_task(rig.dispatcher.drain(3600, hurry))
            hurry.set()
            await draining
        assert await rig.states() == ["pending"]

    async def test_what_a_commit_under_way_has_taken_is_waited_for(self, rig: Rig) -> None:
        """The engine stops between the claim's transaction and its commit."""
        row = await rig.add()
        entered, go_on = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        def dawdle(_tx: Tx) -> None:
            loop.call_soon_threadsafe(entered.set)
            go_on.wait(DEADLINE_S)

        async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
            rig.dispatcher.open(group)
            group.create_task(rig.accept(row))
            group.create_task(rig.store.write(dawdle))
            await entered.wait()
            draining = group.create_task(rig.dispatcher.drain(0, asyncio.Event()))
            await asyncio.sleep(0)  # a turn of the loop, not a wait
            go_on.set()
            await draining
            assert await rig.states() == ["pending"]
        (event,) = await rig.events()
        assert (event.attempts, rig.claims.live) == (0, set())

    async def test_a_run_between_its_claim_and_its_start_is_stopped_too(self, rig: Rig) -> None:
        rig.runner = SlowRunner()
        rig.__post_init__()
        row = await rig.add()
        async with rig.running(grace_s=0):
            await rig.accept(row)
            assert rig.runner.requests == []
        assert await rig.states() == ["pending"]


class SlowRunner(FakeRunner):
    """Takes some turns of the loop to start."""

    async def start(self, request: RunRequest) -> FakeHandle:
        for _ in range(5):
            await asyncio.sleep(0)
        return await super().start(request)


async def test_a_cancelled_attempt_cancels_its_run_and_leaves_the_claim_to_recovery(rig: Rig) -> None:
    row = await rig.add()

    async def engine_that_dies() -> None:
        async with asyncio.TaskGroup() as group:
            rig.dispatcher.open(group)
            await rig.accept(row)
            await rig.notices.wait_for(RunStarted)
            raise RuntimeError("a loop of the engine died")

    with pytest.raises(ExceptionGroup):
        await engine_that_dies()
    (handle,) = rig.runner.handles.values()
    assert handle.cancels == [False]
    assert await rig.states() == ["claimed"]


async def test_a_full_round_of_a_schedule(rig: Rig) -> None:
    rig.runner.script = lambda request: succeeded(state={"n": request.params["attempt"]})
    row = await rig.add(scheduled())
    async with rig.running():
        for n in range(1, 4):
            rig.clock.advance(60)
            await rig.tick()
            await rig.notices.wait_for(RunEnded, count=n)
    assert await rig.states() == ["succeeded"] * 3
    assert (await rig.row(row.id)).run_count == 3
    assert len(rig.notices.of(EventRecorded)) == 3
