"""Timeouts, the end of the command itself, and the ways in which something tries to outlive them."""

from __future__ import annotations

import os
import signal
import time

import psutil
import pytest

from tests.runners.workbench import STUBBORN, Workbench, alive, output, pids_in, until
from tocsin.engine.runners.invocation import plan
from tocsin.engine.runners.process import Group, spawn
from tocsin.runs import Verdict

ESCAPE = "setsid sh -c 'echo $$ >pid; exec"
ESCAPED = "while [ ! -s pid ]; do sleep 0.01; done"


# Timeouts


async def test_a_timeout_stops_the_whole_group(bench: Workbench) -> None:
    request = bench.shell("sleep 300 & echo $! $$ >pids; wait", timeout=1, kill_grace=120)
    began = time.monotonic()
    done = await bench.run(request)
    assert (done.verdict, done.error, done.signal) == (Verdict.FAILED, "timed out after 1s", "SIGTERM")
    assert not any(map(alive, pids_in(bench.home / "pids")))
    assert time.monotonic() - began < 60  # well within the grace: nobody waits for what has ended


async def test_what_ignores_term_is_killed_after_the_grace(bench: Workbench) -> None:
    request = bench.shell(STUBBORN, timeout=1.5, kill_grace=0.2)
    done = await bench.run(request)
    assert (done.verdict, done.error, done.signal) == (Verdict.FAILED, "timed out after 1s500ms", "SIGKILL")


async def test_a_stopped_process_hears_term(bench: Workbench) -> None:
    done = await bench.run(bench.shell("kill -STOP $$", timeout=0.2))
    assert (done.verdict, done.signal) == (Verdict.FAILED, "SIGTERM")


# The end of the command itself


async def test_a_background_child_does_not_outlive_the_command(bench: Workbench) -> None:
    began = time.monotonic()
    done = await bench.run(bench.shell("sleep 300 & echo $! >pid; exit 0"))
    assert done.verdict is Verdict.SUCCEEDED
    assert not alive(*pids_in(bench.home / "pid"))
    assert time.monotonic() - began < 60


async def test_a_pipe_held_by_what_left_the_group_is_read_one_second_longer(bench: Workbench) -> None:
    request = bench.shell(f"{ESCAPE} sleep 300' & {ESCAPED}; echo done")
    began = time.monotonic()
    done = await bench.run(request)
    taken = time.monotonic() - began
    (left,) = pids_in(bench.home / "pid")
    os.kill(left, signal.SIGKILL)
    assert (done.verdict, output(request)) == (Verdict.SUCCEEDED, b"done\n")
    assert 1 <= taken < 8


async def test_a_flood_into_a_held_pipe_does_not_keep_the_run_open(bench: Workbench) -> None:
    request = bench.shell(f"{ESCAPE} yes' & {ESCAPED}; exit 0")
    assert (await bench.run(request)).verdict is Verdict.SUCCEEDED
    await until(lambda: not alive(*pids_in(bench.home / "pid")))  # nobody reads any more: SIGPIPE


async def test_a_zombie_holds_nothing_up(bench: Workbench) -> None:
    command = bench.script(
        "import os, subprocess, sys\n"
        "child = subprocess.Popen(['true'])\n"
        "os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)\n"
        "os._exit(0)\n"
    )
    assert (await bench.run(bench.request(*command))).verdict is Verdict.SUCCEEDED


async def test_a_zombie_whose_parent_left_the_group_holds_nothing_up(bench: Workbench) -> None:
    command = bench.script(
        "import os, subprocess, sys, time\n"
        "leader, ready = os.getpid(), os.pipe()\n"
        "if not os.fork():\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        os._exit(0)\n"
        "    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)\n"
        "    os.setsid(); [os.close(fd) for fd in (0, 1, 2)]\n"
        "    open('pid', 'w').write(f'{os.getpid()} {child}')\n"
        "    os.write(ready[1], b'x'); time.sleep(300)\n"
        "os.read(ready[0], 1)\n"
    )
    began = time.monotonic()
    assert (await bench.run(bench.request(*command))).verdict is Verdict.SUCCEEDED
    taken = time.monotonic() - began
    parent, zombie = pids_in(bench.home / "pid")
    assert psutil.Process(zombie).status() == psutil.STATUS_ZOMBIE
    os.kill(parent, signal.SIGKILL)
    assert taken < 4


# The watch without pidfd


async def test_without_pidfd_a_thread_notices_the_end(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert (await bench.run(bench.shell("sleep 0.1; exit 3"))).exit_code == 3


async def test_a_reaped_leader_is_never_signalled(bench: Workbench) -> None:
    child = spawn(plan(bench.request("true"), bench.environ))
    group = Group(child)
    await group.ended
    assert group.over()
    assert group.reap() == 0
    group.signal(signal.SIGKILL)  # whoever has this number now is a stranger
    assert group.over()
    for pipe in (child.stdin, child.stdout, child.stderr):
        assert pipe is not None
        pipe.close()
