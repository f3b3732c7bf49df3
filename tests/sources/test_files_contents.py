"""`compare = "content"`: another state of equal bytes is no change."""

from __future__ import annotations

import os
from pathlib import Path

from tests.sources.rig import Rig, save_atomically


async def test_only_other_bytes_fire(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("one")
    await rig.start(w, compare="content")
    os.utime(w / "a.txt")
    assert await rig.quiet(w) == []
    (w / "a.txt").write_text("one")
    save_atomically(w / "a.txt", "one", "a.txt.tmp")
    assert await rig.quiet(w) == []
    (w / "a.txt").write_text("two")
    assert await rig.quiet(w) == [("modified", "a.txt")]
    os.utime(w / "a.txt")
    assert await rig.quiet(w) == [("modified", "a.txt")]


async def test_it_is_remembered_across_a_stop(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("one")
    await rig.start(w, compare="content")
    await rig.stop()
    os.utime(w / "a.txt")
    (w / "b.txt").write_text("new")
    await rig.start(w, compare="content")
    assert await rig.quiet(w) == [("created", "b.txt")]


async def test_generations_rise_only_with_what_is_told(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("one")
    await rig.start(w, compare="content")
    os.utime(w / "a.txt")
    await rig.quiet(w)
    (w / "a.txt").write_text("two")
    await rig.quiet(w)
    mark = next(mark for mark in rig.marks() if mark.path == os.fsencode(w / "a.txt"))
    assert mark.generation == 2


async def test_a_file_that_comes_back_fires_whatever_it_holds(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("one")
    await rig.start(w, compare="content", on=["created", "modified", "deleted"])
    (w / "a.txt").unlink()
    await rig.events(1)
    (w / "a.txt").write_text("one")
    assert await rig.events(2) == [("deleted", "a.txt"), ("created", "a.txt")]


async def test_a_moved_file_is_told_as_moved(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("one")
    await rig.start(w, compare="content")
    (w / "a.txt").rename(w / "b.txt")
    assert await rig.events(1) == [("moved", "b.txt")]
    os.utime(w / "b.txt")
    assert await rig.quiet(w) == [("moved", "b.txt")]
