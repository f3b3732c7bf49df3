"""Looks at all clocks once a second, so that every stretch without a look is noticed and written down.

While it runs, the age of the file `engine.alive` tells the next engine when this one was last seen;
the file costs no write to the disk that anyone waits for.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tocsin.engine.driver import Once
from tocsin.engine.gap_ledger import GapLedger
from tocsin.gaps import Gap, Look, between, off
from tocsin.seams import Clock

STOPPED: Final = "stopped\n"


class Pulse:
    """`begin`, a look each round, `end`."""

    def __init__(self, lock: Path, *, clock: Clock, ledger: GapLedger) -> None:
        self._file = lock.with_name("engine.alive")
        self._clock = clock
        self._ledger = ledger
        self._before: Look | None = None

    async def begin(self) -> None:
        """Note how long no engine was there, and that one is there now. Raises StoreUnusable."""
        gap = self._since_the_last()
        if gap is not None:
            await self._ledger.record(gap)
        self._write("")
        self._before = self._look()

    def end(self) -> None:
        """An orderly end: nothing was lost with it."""
        self._write(STOPPED)

    def watching(self, once: Once) -> Once:
        """The same round, with a look at the clocks before it: a gap is priced before it is made up for."""

        async def look_first(now: datetime) -> float:
            await self.look()
            return await once(now)

        return look_first

    async def look(self) -> None:
        """Compare with the look before. Raises StoreUnusable; then the next look finds the gap again."""
        after = self._look()
        gap = None if self._before is None else between(self._before, after)
        if gap is not None:
            await self._ledger.record(gap)
        self._before = after
        self._touch()

    def _look(self) -> Look:
        clock = self._clock
        return Look(wall=clock.now(), monotonic=clock.monotonic(), boottime=clock.boottime())

    def _since_the_last(self) -> Gap | None:
        try:
            seen = datetime.fromtimestamp(self._file.stat().st_mtime, UTC)
            cleanly = self._file.read_text("utf-8") == STOPPED
        except (OSError, ValueError):  # the first engine of this home, or somebody tidied up
            return None
        return off(seen, self._clock.now(), cleanly=cleanly)

    def _write(self, text: str) -> None:
        handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        self._touch()

    def _touch(self) -> None:
        """By the engine's own clock, whatever the file system's says."""
        seconds = self._clock.now().timestamp()
        try:
            os.utime(self._file, (seconds, seconds))
        except FileNotFoundError:
            self._write("")
