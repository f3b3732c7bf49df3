"""Folders with a real engine, real files and real commands."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import is_thorough
from tests.crash.rig import Home, until
from tests.crash.test_cancel import living

QUICK = 'debounce = "50ms", settle = "100ms"'
CONFIG = f"""
[engine]
shutdown_grace = "200ms"
[workflows.quick]
command = ["true"]
[workflows.append]
command = ["sh", "-c", 'echo x >> "$1"', "sh", "{{event.raw_payload.path}}"]
[workflows.next]
command = ["sh", "-c", 'touch "$0/$(($(basename "$1") + 1))"', "{{config.out}}", "{{event.raw_payload.path}}"]
[workflows.serve]
command = ["sleep", "1000"]
kill_grace = "1s"

[sources.shared]
files = {{ path = "shared", {QUICK} }}

[triggers.tree]
workflow = "quick"
files = {{ path = "tree", recursive = true, {QUICK} }}
[triggers.slow]
workflow = "quick"
files = {{ path = "slow", debounce = "500ms", settle = "500ms", start = "ignore" }}
[triggers.append]
workflow = "append"
files = {{ path = "append", {QUICK} }}
[triggers.count-up]
workflow = "next"
config = {{ out = "numbers" }}
files = {{ path = "numbers", {QUICK} }}
[triggers.serve]
workflow = "serve"
overlap = "replace"
files = {{ path = "site", {QUICK} }}
[triggers.one]
workflow = "quick"
source = "shared"
[triggers.two]
workflow = "quick"
source = "shared"
"""
FOLDERS = ("tree", "slow", "append", "numbers", "site", "shared")
THREE = '[triggers.three]\nworkflow = "quick"\nsource = "shared"\n'


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    path = tmp_path / "home"
    home = Home(path, CONFIG.replace('"numbers" }', f'"{path}/numbers" }}'))
    for name in FOLDERS:
        (path / name).mkdir()
    yield home
    home.end()
    for process in living(home):
        process.kill()


def events(home: Home, name: str) -> list[dict[str, Any]]:
    """Oldest first."""
    found: list[dict[str, Any]] = home.json("events", name, "--limit", "30000")
    return found[::-1]


def settled(home: Home, name: str, count: int) -> list[dict[str, Any]]:
    """Wait for so many events that have ended; all there are."""
    ended = ("succeeded", "dropped", "failed")
    until(
        lambda: len([event for event in events(home, name) if event["state"] in ended]) >= count,
        f"{count} events of {name}",
    )
    return events(home, name)


def shown(home: Home, name: str) -> Any:
    return home.json("show", name)


def test_a_tree_made_at_once_is_told_file_by_file(home: Home) -> None:
    """`mkdir -p a/b/c && touch a/b/c/x`, two hundred times."""
    home.up()
    count = 200 if is_thorough() else 40
    for number in range(count):
        folder = home.path / "tree" / str(number) / "a/b/c"
        subprocess.run(["sh", "-c", f"mkdir -p {folder} && touch {folder}/x"], check=True)
    found = settled(home, "tree", count)
    assert Counter(Counter(event["delivery_id"] for event in found).values()) == {1: count}


def test_killed_while_a_file_settles_it_fires_once(home: Home) -> None:
    """Also with start = "ignore", which forgets what happened while nobody watched."""
    home.up()
    (home.path / "slow/a").write_text("x")
    until(lambda: unsettled(home) == 1, "the file is written down as moving")
    home.kill()
    home.up()
    settled(home, "slow", 1)
    home.interrupt()
    home.up()
    (home.path / "slow/b").write_text("x")
    assert len(settled(home, "slow", 2)) == 2


def unsettled(home: Home) -> int:
    with closing(sqlite3.connect(home.path / "tocsin.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM unsettled").fetchone()[0])


def test_a_slow_copy_fires_once_after_its_last_write(home: Home) -> None:
    home.up()
    pause, size = threading.Event(), 0
    with (home.path / "slow/film").open("wb") as file:
        for _ in range(15):
            size += file.write(os.urandom(100_000))
            file.flush()
            pause.wait(0.2)
    (event,) = settled(home, "slow", 1)
    payload = home.json("event", event["id"])["envelope"]["raw_payload"]
    assert (payload["event"], payload["size"]) == ("created", size)


@pytest.mark.parametrize(("name", "first"), [("append", "append/a.txt"), ("count-up", "numbers/0")])
def test_a_command_that_starts_itself_is_switched_off(home: Home, name: str, first: str) -> None:
    home.up()
    (home.path / first).write_text("x")
    until(lambda: not shown(home, name)["enabled"], f"{name} is switched off")
    assert shown(home, name)["disabled_reason"] == "loop"
    assert len(events(home, name)) == 6
    log = (home.path / "up.log").read_text("utf-8")
    assert f"{name}: turned off (loop): 5 runs in a row" in log
    assert str((home.path / first).parent) in log
    assert str((home.path / first).parent) in home.tocsin("show", name).stdout.replace("\n", "")


def test_what_restarts_on_change_runs_once_at_a_time(home: Home) -> None:
    home.up()
    for number in range(3):
        (home.path / "site/page").write_text("x" * (number + 1))
        until(lambda want=number + 1: running_since(home) == want, "the newest runs")  # type: ignore[misc]
    states = [event["state"] for event in events(home, "serve")]
    assert states == ["dropped", "dropped", "claimed"]
    assert len(living(home)) == 1


def running_since(home: Home) -> int:
    """How many events there are, if the last of them runs."""
    found = events(home, "serve")
    return len(found) if found and found[-1]["state"] == "claimed" and len(living(home)) == 1 else 0


def test_a_shared_source_feeds_each_by_its_own_state(home: Home) -> None:
    home.up()
    home.tocsin("pause", "one")
    home.tocsin("disable", "two")
    config = home.path / "tocsin.toml"
    config.write_text(config.read_text("utf-8") + THREE, "utf-8")
    until(lambda: "three" in {row["name"] for row in home.json("list")}, "the newcomer is there")
    (home.path / "shared/a").write_text("x")
    settled(home, "three", 1)
    assert [event["state"] for event in events(home, "one")] == ["held"]
    assert events(home, "two") == []
    home.tocsin("resume", "one")
    home.tocsin("enable", "two")
    settled(home, "one", 1)
    (home.path / "shared/b").write_text("x")
    for name, count in (("one", 2), ("two", 1), ("three", 2)):
        assert len(settled(home, name, count)) == count


def test_an_engine_that_serves_no_desktop_leaves_folders_alone(home: Home) -> None:
    home.up()
    home.interrupt()
    home.up("--serves", "cloud")
    assert shown(home, "tree")["status"] == "idle"
    assert "its scope is desktop" in home.tocsin("show", "tree").stdout
    fired = home.tocsin("fire", "tree")
    assert (fired.returncode, "is idle" in fired.stderr) == (6, True)
    (home.path / "tree/a").write_text("x")
    home.interrupt()
    home.up()
    assert shown(home, "tree")["status"] == "active"
    assert len(settled(home, "tree", 1)) == 1


@pytest.mark.skipif(not is_thorough(), reason="20,000 files: only in the thorough run")
def test_what_overflows_the_kernels_queue_is_found(home: Home) -> None:
    """20,000 files while the process is stopped: the queue holds 16,384 events."""
    home.up()
    assert home.engine is not None
    home.engine.send_signal(signal.SIGSTOP)
    for number in range(20_000):
        (home.path / "tree" / f"f{number}").touch()
    home.engine.send_signal(signal.SIGCONT)
    until(lambda: stored(home) == 20_000, "all are events")


def stored(home: Home) -> int:
    with closing(sqlite3.connect(home.path / "tocsin.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM events").fetchone()[0])
