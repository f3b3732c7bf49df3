"""Folders: a burst while the engine is busy, a large tree at rest, a large file copied slowly.

`python -m tests.bench.folders [burst] [tree] [copy]` prints what it took. Figures of one machine and
one minute. Nothing is asserted.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psutil

from tests.crash.rig import Home, until
from tocsin.clock import SystemClock

BURST = 10_000
TREE = 100_000
WATCHED_S = 30
COPIED = 2 * 1024**3
BLOCK = bytes(4 * 1024**2)

BUSY = """
[workflows.quick]
command = ["true"]
[triggers.tree]
workflow = "quick"
files = { path = "tree", recursive = true }
max_runs_per_hour = 1
"""
TICK = """
[triggers.tick]
workflow = "quick"
every = "1s"
"""


def home_in(folder: str, config: str = BUSY) -> Home:
    home = Home(Path(folder) / "home", config)
    (home.path / "tree").mkdir()
    return home


def told(home: Home, sql: str) -> int:
    with closing(sqlite3.connect(home.path / "tocsin.db")) as connection:
        return int(connection.execute(sql).fetchone()[0])


def process(home: Home) -> psutil.Process:
    assert home.engine is not None
    return psutil.Process(home.engine.pid)


def cpu(home: Home) -> float:
    spent = process(home).cpu_times()
    return float(spent.user + spent.system)


def memory(home: Home) -> float:
    return float(process(home).memory_info().rss) / 1024**2


def burst() -> str:
    """Files made in a deep tree as fast as it goes, beside a schedule; at one run an hour most only wait."""
    with tempfile.TemporaryDirectory() as folder:
        home = home_in(folder, BUSY + TICK)
        home.up()
        before, began = cpu(home), time.perf_counter()
        for number in range(BURST):
            deep = home.path / "tree" / str(number % 100) / str(number % 7) / "deep"
            deep.mkdir(parents=True, exist_ok=True)
            (deep / f"f{number}").write_text("x")
        made = time.perf_counter() - began
        count = "SELECT count(*) FROM events WHERE kind = 'file'"
        until(lambda: told(home, count) >= BURST, "all are events")
        took, spent, rss = time.perf_counter() - began, cpu(home) - before, memory(home)
        events = told(home, count)
        different = told(home, "SELECT count(DISTINCT delivery_id) FROM events WHERE kind = 'file'")
        home.end()
    counted = f"{events} events ({different} different) after {took:.1f} s"
    return f"burst of {BURST}: made in {made:.1f} s, {counted}, CPU {spent:.1f} s, {rss:.0f} MiB"


def tree() -> str:
    """Start on a tree that is there, then nothing happens."""
    with tempfile.TemporaryDirectory() as folder:
        home = home_in(folder)
        for number in range(TREE // 100):
            deep = home.path / "tree" / str(number // 50) / str(number)
            deep.mkdir(parents=True)
            for name in range(100):
                (deep / str(name)).touch()
        starts = [started(home) for _ in range(2)]
        before = cpu(home)
        threading.Event().wait(WATCHED_S)
        idle, rss = (cpu(home) - before) / WATCHED_S, memory(home)
        home.end()
    return (
        f"tree of {TREE}: first start {starts[0]:.1f} s, later start {starts[1]:.1f} s, {rss:.0f} MiB, "
        f"idle {idle:.2%} of a core"
    )


def started(home: Home) -> float:
    """Seconds until the engine watches the whole tree."""
    home.end()
    began = time.perf_counter()
    home.up()
    until(lambda: told(home, "SELECT count(*) FROM files WHERE state = 'known'") >= TREE, "all is known")
    return time.perf_counter() - began


def copy() -> str:
    """A large file that grows for some seconds."""
    with tempfile.TemporaryDirectory() as folder:
        home = home_in(folder)
        home.up()
        with (home.path / "tree/film").open("wb") as file:
            for number in range(COPIED // len(BLOCK)):
                file.write(BLOCK)
                if number % 64 == 63:
                    threading.Event().wait(0.5)
        ended = SystemClock().now().timestamp()
        until(lambda: told(home, "SELECT count(*) FROM events WHERE kind = 'file'") >= 1, "it is an event")
        late = told(home, "SELECT min(created_at) FROM events WHERE kind = 'file'") / 1e6 - ended
        threading.Event().wait(3)
        events = told(home, "SELECT count(*) FROM events WHERE kind = 'file'")
        home.end()
    return f"{COPIED // 1024**3} GiB copied slowly: {events} event, {late:.2f} s after the last write"


BENCHES: dict[str, Callable[[], str]] = {"burst": burst, "tree": tree, "copy": copy}


def main() -> None:
    """Print a line for each."""
    for name in sys.argv[1:] or list(BENCHES):
        sys.stdout.write(BENCHES[name]() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
