"""Cancels: by a person, by the engine's shutdown, by the task that waits."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.runners.workbench import PATIENCE_S, STUBBORN, Workbench, alive, output, pids_in
from tocsin.runs import Outcome, RunRequest, Verdict


def over(pid: int) -> None:
    """Hold everything up until the child has ended, without reaping it."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


async def started(bench: Workbench, request: RunRequest, text: str = "ready") -> asyncio.Task[object]:
    """A run whose command has said that it is ready."""
    handle = await bench.start(request)
    await bench.said(request, text)
    task = asyncio.create_task(handle.wait())
    await asyncio.wait([task], timeout=0)  # a task that has not begun to wait cannot hear of its cancel
    return task


async def cancelled(bench: Workbench, request: RunRequest, *, interrupted: bool = False) -> Outcome:
    """How a run ends that is cancelled once its command has said that it is ready."""
    handle = await bench.start(request)
    await bench.said(request, "ready")
    await handle.cancel(interrupted=interrupted)
    async with asyncio.timeout(PATIENCE_S):
        return await handle.wait()


@pytest.mark.parametrize(
    ("interrupted", "verdict"), [(False, Verdict.CANCELLED), (True, Verdict.INTERRUPTED)]
)
async def test_a_cancel_stops_the_run(bench: Workbench, interrupted: bool, verdict: Verdict) -> None:
    request = bench.shell('echo \'{"n":1}\' >>"$TOCSIN_OUTPUT"; sleep 300 & echo $! >pid; echo ready; wait')
    done = await cancelled(bench, request, interrupted=interrupted)
    assert (done.verdict, done.signal, dict(done.outputs.result)) == (verdict, "SIGTERM", {"n": 1})
    assert not alive(*pids_in(bench.home / "pid"))


async def test_a_cancel_of_a_stubborn_command_kills_it(bench: Workbench) -> None:
    request = bench.shell(STUBBORN, kill_grace=0.2)
    handle = await bench.start(request)
    await bench.said(request, "ready")
    await handle.cancel()
    await handle.cancel()
    done = await handle.wait()
    assert (done.verdict, done.signal, done.error) == (Verdict.CANCELLED, "SIGKILL", "cancelled")


async def test_a_persons_cancel_outweighs_the_shutdown(bench: Workbench) -> None:
    handle = await bench.start(bench.request("sleep", "300"))
    await handle.cancel(interrupted=True)
    await handle.cancel()
    assert (await handle.wait()).verdict is Verdict.CANCELLED


async def test_a_shutdown_changes_nothing_about_a_cancel(bench: Workbench) -> None:
    handle = await bench.start(bench.request("sleep", "300"))
    await handle.cancel()
    await handle.cancel(interrupted=True)
    assert (await handle.wait()).verdict is Verdict.CANCELLED


@pytest.mark.parametrize("interrupted", [False, True])
async def test_a_cancel_that_comes_too_late_leaves_a_success(bench: Workbench, interrupted: bool) -> None:
    handle = await bench.start(bench.request("true"))
    over(handle.process.pid)  # and the loop has not noticed
    await handle.cancel(interrupted=interrupted)
    assert (await handle.wait()).verdict is Verdict.SUCCEEDED
    await handle.cancel()
    assert (await handle.wait()).verdict is Verdict.SUCCEEDED


async def test_a_cancel_before_anything_was_waited_for(bench: Workbench) -> None:
    handle = await bench.start(bench.request("sleep", "300"))
    await handle.cancel()
    assert (await handle.wait()).verdict is Verdict.CANCELLED


async def test_a_cancelled_wait_stops_the_run_first(bench: Workbench) -> None:
    request = bench.shell(
        "trap 'echo bye; exit' TERM; echo $$ >pid; echo ready; while :; do sleep 0.05; done"
    )
    task = await started(bench, request)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(*pids_in(bench.home / "pid"))
    assert output(request).endswith(b"bye\n")


async def test_a_wait_cancelled_twice_does_not_grant_the_grace(bench: Workbench) -> None:
    request = bench.shell(f"echo $$ >pid; {STUBBORN}", kill_grace=600)
    task = await started(bench, request)
    task.cancel()
    await asyncio.wait([task], timeout=0.2)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(*pids_in(bench.home / "pid"))


async def test_a_second_waiter_sees_the_cancel_of_the_first(bench: Workbench) -> None:
    handle = await bench.start(bench.request("sleep", "300"))
    first, second = asyncio.create_task(handle.wait()), asyncio.create_task(handle.wait())
    await asyncio.wait([first, second], timeout=0.01)
    first.cancel()
    assert (await second).verdict is Verdict.CANCELLED
    with pytest.raises(asyncio.CancelledError):
        await first


def test_a_loop_that_closes_leaves_no_process(bench: Workbench) -> None:
    async def forget() -> int:
        return (await bench.start(bench.request("sleep", "300"))).process.pid

    assert not alive(asyncio.run(forget()))


async def test_what_handles_term_may_finish_its_work(bench: Workbench) -> None:
    request = bench.shell("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
    done = await cancelled(bench, request)
    assert (done.verdict, done.exit_code, done.error) == (Verdict.CANCELLED, 0, "cancelled")
    assert output(request).endswith(b"bye\n")


async def test_the_grace_is_the_whole_groups(bench: Workbench) -> None:
    slow = "trap 'sleep 0.3; echo bye; exit' TERM; echo ready; while :; do sleep 0.05; done"
    request = bench.shell(f'sh -c "{slow}" & wait')
    assert (await cancelled(bench, request)).signal == "SIGTERM"
    assert output(request).endswith(b"bye\n")


async def test_what_left_the_group_is_stopped_with_it(bench: Workbench) -> None:
    script = 'trap "" TERM; echo $$ >pid; echo ready; while :; do sleep 0.05; done'
    done = await cancelled(bench, bench.shell(f"setsid sh -c '{script}' & wait", kill_grace=0.2))
    assert done.verdict is Verdict.CANCELLED
    assert not alive(*pids_in(bench.home / "pid"))
