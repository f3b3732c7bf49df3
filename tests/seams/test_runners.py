"""Every runner: one start is one end, and a cancelled run is over when `wait` returns."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.engine.rig import paths_in
from tests.fakes import DEADLINE_S, FakeRunner, failed, succeeded
from tocsin.engine.runners.command import CommandRunner
from tocsin.errors import SpawnFailed
from tocsin.runs import Outcome, RunRequest, Verdict
from tocsin.seams import Runner
from tocsin.settings import Workflow

Command: TypeAlias = tuple[str, ...]
SUCCEEDS: Command = ("true",)
FAILS: Command = ("false",)
ENDLESS: Command = ("sleep", "300")


def scripted(request: RunRequest) -> Outcome | None:
    """What the fake makes of the commands above."""
    if request.workflow.command == ENDLESS:
        return None
    return succeeded() if request.workflow.command == SUCCEEDS else failed()


@dataclass(frozen=True, kw_only=True)
class Bed:
    """A runner and how to ask it."""

    runner: Runner
    request: Callable[[Command], RunRequest]
    break_: Callable[[], None]


@pytest.fixture(params=["command", "fake"])
def bed(request: pytest.FixtureRequest, tmp_path: Path) -> Bed:
    paths, runs = paths_in(tmp_path), iter(range(100))

    def ask(command: Command) -> RunRequest:
        run_id = f"run_{os.getpid()}_{next(runs)}"
        run_dir = paths.runs / run_id
        run_dir.mkdir(parents=True)
        return RunRequest(
            run_id=run_id,
            event_id="evt_1",
            registration="t",
            registration_id="trg_1",
            workflow=Workflow(name="w", command=command),
            workflow_version=1,
            attempt=1,
            idempotency_key="trigger:1",
            engine_key="trigger:1:1",
            params={},
            run_dir=run_dir,
            log_path=paths.logs / f"{run_id}.log",
            home=paths.home,
        )

    if request.param == "command":
        return Bed(runner=CommandRunner(dict(os.environ)), request=ask, break_=lambda: None)
    fake = FakeRunner()
    fake.script = scripted

    def break_() -> None:
        fake.broken = SpawnFailed("command not found: no-such-command")

    return Bed(runner=fake, request=ask, break_=break_)


async def ended(bed: Bed, command: Command) -> Outcome:
    async with asyncio.timeout(DEADLINE_S):
        return await (await bed.runner.start(bed.request(command))).wait()


async def test_a_success(bed: Bed) -> None:
    outcome = await ended(bed, SUCCEEDS)
    assert (outcome.verdict, outcome.exit_code, outcome.error) == (Verdict.SUCCEEDED, 0, None)


async def test_a_failure_names_its_cause(bed: Bed) -> None:
    outcome = await ended(bed, FAILS)
    assert (outcome.verdict, outcome.exit_code) == (Verdict.FAILED, 1)
    assert outcome.error


async def test_what_cannot_be_started_raises(bed: Bed) -> None:
    bed.break_()
    with pytest.raises(SpawnFailed, match="command not found: no-such-command"):
        await bed.runner.start(bed.request(("no-such-command",)))


@pytest.mark.parametrize(
    ("interrupted", "verdict"), [(False, Verdict.CANCELLED), (True, Verdict.INTERRUPTED)]
)
async def test_a_run_that_is_asked_to_stop_says_why_it_did(
    bed: Bed, interrupted: bool, verdict: Verdict
) -> None:
    handle = await bed.runner.start(bed.request(ENDLESS))
    await handle.cancel(interrupted=interrupted)
    async with asyncio.timeout(DEADLINE_S):
        assert (await handle.wait()).verdict is verdict


async def test_asking_twice_is_asking_once(bed: Bed) -> None:
    handle = await bed.runner.start(bed.request(ENDLESS))
    for _ in range(3):
        await handle.cancel(interrupted=True)
    async with asyncio.timeout(DEADLINE_S):
        assert (await handle.wait()).verdict is Verdict.INTERRUPTED
        assert (await handle.wait()).verdict is Verdict.INTERRUPTED


async def test_a_run_that_is_over_keeps_its_end(bed: Bed) -> None:
    handle = await bed.runner.start(bed.request(SUCCEEDS))
    async with asyncio.timeout(DEADLINE_S):
        first = await handle.wait()
        await handle.cancel()
        assert await handle.wait() == first


async def test_cancelling_the_wait_cancels_the_run(bed: Bed) -> None:
    handle = await bed.runner.start(bed.request(ENDLESS))
    waiting = asyncio.create_task(handle.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    async with asyncio.timeout(DEADLINE_S):
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await handle.wait()).verdict is Verdict.CANCELLED


async def test_runs_of_one_runner_do_not_know_each_other(bed: Bed) -> None:
    endless = await bed.runner.start(bed.request(ENDLESS))
    assert (await ended(bed, SUCCEEDS)).verdict is Verdict.SUCCEEDED
    await endless.cancel()
    async with asyncio.timeout(DEADLINE_S):
        assert (await endless.wait()).verdict is Verdict.CANCELLED
