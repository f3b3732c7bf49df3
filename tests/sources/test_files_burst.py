"""Many files at once: every one exactly once."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tests.sources.rig import Rig


async def fill(folder: Path, count: int) -> None:
    """Make so many empty files, as another program would."""
    script = f"seq -f f%05.0f {count} | xargs touch"
    process = await asyncio.create_subprocess_exec("sh", "-c", script, cwd=folder)
    assert await process.wait() == 0


@pytest.mark.case("FS-21")
async def test_a_burst_is_told_file_by_file_exactly_once(rig: Rig, w: Path) -> None:
    await rig.start(w)
    await fill(w, 2000)
    (w / "after").write_text("x")
    await rig.events(2001)
    assert set(Counter(made["path"] for made in rig.made()).values()) == {1}
    assert len(await rig.quiet(w)) == 2001


async def test_a_big_folder_is_remembered_whole_and_silently(rig: Rig, w: Path) -> None:
    await fill(w, 5000)
    await rig.start(w)
    assert await rig.quiet(w) == []
    assert len(rig.bookmarks.marks["ins_t"]) == 5000 + 2  # the sentinel, and the root's rules
