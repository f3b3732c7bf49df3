"""Where watchdog's threads leave paths for the loop: a box per watch, emptied by the source."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass, field

GATHER = 0.02  # seconds: a burst of hints wakes the loop once per this time, not once per hint


@dataclass(slots=True)
class Hints:
    """What may have changed. moves: (from, to) in the order seen. lost: the kernel dropped some."""

    files: set[bytes] = field(default_factory=set)
    folders: set[bytes] = field(default_factory=set)
    moves: list[tuple[bytes, bytes]] = field(default_factory=list)
    lost: bool = False

    def __bool__(self) -> bool:
        return self.lost or bool(self.files or self.folders)


class Waker:
    """Ends a wait on the loop that made it, from any thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._event = asyncio.Event()

    def wake(self) -> None:
        """Within `GATHER` seconds; nothing once the loop is closed."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._soon)

    async def wait(self, seconds: float) -> None:
        """Until woken, or until the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0)):
                await self._event.wait()
        self._event.clear()

    def _soon(self) -> None:
        self._loop.call_later(GATHER, self._event.set)


class HintBox:
    """Collects the hints of one watch.

    real: the watched folder without symbolic links, as watchdog reports it. shown: the same folder
    as the configuration names it, as the source wants it.
    """

    def __init__(self, waker: Waker, *, real: bytes, shown: bytes) -> None:
        self._waker = waker
        self._real = real
        self._shown = shown
        self._lock = threading.Lock()
        self._hints = Hints()

    def put(self, path: bytes, moved_to: bytes | None, *, folder: bool) -> None:
        """Something happened at this path; safe from any thread and never raises."""
        paths = [self._named(at) for at in (path, moved_to) if at is not None]
        with self._lock:
            first = not self._hints
            (self._hints.folders if folder else self._hints.files).update(paths)
            if len(paths) > 1:
                self._hints.moves.append((paths[0], paths[1]))
        if first:
            self._waker.wake()

    def lose(self) -> None:
        """Hints were lost; everything has to be looked at. Safe from any thread."""
        with self._lock:
            self._hints.lost = True
        self._waker.wake()

    def take(self) -> Hints:
        """Everything since the last call."""
        with self._lock:
            taken, self._hints = self._hints, Hints()
        return taken

    def _named(self, path: bytes) -> bytes:
        return path if self._real == self._shown else self._shown + path.removeprefix(self._real)
