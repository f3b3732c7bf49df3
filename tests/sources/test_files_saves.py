"""How programs write files: one event per finished state, on the final name."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from tests.sources.rig import Rig, save_atomically


async def writer(script: str, folder: Path) -> None:
    """Run a shell script that writes at its own pace, as another program would."""
    process = await asyncio.create_subprocess_exec("sh", "-c", script, cwd=folder)
    assert await process.wait() == 0


@pytest.mark.case("FS-01")
async def test_an_atomic_save_is_one_event_on_the_target(rig: Rig, w: Path) -> None:
    await rig.start(w, match=["*.tsx"])
    save_atomically(w / "app.tsx", "v1", "app.tsx.tmp")
    assert await rig.events(1) == [("created", "app.tsx")]
    assert rig.made()[0]["path"] == str(w / "app.tsx")
    assert rig.made()[0]["size"] == 2
    save_atomically(w / "app.tsx", "v22", "app.tsx.tmp")
    assert await rig.events(2) == [("created", "app.tsx"), ("modified", "app.tsx")]
    assert len(await rig.quiet(w, ".tsx")) == 2


async def test_a_date_beyond_what_a_column_holds_is_a_file_like_any_other(rig: Rig, w: Path) -> None:
    await rig.start(w)
    (w / "future").write_text("x")
    os.utime(w / "future", (10_413_792_000, 10_413_792_000))  # the year 2300
    (w / "now").write_text("x")
    assert sorted(await rig.quiet(w)) == [("created", "future"), ("created", "now")]
    assert max(mark.mtime_ns for mark in rig.marks()) < 1 << 63


async def test_an_atomic_save_through_any_name_is_one_modification(rig: Rig, w: Path) -> None:
    (w / "a.json").write_text("1")
    await rig.start(w, on=["created", "modified", "moved", "deleted"])
    save_atomically(w / "a.json", "22", "a.json.Xq3")
    assert await rig.quiet(w) == [("modified", "a.json")]


@pytest.mark.case("FS-03")
async def test_vims_way_of_saving_is_one_event_per_save(rig: Rig, w: Path) -> None:
    note = w / "c.md"
    note.write_text("0")
    await rig.start(w, match=["*.md"])
    for count in (1, 2, 3):
        (w / "4913").touch()
        (w / "4913").unlink()
        note.rename(w / "c.md~")
        note.write_text("x" * count)
        (w / "c.md~").unlink()
        await rig.events(count)
    assert await rig.quiet(w, ".md") == [("modified", "c.md")] * 3
    assert [made["size"] for made in rig.made()] == [1, 2, 3]


@pytest.mark.case("FS-03")
@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
async def test_the_real_vim(rig: Rig, w: Path) -> None:
    note = w / "c.md"
    note.write_text("0\n")
    await rig.start(w, settle_ms=500)
    for count in (1, 2):
        await writer("vim -Nu NONE -es -c 'set nobackup writebackup' -c 'normal ox' -c wq c.md", w)
        await rig.events(count)
    assert await rig.quiet(w) == [("modified", "c.md")] * 2


@pytest.mark.case("FS-05")
async def test_a_download_fires_when_it_is_complete(rig: Rig, w: Path) -> None:
    await rig.start(w, match=["*.zip"], settle_ms=500)
    part = "for i in 1 2 3 4 5 6 7 8; do head -c 65536 /dev/zero >> lib.zip.part; sleep 0.06; done"
    await writer(f": > lib.zip; {part}; mv lib.zip.part lib.zip", w)
    await rig.events(1)
    assert await rig.quiet(w, ".zip") == [("created", "lib.zip")]
    assert rig.made()[0]["size"] == 8 * 65536


@pytest.mark.case("FS-07")
async def test_patterns_are_anchored_case_sensitive_and_spare_hidden_names(rig: Rig, w: Path) -> None:
    await rig.start(w, match=["*.mkv"])
    for name in ("film.mkv.part", "film.mkv", "FILM.MKV", ".mkv"):
        (w / name).write_text("x")
    assert await rig.quiet(w, ".mkv") == [("created", "film.mkv")]


@pytest.mark.case("FS-09")
async def test_a_preallocated_file_settles_after_its_last_write(rig: Rig, w: Path) -> None:
    await rig.start(w, settle_ms=1000)
    fill = "dd if=/dev/urandom of=big bs=65536 count=1 seek=$i conv=notrunc 2>/dev/null; sleep 0.05"
    await writer(
        f"fallocate -l 1M big 2>/dev/null || truncate -s 1M big; for i in $(seq 0 15); do {fill}; done", w
    )
    await rig.events(1)
    assert await rig.quiet(w) == [("created", "big")]
    found = (w / "big").stat()
    (mark,) = [mark for mark in rig.bookmarks.marks["ins_t"].values() if mark.path == os.fsencode(w / "big")]
    assert (mark.size, mark.mtime_ns) == (1 << 20, found.st_mtime_ns)


@pytest.mark.case("FS-11")
async def test_a_burst_of_writes_ends_with_the_last_one(rig: Rig, w: Path) -> None:
    await rig.start(w, settle_ms=500)
    await writer("for i in 1 2 3 4; do echo $i > f; sleep 0.03; done; echo final > f", w)
    await rig.events(1)
    assert await rig.quiet(w) == [("created", "f")]
    assert rig.made()[0]["size"] == len("final\n")


async def test_a_file_that_never_rests_is_told_at_the_cap(rig: Rig, w: Path) -> None:
    await rig.start(w, settle_ms=300, max_wait_ms=400)
    await writer("for i in $(seq 30); do echo $i >> log; sleep 0.05; done", w)
    await rig.signal.until(lambda: len(rig.made()) >= 2)
    assert rig.told()[:2] == [("created", "log"), ("modified", "log")]


async def test_giving_up_is_loud_and_ends_when_the_file_rests(rig: Rig, w: Path) -> None:
    await rig.start(w, settle_ms=1000, max_wait_ms=600, at_max_wait="give-up")
    await writer("for i in $(seq 20); do echo $i >> log; sleep 0.05; done", w)
    assert await rig.events(1) == [("created", "log")]
    assert any("log has not rested for 0.6 s" in str(notice) for notice in rig.notices)
