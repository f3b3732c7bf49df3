"""An engine that hangs (stopped by a signal): nobody waits in silence, and a panic takes hold."""

from __future__ import annotations

import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.crash.rig import Home, until
from tests.crash.test_cancel import living

CONFIG = """
[engine]
shutdown_grace = "100ms"
[workflows.sleep]
command = ["sleep", "300"]
[triggers.sleep]
workflow = "sleep"
manual = true
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """With an engine that runs something and hangs."""
    home = Home(tmp_path / "home", CONFIG)
    home.up()
    home.json("fire", "sleep", "--no-wait")
    until(lambda: len(living(home)) == 1, "it runs")
    assert home.engine is not None
    home.engine.send_signal(signal.SIGSTOP)
    yield home
    home.end()
    for process in living(home):
        process.kill()


def test_a_panic_is_written_down_and_says_how_to_go_on(home: Home) -> None:
    assert home.engine is not None
    began = time.monotonic()
    done = home.tocsin("panic")
    assert time.monotonic() - began < 30
    assert (done.returncode, done.stdout) == (5, "paused 1 trigger\n"), done.stderr
    assert done.stderr.startswith("pausing every trigger and stopping every run\n")
    assert f"`kill -9 {home.engine.pid}` and then `tocsin panic` stop what runs" in done.stderr
    assert home.json("show", "sleep")["status"] == "paused"
    again = home.json("panic")
    [event] = home.json("events")
    assert again == {"paused": 1, "stopping": [event["id"]]}

    home.kill()
    done = home.tocsin("panic")
    assert (done.returncode, living(home)) == (0, []), done.stderr
    assert [one["reason"] for one in home.json("events")] == ["panic"]


def test_a_panic_beside_an_engine_that_hangs_while_it_writes_says_that_nothing_is_done(home: Home) -> None:
    assert home.engine is not None
    with closing(sqlite3.connect(home.path / "tocsin.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        done = home.tocsin("panic")
    assert (done.returncode, done.stdout) == (5, ""), done.stderr
    assert "nothing is paused or stopped" in done.stderr
    assert f"`kill -9 {home.engine.pid}`, then `tocsin panic` again" in done.stderr


def test_an_engine_that_comes_back_stops_what_the_panic_asked_for(home: Home) -> None:
    assert home.engine is not None
    assert home.tocsin("panic").returncode == 5
    home.engine.send_signal(signal.SIGCONT)
    until(lambda: living(home) == [], "it is stopped")
    until(lambda: home.states() == {"dropped": 1}, "it is dropped")


def test_a_fire_gives_up_in_time(home: Home) -> None:
    done = home.tocsin("fire", "sleep", "--timeout", "4s")
    assert (done.returncode, done.stdout) == (7, "")
    assert home.engine is not None
    pid = home.engine.pid
    first, *_ = done.stderr.splitlines()
    assert first == f"waiting for the engine (process {pid})…"
    assert "it may still record the event: `tocsin events sleep`" in done.stderr
    assert f"the engine (process {pid}) has not answered within 4s" in done.stderr


def test_down_names_what_ends_it(home: Home) -> None:
    assert home.engine is not None
    done = home.tocsin("down")
    assert done.returncode == 7
    assert f"(process {home.engine.pid}) has not answered within 10s" in done.stderr
    assert f"`kill -9 {home.engine.pid}` ends it, and what it runs" in done.stderr
