"""What a dead engine left running is found by its environment and stopped."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import uuid
from datetime import UTC, datetime

from tests.runners.workbench import Workbench, alive, until
from tocsin.engine.runners.leftovers import stop_leftovers
from tocsin.runs import Run, RunState

STARTER = """
import asyncio, os, sys
from pathlib import Path
from tocsin.engine.runners.command import CommandRunner
from tocsin.runs import RunRequest
from tocsin.settings import Workflow

async def main(home, name, *scripts):
    runner = CommandRunner(os.environ)
    waits = []
    for number, script in enumerate(scripts):
        run_id = f"{name}-{number}"
        request = RunRequest(
            run_id=run_id, event_id="evt_1", registration="r", registration_id="trg_1", workflow_version=1,
            workflow=Workflow(name="w", shell=script), attempt=1, idempotency_key="k", engine_key="k:1",
            params={}, run_dir=home / run_id, log_path=home / f"{run_id}.log", home=home,
        )
        waits.append((await runner.start(request)).wait())
    await asyncio.gather(*waits)

asyncio.run(main(Path(sys.argv[1]), *sys.argv[2:]))
"""


def unique() -> str:
    """A run id that no other test on this machine has, in whatever session."""
    return f"run_{uuid.uuid4().hex}"


async def killed_engine(bench: Workbench, *scripts: str, files: int) -> list[str]:
    """The run ids of commands whose starter was killed once so many `pid…` files were there."""
    name = unique()
    command = (*bench.script(STARTER), str(bench.home), name, *scripts)
    starter = await asyncio.create_subprocess_exec(*command)
    try:
        await until(lambda: len(pids(bench)) == files)
    finally:
        starter.kill()
        await starter.wait()
    return [f"{name}-{number}" for number in range(len(scripts))]


def pids(bench: Workbench) -> list[int]:
    return [int(path.read_text()) for path in bench.home.glob("pid*") if path.read_text().strip()]


def row(run_id: str) -> Run:
    return Run(
        seq=1,
        id=run_id,
        event_id="evt_1",
        registration_id="trg_1",
        registration="r",
        workflow="w",
        workflow_version=1,
        attempt=1,
        state=RunState.LOST,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        finished_at=None,
        exit_code=None,
        signal=None,
        error=None,
        result=None,
        cost_usd=None,
        log="",
        test=False,
    )


FAMILY = "setsid sleep 300 & echo $! >pid1; sleep 300 & echo $! >pid2; echo $$ >pid0; wait"


async def test_grandchildren_are_found_after_the_engine_was_killed(bench: Workbench) -> None:
    (run_id,) = await killed_engine(bench, FAMILY, files=3)
    assert all(map(alive, pids(bench)))
    began = time.monotonic()
    assert await asyncio.to_thread(stop_leftovers, [run_id], grace_s=120) == {run_id: 3}
    assert not any(map(alive, pids(bench)))
    assert time.monotonic() - began < 60
    assert stop_leftovers([run_id]) == {run_id: 0}


async def test_attach_stops_what_is_left_and_attaches_nothing(bench: Workbench) -> None:
    (run_id,) = await killed_engine(bench, FAMILY, files=3)
    await bench.runner.attach(row(run_id))
    assert not any(map(alive, pids(bench)))


async def test_one_look_serves_several_runs_and_spares_the_others(bench: Workbench) -> None:
    scripts = [f"echo $$ >pid{number}; exec sleep 300" for number in range(3)]
    first, second, third = await killed_engine(bench, *scripts, files=3)
    assert stop_leftovers([first, second, "run_unknown"]) == {first: 1, second: 1, "run_unknown": 0}
    assert [alive(int((bench.home / f"pid{n}").read_text())) for n in range(3)] == [False, False, True]
    assert stop_leftovers([third]) == {third: 1}
    assert stop_leftovers([]) == {}


async def test_term_comes_first_and_kill_after_the_grace(bench: Workbench) -> None:
    polite = "exec 2>/dev/null; trap 'echo bye >bye; exit' TERM; echo $$ >pid0; while :; do sleep 0.05; done"
    stubborn = "trap '' TERM; echo $$ >pid1; while :; do sleep 0.05; done"
    run_ids = await killed_engine(bench, polite, stubborn, files=2)
    stopped = await asyncio.to_thread(stop_leftovers, run_ids, grace_s=0.5)
    assert all(count >= 1 for count in stopped.values())
    assert not any(map(alive, pids(bench)))
    assert (bench.home / "bye").read_text() == "bye\n"


async def test_a_member_of_the_group_without_the_environment_goes_too(bench: Workbench) -> None:
    script = (
        "env -i sh -c \"trap '' TERM; echo \\$\\$ >pid1; while :; do sleep 0.05; done\" & echo $$ >pid0; wait"
    )
    (run_id,) = await killed_engine(bench, script, files=2)
    assert stop_leftovers([run_id], grace_s=0.3)[run_id] >= 2
    assert not any(map(alive, pids(bench)))


def test_an_engine_inside_the_run_stops_neither_itself_nor_who_called_it(bench: Workbench) -> None:
    run_id = unique()
    code = f"from tocsin.engine.runners.leftovers import stop_leftovers; print(stop_leftovers(['{run_id}']))"
    script = f'setsid sleep 300 & sleep 300 & "{sys.executable}" -c "{code}"; echo alive'
    done = subprocess.run(
        ["sh", "-c", script],
        env=dict(os.environ) | {"TOCSIN_RUN_ID": run_id},
        capture_output=True,
        text=True,
        timeout=60,
        start_new_session=True,
        check=True,
    )
    # Its brother shares its group: stopped as a single process, the group is not touched.
    assert done.stdout.splitlines() == [str({run_id: 2}), "alive"]


def test_the_run_id_must_be_the_whole_value(bench: Workbench) -> None:
    run_id = unique()
    env = {"TOCSIN_RUN_ID": f"{run_id}0", "X": f"TOCSIN_RUN_ID={run_id}"}
    other = subprocess.Popen(["sleep", "300"], env=env)
    try:
        assert stop_leftovers([run_id]) == {run_id: 0}
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
