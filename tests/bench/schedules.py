"""Schedules: what a look at the clock costs as triggers grow in number, and how late a run starts.

`python -m tests.bench.schedules` prints a table. Figures of one machine and one minute: only ratios
between rows of one run mean something. Nothing is asserted.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path

from tests.crash.rig import Home
from tests.engine.rig import Rig, open_rig, scheduled
from tocsin.trigger import Cron

LOOKS = 300
MANY = 100_000
FEW = 100
RUNS = 200

NEVER_NOW = Cron(expr="0 0 1 1 *", tz="UTC")  # due once a year

TICKING = """
[workflows.stamp]
command = ["date", "+%s.%N"]
[triggers.tick]
workflow = "stamp"
every = "1s"
overlap = "allow"
"""


async def timed(act: Callable[[], Awaitable[object]]) -> list[float]:
    """Seconds of each of many calls."""
    found = []
    for _ in range(LOOKS):
        began = time.perf_counter()
        await act()
        found.append(time.perf_counter() - began)
    return found


async def look(count: int) -> list[float]:
    """A look with nothing due, beside so many schedules."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_rig(Path(folder)) as rig:
            await populate(rig, count)
            await rig.tick()
            return await timed(rig.tick)


async def fire(count: int) -> list[float]:
    """The look that fires one due schedule among so many."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_rig(Path(folder)) as rig:
            await populate(rig, count)
            await rig.add(scheduled("due"))
            await rig.tick()
            found = []
            for _ in range(LOOKS):
                rig.clock.advance(60)
                began = time.perf_counter()
                await rig.tick()
                found.append(time.perf_counter() - began)
            return found


async def populate(rig: Rig, count: int) -> None:
    for first in range(0, count, 5000):
        await rig.add_all([scheduled(f"t{n}", NEVER_NOW) for n in range(first, min(first + 5000, count))])


def lateness() -> list[float]:
    """Seconds from a planned second to the first word of its command, on a real engine."""
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home", TICKING)
        home.up()
        try:
            threading.Event().wait(RUNS + 2)  # nobody asks meanwhile: the machine is idle but for this
            return [started(home, event) for event in finished(home)]
        finally:
            home.end()


def finished(home: Home) -> list[dict[str, str]]:
    found: list[dict[str, str]] = home.json("events", "--state", "succeeded", "--limit", "1000")
    return found


def started(home: Home, event: dict[str, str]) -> float:
    log = home.tocsin("logs", event["run_id"]).stdout
    return float(log.strip()) - datetime.fromisoformat(event["planned_at"]).timestamp()


def row(what: str, seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    middle, late = statistics.median(ordered), ordered[int(len(ordered) * 0.99) - 1]
    return f"{what:<52} p50 {middle * 1000:8.3f} ms   p99 {late * 1000:8.3f} ms   n {len(ordered)}"


def main() -> None:
    """Print the table."""
    rows = {}
    for name, bench in (("look, nothing due", look), ("look that fires one", fire)):
        for count in (FEW, MANY):
            rows[name, count] = asyncio.run(bench(count))
            sys.stdout.write(row(f"{name}, {count} schedules", rows[name, count]) + "\n")
        ratio = statistics.median(rows[name, MANY]) / statistics.median(rows[name, FEW])
        sys.stdout.write(f"{'':<52} {MANY} against {FEW}: {ratio:.2f}\n")
    sys.stdout.write(row("planned second to the command's first word", lateness()) + "\n")


if __name__ == "__main__":
    main()
