"""`once` and the death of the engine: what is done is not done again, what was only begun is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tocsin
from tests.crash.rig import Home, until

# Kills the engine the first time, and waits to be stopped.
KILL = """#!/bin/sh
[ -e {here}/killed ] || {{ touch {here}/killed; kill -9 $(cat {here}/engine); sleep 60; }}
"""
# Does a step, at some point of it kills its own engine, and does another one.
WORKER = """
here={here}
tocsin() {{ {python} -m tocsin "$@"; }}
{steps}
tocsin once last -- sh -c "echo last >> $here/done"
"""

CONFIG = """
[workflows.steps]
command = ["sh", "{script}"]
env = {{ PYTHONPATH = "{source}" }}
[triggers.steps]
workflow = "steps"
manual = true
"""


@pytest.mark.parametrize(
    ("steps", "done"),
    [
        ('tocsin once first -- sh -c "echo first >> $here/done"\n$here/kill', ["first", "last"]),
        # it dies between the deed and the note of it: at least once
        (
            'tocsin once first -- sh -c "echo first >> $here/done; $here/kill"',
            ["first", "first", "last"],
        ),
    ],
)
def test_a_step_that_was_done_is_not_repeated_after_kill_9(
    tmp_path: Path, steps: str, done: list[str]
) -> None:
    script, kill = tmp_path / "script", tmp_path / "kill"
    kill.write_text(KILL.format(here=tmp_path))
    kill.chmod(0o755)
    script.write_text(WORKER.format(here=tmp_path, python=sys.executable, steps=steps))
    home = Home(tmp_path / "home", CONFIG.format(script=script, source=Path(tocsin.__file__).parents[1]))
    try:
        home.up()
        assert home.engine is not None
        (tmp_path / "engine").write_text(str(home.engine.pid))
        home.json("fire", "steps", "--no-wait")
        home.engine.wait(30)
        home.up()
        until(lambda: home.states() == {"succeeded": 1}, "the retry went through")
        assert (tmp_path / "done").read_text().split() == done
        assert sorted(run["state"] for run in home.json("runs")) == ["lost", "succeeded"]
        assert home.interrupt() == 0
    finally:
        home.end()
