"""The shared observer: watches side by side, and nothing left behind."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.sources.rig import DEADLINE, watchdog_threads
from tocsin.engine.sources.files.hints import HintBox, Hints, Waker
from tocsin.engine.sources.files.hub import ObserverHub


@pytest.fixture
async def hub() -> AsyncIterator[ObserverHub]:
    opened = ObserverHub()
    opened.start()
    yield opened
    await asyncio.to_thread(opened.stop)
    assert watchdog_threads() == set()


def box(waker: Waker, folder: Path) -> HintBox:
    return HintBox(waker, real=bytes(folder), shown=bytes(folder))


async def heard(waker: Waker, hints: HintBox, path: Path) -> Hints:
    """Everything in the box up to the hint about this path."""
    total = Hints()
    async with asyncio.timeout(DEADLINE):
        while bytes(path) not in total.files:
            taken = hints.take()
            total.files |= taken.files
            total.moves += taken.moves
            if not taken:
                await waker.wait(DEADLINE)
    return total


async def test_watches_of_one_folder_live_and_end_by_themselves(hub: ObserverHub, w: Path) -> None:
    (w / "sub").mkdir()
    waker = Waker()
    deep, flat, twin = box(waker, w), box(waker, w), box(waker, w)
    hub.watch(str(w), recursive=True, box=deep)
    hub.watch(str(w), recursive=False, box=flat)
    hub.watch(str(w), recursive=False, box=twin)
    (w / "sub/a").touch()
    (w / "b").touch()
    assert bytes(w / "sub/a") in (await heard(waker, deep, w / "b")).files
    assert bytes(w / "sub/a") not in (await heard(waker, flat, w / "b")).files
    hub.leave(deep)
    hub.leave(twin)
    twin.take()
    (w / "c").touch()
    await heard(waker, flat, w / "c")
    assert not deep.take()
    assert not twin.take()


async def test_reading_is_no_hint_and_renames_come_as_pairs(hub: ObserverHub, w: Path) -> None:
    (w / "a").write_text("x")
    waker = Waker()
    hints = box(waker, w)
    hub.watch(str(w), recursive=False, box=hints)
    (w / "a").read_text()
    (w / "a").rename(w / "b")
    (w / "z").touch()
    taken = await heard(waker, hints, w / "z")
    assert taken.moves == [(bytes(w / "a"), bytes(w / "b"))]
    assert taken.files == {bytes(w / name) for name in "abz"}


async def test_a_missing_folder_is_an_error_and_leaves_nothing(hub: ObserverHub, w: Path) -> None:
    with pytest.raises(FileNotFoundError):
        hub.watch(str(w / "missing"), recursive=False, box=box(Waker(), w))
    assert not hub.exhausted()


async def test_a_watch_ends_with_its_folder_and_another_can_be_had(hub: ObserverHub, w: Path) -> None:
    waker = Waker()
    first, second = box(waker, w), box(waker, w)
    old = hub.watch(str(w), recursive=False, box=first)
    w.rename(w.parent / "w_old")
    w.mkdir()
    new = hub.watch(str(w), recursive=False, box=second)
    assert (old.is_alive(), new.is_alive()) == (False, True)
    (w / "a").touch()
    await heard(waker, second, w / "a")
    hub.leave(first)
    assert new.is_alive()


async def test_an_overflow_reaches_every_box(hub: ObserverHub, w: Path) -> None:
    waker = Waker()
    hints = box(waker, w)
    hub.watch(str(w), recursive=False, box=hints)
    logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed; events were lost")
    assert hints.take().lost


@pytest.mark.usefixtures("hub")
async def test_watchdogs_harmless_warning_does_not_end_its_thread() -> None:
    warnings.warn("Callback with id '1' already exists for watch", RuntimeWarning, stacklevel=1)


async def test_hints_after_the_loop_is_closed_are_dropped(w: Path) -> None:
    def make() -> HintBox:
        async def inside() -> HintBox:
            return box(Waker(), w)

        return asyncio.run(inside())

    orphan = await asyncio.to_thread(make)
    orphan.put(bytes(w / "a"), None, folder=False)
    assert orphan.take().files == {bytes(w / "a")}
