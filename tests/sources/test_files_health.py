"""Roots that vanish, limits that are used up, hints that are lost, threads that die."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from tests.sources.rig import QUICK, Rig, save_atomically, watchdog_threads
from tocsin.engine.sources.files.hub import ObserverHub
from tocsin.engine.sources.files.mounts import remote_kind
from tocsin.notices import SourceFailed, SourceRecovered, Trouble

EVERY = ["created", "modified", "moved", "deleted"]


async def test_a_vanished_root_is_named_and_makes_no_deletions(rig: Rig, w: Path) -> None:
    for number in range(20):
        (w / f"f{number}").write_text("x")
    await rig.start(w, on=EVERY)
    away = w.rename(w.parent / "away")
    failed = await rig.notice(SourceFailed)
    assert failed == SourceFailed(
        installation_id="ins_t", source="t", error=f"{w}: No such file or directory"
    )
    (away / "new").write_text("x")
    away.rename(w)
    await rig.notice(SourceRecovered)
    assert await rig.quiet(w) == [("created", "new")]
    assert sum(isinstance(notice, SourceFailed) for notice in rig.notices) == 1


async def test_a_deleted_root_is_only_empty_once_it_is_back(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("x")
    await rig.start(w, on=EVERY)
    shutil.rmtree(w)
    await rig.notice(SourceFailed)
    assert rig.told() == []
    w.mkdir()
    assert await rig.quiet(w) == [("deleted", "a.txt")]


async def test_a_root_that_comes_later_is_watched_from_then_on(rig: Rig, w: Path) -> None:
    await rig.start(w / "later")
    await rig.notice(SourceFailed)
    (w / "later").mkdir()
    (w / "later/a.txt").write_text("x")
    await rig.notice(SourceRecovered)
    assert await rig.events(1) == [("created", "a.txt")]


async def test_a_volume_missing_at_the_start_is_not_an_empty_one(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("x")
    await rig.start(w, on=EVERY)
    await rig.stop()
    away = w.rename(w.parent / "away")
    await rig.start(w, on=EVERY, start="ignore")
    await rig.notice(SourceFailed)
    (away / "b.txt").write_text("x")
    away.rename(w)
    await rig.notice(SourceRecovered)
    assert await rig.quiet(w) == []


async def test_an_empty_mount_point_is_not_taken_for_the_volume(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("x")
    await rig.start(w, on=EVERY)
    await rig.stop()
    elsewhere = {
        path: replace(mark, size=mark.size + 1) if path.startswith(b"\0") else mark
        for path, mark in rig.bookmarks.marks["ins_t"].items()
    }
    rig.bookmarks.marks["ins_t"] = elsewhere  # as if the root had been on another device
    (w / "a.txt").rename(w.parent / "a.txt")
    await rig.start(w, on=EVERY)
    failed = await rig.notice(SourceFailed)
    assert "is it mounted?" in failed.error
    (w.parent / "a.txt").rename(w / "a.txt")
    await rig.notice(SourceRecovered)
    assert await rig.quiet(w) == []


async def test_one_bad_root_does_not_stop_the_other(rig: Rig, w: Path) -> None:
    await rig.start(w, w.parent / "missing")
    await rig.notice(SourceFailed)
    (w / "a.txt").write_text("x")
    assert await rig.events(1) == [("created", "a.txt")]


async def test_a_network_file_system_is_looked_at_and_said_so(rig: Rig, w: Path) -> None:
    rig.remote_of = lambda _: "nfs4"
    (w / "old").write_text("x")
    await rig.start(w)
    told = await rig.notice(Trouble)
    assert f"{w} is on a network file system (nfs4): looking every 0.2 s" in told.error
    assert not watchdog_threads()
    (w / "new").write_text("x")
    assert await rig.events(1) == [("created", "new")]
    (w / "new").unlink()
    save_atomically(w / "old", "changed", "old.tmp")
    assert await rig.events(2) == [("created", "new"), ("modified", "old")]


def test_the_file_system_under_a_path_is_that_of_the_nearest_mount(monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = {"/": "ext4", "/srv/nfs": "nfs4", "/srv/nfs/local": "xfs", "/mnt/Share": "CIFS"}
    parts = [SimpleNamespace(mountpoint=at, fstype=kind) for at, kind in mounts.items()]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: parts)  # noqa: A006 - psutil's own name
    remote = ["/srv/nfs/a/b", "/srv/nfs", "/mnt/Share/x"]
    assert [remote_kind(path) for path in remote] == ["nfs4", "nfs4", "cifs"]
    assert [remote_kind(path) for path in ("/srv/nfsx", "/home", "/", "/srv/nfs/local/x")] == [None] * 4


@pytest.mark.case("FS-21")
async def test_an_overflow_is_told_and_healed_by_looking_at_everything(rig: Rig, w: Path) -> None:
    await rig.start(w, recursive=True)
    (watch,) = rig.hub._watches.values()
    vars(watch)["dispatch"] = lambda event: None  # hints get lost
    (w / "deep").mkdir()
    for number in range(50):
        (w / f"deep/f{number}").write_text("x")
    logger = logging.getLogger("watchdog.observers.inotify_c")
    logger.warning("Inotify queue overflowed; filesystem events were lost")
    await rig.events(50)
    del vars(watch)["dispatch"]
    assert "overflowed" in (await rig.notice(Trouble)).error
    assert len(await rig.quiet(w)) == 50


async def test_the_rescan_finds_what_no_hint_told(rig: Rig, w: Path) -> None:
    await rig.start(w, pace=replace(QUICK, rescan=0.3))
    (watch,) = rig.hub._watches.values()
    watch.boxes = ()
    (w / "a.txt").write_text("x")
    assert await rig.events(1) == [("created", "a.txt")]


async def test_a_dead_observer_is_replaced(rig: Rig, w: Path) -> None:
    await rig.start(w)
    assert rig.hub._observer is not None
    await asyncio.to_thread(rig.hub._observer.stop)
    (w / "a.txt").write_text("x")
    await rig.events(1)
    (w / "b.txt").write_text("x")
    assert await rig.quiet(w) == [("created", "a.txt"), ("created", "b.txt")]


async def test_a_dead_inotify_reader_is_noticed_although_the_observer_lives(rig: Rig, w: Path) -> None:
    await rig.start(w)
    observer: Any = rig.hub._observer
    await asyncio.to_thread(observer._inotify_fd.stop)
    await asyncio.to_thread(observer._inotify_fd.join)
    assert observer.is_alive()
    (w / "a.txt").write_text("x")
    assert await rig.events(1) == [("created", "a.txt")]


def full_observer() -> BaseObserver:
    """An observer on a system whose watches are used up."""
    observer: Any = Observer()

    def schedule(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    observer.schedule = schedule
    full: BaseObserver = observer
    return full


async def test_without_watches_the_folder_is_polled_and_the_limit_named(rig: Rig, w: Path) -> None:
    rig.hub = ObserverHub(full_observer)
    rig.hub.start()
    (w / "sub").mkdir()
    await rig.start(w, recursive=True)
    failed = await rig.notice(SourceFailed)
    value = Path("/proc/sys/fs/inotify/max_user_watches").read_text().strip()
    assert f"fs.inotify.max_user_watches = {value}" in failed.error
    assert "needs 2 watches" in failed.error
    (w / "sub/a.txt").write_text("x")
    assert await rig.events(1) == [("created", "a.txt")]


LIMITED = """
import asyncio, json, sys
from pathlib import Path
from tests.sources.rig import open_rig

async def main(w: Path) -> None:
    async with open_rig() as rig:
        await rig.start(w, recursive=True)
        for number in range(5):
            (w / f"sub{number}" / "a.txt").write_text("x")
        await rig.events(5)
        print(json.dumps([str(notice) for notice in rig.notices]))

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_subfolders_beyond_the_real_limit_are_polled(w: Path) -> None:
    """Watchdog swallows ENOSPC there; a user namespace has a limit of its own to run into."""
    for number in range(5):
        (w / f"sub{number}").mkdir()
    limit = 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"'
    argv = ["unshare", "-Ur", "sh", "-c", limit, "sh", sys.executable, "-c", LIMITED, str(w)]
    try:
        ran = await asyncio.to_thread(
            subprocess.run, argv, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if "unshare" in ran.stderr or "Permission denied" in ran.stderr:
        pytest.skip("no user namespaces here")
    assert ran.returncode == 0, ran.stderr
    (failed,) = json.loads(ran.stdout)
    assert "fs.inotify.max_user_watches" in failed
    assert "needs 6 watches" in failed


async def test_a_source_stopped_while_it_starts_leaves_no_watch(rig: Rig, w: Path) -> None:
    for turns in range(30):
        await rig.start(w, w / "missing", armed=False, recursive=True)
        for _ in range(turns):
            await asyncio.to_thread(bool)
        await rig.stop()
        assert rig.hub._watches == {}
