"""Scopes with a real engine: who is idle, since when, and for how long."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.rig import DEADLINE_S, Home, until

CONFIG = """
[workflows.quick]
command = ["true"]
[triggers.there]
workflow = "quick"
webhook = {}
[triggers.here]
workflow = "quick"
webhook = {}
scope = "desktop"
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home", CONFIG)
    yield home
    home.end()


def post(home: Home, name: str) -> int:
    address = home.tocsin("url", name).stdout.strip()
    path = address[address.index("/api/") :]
    request = urllib.request.Request(home.url() + path, data=b"{}", method="POST")
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as response:
        return int(response.status)


def statuses(home: Home) -> dict[str, str]:
    return {row["name"]: row["status"] for row in home.json("list")}


def test_what_is_posted_to_an_idle_one_is_recorded_and_runs_when_it_is_served(home: Home) -> None:
    home.up("--serves", "cloud")
    assert post(home, "here") == 202
    assert home.states() == {"pending": 1}
    home.interrupt()
    home.up()
    until(lambda: home.states() == {"succeeded": 1}, "it runs")


def test_an_engine_that_runs_until_idle_does_not_wait_for_what_it_does_not_serve(home: Home) -> None:
    home.up("--serves", "cloud")
    assert post(home, "here") == 202
    home.interrupt()
    assert home.tocsin("up", "--port", "0", "--until-idle", "--serves", "cloud").returncode == 0
    assert home.states() == {"pending": 1}


def test_list_and_status_say_what_is_not_served(home: Home) -> None:
    home.up("--serves", "cloud")
    assert "idle (desktop not served)" in home.tocsin("list").stdout
    assert home.json("status")["registrations"]["idle"] == 1
    assert "1 idle" in home.tocsin("status").stdout


def test_nobody_is_idle_where_no_engine_is_up(home: Home) -> None:
    home.up("--serves", "cloud")
    assert statuses(home) == {"here": "idle", "there": "active"}
    home.interrupt()
    assert statuses(home) == {"here": "active", "there": "active"}
    fired = home.tocsin("fire", "here")
    assert fired.returncode == 0, fired.stderr


def test_a_fire_without_an_engine_serves_all_also_after_a_crash(home: Home) -> None:
    home.up("--serves", "cloud")
    home.kill()
    assert home.tocsin("fire", "here").returncode == 0
    assert home.states() == {"succeeded": 1}


def test_other_scopes_in_the_file_take_effect_at_the_next_start_and_it_is_said(home: Home) -> None:
    home.up()
    config = home.path / "tocsin.toml"
    config.write_text('[engine]\nserves = ["cloud"]\n' + CONFIG, "utf-8")
    log = home.path / "up.log"
    until(lambda: "serves" in log.read_text("utf-8"), "the log tells of it")
    assert statuses(home)["here"] == "active"
    home.interrupt()
    home.up()
    assert statuses(home)["here"] == "idle"


def test_a_scope_that_is_none_is_named(home: Home) -> None:
    done = home.tocsin("up", "--serves", "desk")
    assert done.returncode == 2
    assert "desktop" in done.stderr


def test_nothing_is_foretold_of_an_idle_one(home: Home) -> None:
    config = home.path / "tocsin.toml"
    hourly = '[triggers.hourly]\nworkflow = "quick"\nevery = "1h"\nscope = "desktop"\n'
    config.write_text(CONFIG + hourly, "utf-8")
    home.up("--serves", "cloud")
    assert home.json("next") == []
    assert home.json("simulate", "--for", "1d") == []
    assert home.json("show", "hourly")["next_fire_at"] is None
    assert "hourly is idle: its scope is desktop" in home.tocsin("next", "hourly").stderr
