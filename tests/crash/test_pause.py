"""Pauses and panic with real processes: nothing missed, nothing running, nothing lost."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.rig import Home, until
from tests.crash.test_cancel import living

CONFIG = """
[engine]
shutdown_grace = "200ms"
[workflows.quick]
command = ["true"]
[workflows.sleep]
command = ["sleep", "1000"]

[triggers.tick]
workflow = "quick"
every = "1s"
[triggers.inbox]
workflow = "quick"
files = { path = "inbox", debounce = "50ms", settle = "100ms", start = "ignore" }
[triggers.hook]
workflow = "quick"
webhook = {}
[triggers.sleep]
workflow = "sleep"
manual = true
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home", CONFIG)
    (home.path / "inbox").mkdir()
    yield home
    home.end()
    for process in living(home):
        process.kill()


def events(home: Home, name: str) -> list[dict[str, Any]]:
    """Oldest first."""
    found: list[dict[str, Any]] = home.json("events", name)
    return found[::-1]


def post(home: Home) -> tuple[int, str]:
    """(status, error) of a delivery."""
    request = urllib.request.Request(home.tocsin("url", "hook").stdout.strip(), data=b"{}", method="POST")
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, ""
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())["error"]


def test_a_pause_misses_nothing_and_folders_are_looked_through_once(home: Home) -> None:
    home.up()
    until(lambda: len(events(home, "tick")) >= 2, "it ticks")
    assert home.tocsin("pause", "--all").returncode == 0
    before = len(events(home, "tick"))
    (home.path / "inbox" / "a.txt").write_text("a")
    assert post(home) == (503, "paused")
    planned = home.json("show", "tick")
    assert (planned["status"], planned["next_fire_at"]) == ("paused", None)

    assert home.tocsin("resume", "--all").returncode == 0
    until(lambda: len(events(home, "tick")) > before + 1, "it ticks again")
    until(lambda: len(events(home, "inbox")) == 1, "the file is found")
    assert post(home)[0] == 202
    found = events(home, "tick")
    assert [event["reason"] for event in found if event["state"] == "skipped"] == ["paused"]
    assert {event["origin"] for event in found} == {"live"}
    assert sum(event["missed"] for event in found if event["state"] != "skipped") == 0
    assert home.interrupt() == 0


def test_a_pause_ends_by_itself(home: Home) -> None:
    home.up()
    home.tocsin("pause", "tick", "--for", "2s")
    until(lambda: home.json("show", "tick")["status"] == "active", "the pause is over")
    before = len(events(home, "tick"))
    until(lambda: len(events(home, "tick")) > before, "it ticks again")
    assert home.interrupt() == 0


def test_panic_stops_what_runs_and_resume_brings_back_what_waits(home: Home) -> None:
    home.up()
    runs, waits = (home.json("fire", "sleep", "--no-wait")["event_id"] for _ in range(2))
    until(lambda: len(living(home)) >= 1, "it runs")
    assert home.json("panic") == {"paused": 4, "stopping": [runs]}
    assert living(home) == []
    assert [event["state"] for event in events(home, "sleep")] == ["dropped", "held"]

    assert home.tocsin("resume", "--all").returncode == 0
    until(lambda: home.json("event", waits)["state"] == "claimed", "the next one runs")
    assert home.interrupt() == 0


def test_panic_stops_what_a_dead_engine_has_left_running(home: Home) -> None:
    home.up()
    id_ = home.json("fire", "sleep", "--no-wait")["event_id"]
    until(lambda: len(living(home)) >= 1, "it runs")
    home.kill()
    done = home.tocsin("panic")
    assert (done.returncode, done.stdout) == (0, f"paused 4 triggers\nstopped {id_} of sleep\n"), done.stderr
    assert living(home) == []
    assert [run["state"] for run in home.json("event", id_)["runs"]] == ["lost"]
