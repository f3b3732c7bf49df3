"""A real engine whose clock jumps: the wall clock of its process is moved under it by libfaketime."""

from __future__ import annotations

import shutil
import signal
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.crash.rig import Home, until
from tocsin.clock import SystemClock

CONFIG = """
[engine]
tz = "UTC"
[workflows.note]
command = ["sh", "-c", "echo $TOCSIN_PLANNED_AT >> {ran}"]
[triggers.later]
workflow = "note"
cron = "{minute} {hour} * * *"
[triggers.often]
workflow = "note"
every = "15m"
enabled = {often}
"""


class Moved(Home):
    """A home whose engine lives by a clock of its own."""

    def __init__(self, path: Path, config: str) -> None:
        super().__init__(path, config)
        self.offset = path / "offset"
        self.move("+0h")

    def move(self, offset: str) -> None:
        """Set the engine's clock: so far from the machine's."""
        fresh = self.offset.with_suffix(".new")
        fresh.write_text(f"{offset}\n", "utf-8")
        fresh.replace(self.offset)

    def environ(self) -> dict[str, str]:
        """With the library that moves the wall clock and leaves the others alone."""
        return {
            **super().environ(),
            "LD_PRELOAD": preload(),
            "FAKETIME_TIMESTAMP_FILE": str(self.offset),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }


def preload() -> str:
    """The library's place, as its own wrapper knows it."""
    asked = ["faketime", "-m", "-f", "+0h", "printenv", "LD_PRELOAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def config(path: Path, planned: datetime, *, often: bool = False) -> str:
    return CONFIG.format(ran=path / "ran", minute=planned.minute, hour=planned.hour, often=str(often).lower())


def in_hours(hours: float) -> datetime:
    return (SystemClock().now() + timedelta(hours=hours)).replace(second=0, microsecond=0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    if shutil.which("faketime") is None:
        pytest.skip("faketime is not installed")
    return tmp_path / "home"


def ended(home: Home) -> list[dict[str, Any]]:
    return [event for event in home.json("events") if event["state"] == "succeeded"]


def test_eight_hours_that_jump_over_a_job_are_one_run_that_says_how_late(path: Path) -> None:
    """CR-39."""
    planned = in_hours(4)
    home = Moved(path, config(path, planned))
    home.up()
    try:
        home.move("+8h")
        until(lambda: len(ended(home)) == 1, "the run that was jumped over")
        [event] = home.json("events")
        at = planned.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert (event["origin"], event["missed"], event["planned_at"]) == ("catch_up", 0, at)
        late = datetime.fromisoformat(event["created_at"]) - planned
        assert timedelta(hours=3.9) < late < timedelta(hours=4.1)
        assert (path / "ran").read_text() == at + "\n"
        following = home.json("show", "later")["next_fire_at"]
        assert following == (planned + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
        [gap] = [gap for gap in home.json("gaps") if gap["cause"] == "clock"]
        assert abs(gap["seconds"] - 8 * 3600) < 60
        assert gap["cost"] == [{"registration": "later", "planned": 1, "events": 1, "skipped": 0}]
        assert home.interrupt() == 0
    finally:
        home.end()


def test_a_clock_set_back_two_hours_doubles_nothing(path: Path) -> None:
    home = Moved(path, config(path, in_hours(12), often=True))
    home.move("+3h")
    home.up()
    try:
        home.move("+4h")  # four slots of fifteen minutes pass: one event
        until(lambda: len(ended(home)) == 1, "the slots that were jumped over")
        home.move("+2h")
        until(lambda: any(gap["seconds"] < 0 for gap in home.json("gaps")), "the clock is known to be back")
        planned = home.json("show", "often")["next_fire_at"]
        ahead = datetime.fromisoformat(planned) - (SystemClock().now() + timedelta(hours=2))
        assert timedelta(0) < ahead <= timedelta(minutes=15)
        home.move("+4h1m")  # the same slots pass once more
        until(lambda: len(home.json("gaps")) >= 3, "the clock is known to be on again")
        assert len({event["planned_at"] for event in home.json("events")}) == len(home.json("events"))
        assert home.interrupt() == 0
    finally:
        home.end()


def test_an_engine_that_stood_still_over_a_due_second_runs_once(tmp_path: Path) -> None:
    """SIGSTOP: the machine runs, the engine does not."""
    path = tmp_path / "home"
    home = Home(path, config(path, in_hours(12)).replace('every = "15m"\nenabled = false', 'every = "2s"'))
    home.up()
    try:
        assert home.engine is not None
        until(lambda: len(ended(home)) >= 1, "the schedule ticks")
        home.engine.send_signal(signal.SIGSTOP)
        before = SystemClock().now()
        until(lambda: SystemClock().now() - before > timedelta(seconds=8), "four slots pass")
        home.engine.send_signal(signal.SIGCONT)
        until(lambda: any(gap["cause"] == "stopped" for gap in home.json("gaps")), "the gap is known")
        [gap] = [gap for gap in home.json("gaps") if gap["cause"] == "stopped"]
        [cost] = gap["cost"]
        assert (cost["registration"], cost["events"]) == ("often", 1)
        assert cost["planned"] >= 3
        assert home.interrupt() == 0
        events = home.json("events", "--limit", "100")
        assert len({event["planned_at"] for event in events}) == len(events)
        ran = (path / "ran").read_text().split()
        assert len(ran) == len(set(ran))
    finally:
        home.end()
