"""What is on the move when the process dies: it is neither lost nor told twice, whatever `start` says."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.sources.rig import Rig
from tocsin.clock import SystemClock

SLOW: Any = {"debounce_ms": 0, "settle_ms": 400}


async def noticed(rig: Rig, path: Path) -> None:
    """The path is written down as moving."""
    await rig.signal.until(lambda: os.fsencode(path) in rig.bookmarks.moving.get("ins_t", {}))


@pytest.mark.parametrize("start", ["new-since-stop", "ignore"])
async def test_a_file_that_was_settling_fires_once_after_a_restart(rig: Rig, w: Path, start: str) -> None:
    await rig.start(w, start=start, **SLOW)
    (w / "a.txt").write_text("x")
    await noticed(rig, w / "a.txt")
    await rig.stop()
    for _ in range(2):
        await rig.start(w, start=start, **SLOW)
        assert await rig.quiet(w) == [("created", "a.txt")]
        await rig.stop()
    await rig.start(w, start=start, **SLOW)
    assert rig.bookmarks.moving["ins_t"] == {}


async def test_what_was_never_noticed_stays_ignored(rig: Rig, w: Path) -> None:
    await rig.start(w, start="ignore", **SLOW)
    (w / "a.txt").write_text("x")
    await noticed(rig, w / "a.txt")
    await rig.stop()
    (w / "b.txt").write_text("x")
    await rig.start(w, start="ignore", **SLOW)
    assert await rig.quiet(w) == [("created", "a.txt")]


async def test_one_that_was_replaced_meanwhile_fires_in_its_last_state(rig: Rig, w: Path) -> None:
    await rig.start(w, start="ignore", **SLOW)
    (w / "a.txt").write_text("x")
    await noticed(rig, w / "a.txt")
    await rig.stop()
    (w / "other").write_text("longer")
    (w / "other").rename(w / "a.txt")
    await rig.start(w, start="ignore", **SLOW)
    assert await rig.quiet(w) == [("created", "a.txt")]
    assert rig.made()[0]["size"] == 6


async def test_one_that_is_gone_meanwhile_is_forgotten(rig: Rig, w: Path) -> None:
    await rig.start(w, start="ignore", **SLOW)
    (w / "a.txt").write_text("x")
    await noticed(rig, w / "a.txt")
    await rig.stop()
    (w / "a.txt").unlink()
    await rig.start(w, start="ignore", **SLOW)
    assert await rig.quiet(w) == []
    await rig.signal.until(lambda: rig.bookmarks.moving["ins_t"] == {})


async def test_the_wait_for_a_file_that_never_rests_goes_on(rig: Rig, w: Path) -> None:
    """It had moved for longer than `max_wait` when the engine died: only the quiet time is left."""
    (w / "log.txt").write_text("x")
    await rig.start(w, max_wait_ms=60_000, **SLOW)
    (w / "log.txt").write_text("xx")
    await noticed(rig, w / "log.txt")
    await rig.stop()
    rig.bookmarks.moving["ins_t"][os.fsencode(w / "log.txt")] = SystemClock().now() - timedelta(hours=1)
    source = await rig.start(w, max_wait_ms=60_000, **SLOW)
    moving = source._watcher.settling.since()
    assert source._clock.monotonic() - moving[os.fsencode(w / "log.txt")] > 59


async def test_a_burst_is_written_down_in_few_commits(rig: Rig, w: Path) -> None:
    await rig.start(w, **SLOW)
    noted = rig.bookmarks.notes
    for number in range(300):
        (w / f"{number}.txt").write_text("x")
    await rig.events(300)
    assert rig.bookmarks.notes - noted < 10
