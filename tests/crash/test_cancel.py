"""A person's cancel, with real processes: nothing of the run is left, whoever has to see to it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.crash.rig import Home, until

CONFIG = """
[engine]
max_concurrent_runs = 1

[workflows.sleep]
command = ["sleep", "300"]

[workflows.family]
shell = "setsid sleep 300 & sleep 300 & sleep 300"

[workflows.deaf]
shell = "trap '' TERM; sleep 300 & while :; do wait; done"
kill_grace = "300ms"

[workflows.stubborn]
shell = "trap '' TERM; while :; do sleep 300; done"
kill_grace = "5m"

[workflows.alarm]
command = ["true"]

[triggers.sleep]
workflow = "sleep"
manual = true
[triggers.family]
workflow = "family"
manual = true
[triggers.stubborn]
workflow = "stubborn"
manual = true
[triggers.deaf]
workflow = "deaf"
manual = true
[triggers.alarm]
workflow = "alarm"
after = { workflow = "sleep", on = "any" }
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home", CONFIG)
    yield home
    home.end()
    for process in living(home):
        process.kill()


def living(home: Home) -> list[psutil.Process]:
    """What runs with this home in its environment, but for the engine."""
    engine = None if home.engine is None else home.engine.pid
    return [process for process in psutil.process_iter() if process.pid != engine and is_run(process, home)]


def is_run(process: psutil.Process, home: Home) -> bool:
    try:
        found = process.environ()
        is_alive = process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
    return is_alive and "TOCSIN_RUN_ID" in found and found.get("TOCSIN_HOME") == str(home.path)


def running(home: Home, trigger: str, *, processes: int) -> str:
    """Fire it and wait until so many processes of it are there; the event's id."""
    id_ = str(home.json("fire", trigger, "--no-wait")["event_id"])
    until(lambda: len(living(home)) == processes, f"{processes} processes of {trigger}")
    return id_


@pytest.mark.parametrize(
    ("trigger", "processes", "end"),
    [("sleep", 1, "SIGTERM"), ("family", 4, "SIGTERM"), ("deaf", 2, "SIGKILL")],
)
def test_a_run_that_is_cancelled_leaves_no_process(
    home: Home, trigger: str, processes: int, end: str
) -> None:
    home.up()
    id_ = running(home, trigger, processes=processes)
    done = home.tocsin("cancel", id_)
    assert (done.returncode, done.stdout) == (0, f"cancelled {id_}\n"), done.stderr
    assert living(home) == []
    event = home.json("event", id_)
    assert (event["state"], event["reason"]) == ("dropped", "cancelled")
    assert [(run["state"], run["signal"]) for run in event["runs"]] == [("cancelled", end)]
    assert home.json("show", trigger)["consecutive_failures"] == 0
    assert home.json("events", "alarm") == []
    assert home.interrupt() == 0


def test_what_runs_is_replaced_by_what_waits(home: Home) -> None:
    home.up()
    first = running(home, "sleep", processes=1)
    second = str(home.json("fire", "deaf", "--no-wait")["event_id"])
    assert home.json("event", second)["state"] == "pending", "there is one seat"
    assert home.tocsin("cancel", first).returncode == 0
    until(lambda: home.json("event", second)["state"] == "claimed", "the next one has the seat")
    assert home.tocsin("cancel", second).returncode == 0
    assert living(home) == []


def test_a_cancel_after_the_engine_died_is_kept_for_the_next_one(home: Home) -> None:
    home.up()
    id_ = running(home, "sleep", processes=1)
    home.kill()
    done = home.tocsin("cancel", id_)
    assert (done.returncode, done.stdout) == (5, ""), done.stderr
    assert "the engine that ran it is gone; `tocsin up`" in done.stderr
    assert home.json("event", id_)["state"] == "claimed"

    home.up()
    event = home.json("event", id_)
    assert (event["state"], event["reason"], event["attempts"]) == ("dropped", "cancelled", 1)
    assert [run["state"] for run in event["runs"]] == ["lost"]
    assert living(home) == []
    assert home.interrupt() == 0


def test_a_person_who_does_not_wait_for_it_leaves_it_to_the_engine(home: Home) -> None:
    home.up()
    id_ = running(home, "stubborn", processes=2)
    command, pipe = home.command("cancel", id_), subprocess.PIPE
    with subprocess.Popen(command, env=home.environ(), stderr=pipe, text=True) as cancel:
        assert cancel.stderr is not None
        assert cancel.stderr.readline() == f"stopping {id_}\n"
        cancel.send_signal(signal.SIGINT)
        assert "it is being stopped all the same" in cancel.stderr.read()
    assert cancel.returncode == 130
    assert [step["what"] for step in home.json("event", id_)["trace"]][-1] == "cancel asked for"
