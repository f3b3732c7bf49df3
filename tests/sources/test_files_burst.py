"""Many files at once: every one exactly once, and the loop stays free."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from pathlib import Path

from tests.sources.rig import Rig

LONGEST_BLOCK = 0.05  # seconds of the loop's own work in one go; measured 0.002 to 0.02


class BlockMeter:
    """How long the loop worked without looking up, at worst; waiting for a processor does not count."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._loop = asyncio.get_running_loop()
        self._before = time.thread_time()
        self._handle = self._loop.call_soon(self._beat)

    def stop(self) -> float:
        self._handle.cancel()
        return self.worst

    def _beat(self) -> None:
        now = time.thread_time()
        self.worst = max(self.worst, now - self._before)
        self._before = now
        self._handle = self._loop.call_later(0.002, self._beat)


async def fill(folder: Path, count: int) -> None:
    """Make so many empty files, as another program would."""
    script = f"seq -f f%05.0f {count} | xargs touch"
    process = await asyncio.create_subprocess_exec("sh", "-c", script, cwd=folder)
    assert await process.wait() == 0


async def test_a_burst_is_told_file_by_file_exactly_once(rig: Rig, w: Path) -> None:  # FS-21
    await rig.start(w)
    meter = BlockMeter()
    await fill(w, 2000)
    (w / "after").write_text("x")
    await rig.events(2001)
    worst = meter.stop()
    assert set(Counter(made["path"] for made in rig.made()).values()) == {1}
    assert len(await rig.quiet(w)) == 2001
    assert worst < LONGEST_BLOCK


async def test_a_big_folder_does_not_hold_up_the_loop(rig: Rig, w: Path) -> None:
    await fill(w, 5000)
    meter = BlockMeter()
    await rig.start(w)
    assert await rig.quiet(w) == []
    assert meter.stop() < LONGEST_BLOCK
    assert len(rig.bookmarks.marks["ins_t"]) == 5000 + 2  # the sentinel, and the root's rules
