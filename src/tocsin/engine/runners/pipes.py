"""Moves bytes through a command's pipes from the loop, without a task and without blocking.

Used by ``command``. A pipe that the command's descendants still hold open is simply closed.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import IO, Final

CHUNK: Final = 64 * 1024  # what a pipe holds by default (pipe(7))


class Drain:
    """Reads one pipe and hands on what comes. ended: set at its end, or when it was closed."""

    def __init__(self, pipe: IO[bytes], take: Callable[[bytes], None]) -> None:
        self._pipe = pipe
        self._take = take
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(pipe.fileno(), False)
        self._loop.add_reader(pipe.fileno(), self._readable)

    def _readable(self) -> None:
        try:
            data = os.read(self._pipe.fileno(), CHUNK)
        except BlockingIOError:
            return
        if data:
            self._take(data)
        else:
            self.close()

    def close(self) -> None:
        """Read no more."""
        if not self._pipe.closed:
            self._loop.remove_reader(self._pipe.fileno())
            self._pipe.close()
        if not self.ended.done():
            self.ended.set_result(None)


class Feed:
    """Writes one document into a pipe and closes it; a command that does not read it is no error."""

    def __init__(self, pipe: IO[bytes], document: bytes) -> None:
        self._pipe = pipe
        self._rest = memoryview(document)
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe.fileno(), False)
        self._writable()
        if not pipe.closed:
            self._loop.add_writer(pipe.fileno(), self._writable)

    def _writable(self) -> None:
        try:
            self._rest = self._rest[os.write(self._pipe.fileno(), self._rest) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.close()
            return
        if not self._rest:
            self.close()

    def close(self) -> None:
        """Write no more."""
        if not self._pipe.closed:
            self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()
