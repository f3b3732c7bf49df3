"""A claim ends with its run or its engine, never by the clock: stopped processes go on where they were."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.crash.rig import Home, until

STOPPED_S = 3.0  # some ticks (1 s), and longer than any pause between two looks

CONFIG = """
[workflows.work]
command = ["sh", "{here}/work.sh", "{here}"]

[workflows.poison]
command = ["sh", "-c", 'echo >>"$0/poisoned"; kill -9 $PPID', "{here}"]

[workflows.escape]
command = ["sh", "-c", 'setsid sh "$0/escape.sh" "$0" & while :; do sleep 300; done', "{here}"]

[triggers.job]
workflow = "work"
manual = true

[triggers.poison]
workflow = "poison"
manual = true

[triggers.escape]
workflow = "escape"
manual = true
max_attempts = 2
"""

WORK = """
echo $$ >>"$1/began"
while [ ! -e "$1/go" ]; do sleep 0.05; done
echo >>"$1/ended"
"""

# Twice away: a grandchild in a session of its own, and its child in yet another, all without the pipes.
ESCAPE = """
exec </dev/null >/dev/null 2>&1
setsid sh -c 'echo $$ >"$0/far.$TOCSIN_RUN_ID"; trap "" HUP; while :; do sleep 300; done' "$1" &
echo $$ >"$1/near.$TOCSIN_RUN_ID"
while :; do sleep 300; done
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    for name, text in (("work.sh", WORK), ("escape.sh", ESCAPE)):
        (tmp_path / name).write_text(text, "utf-8")
    home = Home(tmp_path / "home", CONFIG.format(here=tmp_path))
    yield home
    home.end()
    for pid in pids(tmp_path, "*.run_*") + pids(tmp_path, "began"):
        if psutil.pid_exists(pid):
            os.kill(pid, signal.SIGKILL)


def pids(here: Path, pattern: str) -> list[int]:
    texts = [path.read_text("utf-8") for path in sorted(here.glob(pattern))]
    return [int(line) for text in texts for line in text.split()]


def lines(path: Path) -> int:
    return path.read_text("utf-8").count("\n") if path.exists() else 0


def pause(seconds: float) -> None:
    """Time that has to pass, for it is the subject."""
    threading.Event().wait(seconds)


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("whom", ["engine", "run"])
def test_who_is_stopped_for_a_while_goes_on_and_nothing_is_lost(
    home: Home, tmp_path: Path, whom: str
) -> None:
    home.up()
    id_ = home.json("fire", "job", "--no-wait")["event_id"]
    until(lambda: lines(tmp_path / "began") == 1, "it runs")
    assert home.engine is not None
    (worker,) = pids(tmp_path, "began")
    stopped = home.engine.pid if whom == "engine" else worker
    os.kill(stopped, signal.SIGSTOP)
    pause(STOPPED_S)
    os.kill(stopped, signal.SIGCONT)
    until(lambda: home.json("event", id_)["state"] == "claimed", "the engine answers again")
    (tmp_path / "go").touch()
    until(lambda: lines(tmp_path / "ended") == 1, "it has ended")
    until(lambda: home.json("event", id_)["state"] == "succeeded", "well")
    event = home.json("event", id_)
    assert [run["state"] for run in event["runs"]] == ["succeeded"]
    assert (event["attempts"], lines(tmp_path / "began"), lines(tmp_path / "ended")) == (1, 1, 1)
    assert home.interrupt() == 0


def test_a_command_that_kills_its_engine_is_given_up_after_three_lives(home: Home, tmp_path: Path) -> None:
    """QU-04, with the real process; the fourth life is asked to do another job instead of waiting 30 s."""
    id_ = home.json("fire", "poison", "--no-wait")["event_id"]
    for life in range(3):
        assert home.tocsin("up", "--port", "0").returncode == -signal.SIGKILL, f"life {life}"
    (tmp_path / "go").touch()
    home.up()
    done = home.tocsin("fire", "job")
    assert done.returncode == 0, done.stderr
    event = home.json("event", id_)
    assert (event["state"], event["reason"], event["attempts"]) == ("failed", "attempts", 3)
    assert [run["state"] for run in event["runs"]] == ["lost"] * 3
    assert lines(tmp_path / "poisoned") == 3
    assert home.interrupt() == 0


def test_grandchildren_in_sessions_of_their_own_are_stopped_before_the_retry(
    home: Home, tmp_path: Path
) -> None:
    home.up()
    id_ = home.json("fire", "escape", "--no-wait")["event_id"]
    until(lambda: len(pids(tmp_path, "*.run_*")) == 2, "both are away")
    first = pids(tmp_path, "*.run_*")
    assert len({os.getsid(pid) for pid in first}) == 2, "each in its own session"
    home.kill()
    assert all(map(alive, first)), "they outlive their engine"

    home.up()
    until(lambda: len(pids(tmp_path, "*.run_*")) == 4, "the retry has begun")
    assert not any(map(alive, first)), "nothing is left of the first attempt"
    assert home.tocsin("cancel", id_).returncode == 0
    assert not any(map(alive, pids(tmp_path, "*.run_*")))
    assert home.interrupt() == 0
