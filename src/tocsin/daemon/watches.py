"""What a running engine keeps an eye on: signals, its own files, whether anything is left to do."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tocsin.daemon import logs
from tocsin.engine.driver import TICK_S, Driver
from tocsin.engine.lifecycle import Lifecycle
from tocsin.notices import Notice
from tocsin.settings import Paths
from tocsin.store import events, pauses, turns
from tocsin.store.connection import Store, Tx


def has_terminal() -> bool:
    """Whether a person sits before it: then a hang-up is a window that was closed, not a wish to reload."""
    return any(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


class Idle:
    """Asks to stop once nothing is left to do."""

    def __init__(self, store: Store, lifecycle: Lifecycle, stop: Callable[[], None]) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self._stop = stop

    async def once(self, now: datetime) -> float:
        """Look whether anything is held, pending, claimed or settling; a tick until the next look.

        What a pause holds is left to whoever resumes it, what nobody serves here to whoever does.
        """
        if self._lifecycle.is_at_rest and await self._store.read(lambda tx: left_to_do(tx, now)) == 0:
            self._stop()
        return TICK_S / 4


def left_to_do(tx: Tx, now: datetime) -> int:
    """How many events run, or will without anybody's doing."""
    return events.unfinished(tx) - pauses.held(tx, now) - turns.unserved(tx)


class HomeWatch:
    """Ends an engine whose database or lock was taken from under it: what it writes would be lost."""

    def __init__(self, paths: Paths, stop: Callable[[bool], None]) -> None:
        self._files = (paths.database, paths.lock)
        self._stop = stop
        self._before = [inode(path) for path in self._files]

    async def once(self, _now: datetime) -> float:
        """Compare the files with those that were there at the start; a tick until the next look."""
        for path, before in zip(self._files, self._before, strict=True):
            if inode(path) != before:
                logs.LOGGER.error("%s was removed or replaced while the engine runs; stopping", path)
                self._stop(True)
        return TICK_S


def inode(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one in its place; None when it is gone."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


class WakeOn:
    """Wakes a loop by what the engine itself has done: a loop's own tick would come to it a second later."""

    def __init__(self, driver: Driver, *kinds: type[Notice]) -> None:
        self._driver = driver
        self._kinds = kinds

    def hear(self, notice: Notice) -> None:
        """Wake it for a notice of these kinds."""
        if isinstance(notice, self._kinds):
            self._driver.wake()


def catch(loop: asyncio.AbstractEventLoop, number: signal.Signals, react: Callable[[], None]) -> None:
    """React to a signal on the loop."""
    try:
        loop.add_signal_handler(number, react)
    except NotImplementedError:  # Windows' loops cannot; untested
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(react))
