"""One engine to a home: an exclusive lock on a file, which also tells who holds it.

The operating system drops the lock when its holder dies, however it dies, so there is nothing to
clean up after a crash and no pid that could be somebody else's.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from tocsin import __version__
from tocsin.clock import SystemClock
from tocsin.errors import LockHeld
from tocsin.identity import OWNER, new_id
from tocsin.instants import rfc3339

try:
    import fcntl
except ImportError:  # Windows, untested
    fcntl = None  # type: ignore[assignment]

SIZE: Final = 4096  # written whole and padded, so that a reader never sees half of it
LOCK_AT: Final = 1 << 20  # Windows locks bytes, not files, and a locked byte cannot be read
TRIES: Final = 25  # somebody who only looks holds a shared lock for an instant
PAUSE_S: Final = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a home's lock. role: "engine" (`up`) or "fire" (a CLI that runs its own fires).

    url: where HTTP is served, once it is. socket: path of the control socket, once it is open.
    started_at: RFC 3339.
    """

    pid: int
    owner: str
    started_at: str
    version: str
    role: str
    url: str | None = None
    socket: str | None = None


def new_holder(role: str) -> Holder:
    """This process, with a fresh owner id."""
    now = SystemClock().now()
    return Holder(
        pid=os.getpid(), owner=new_id(OWNER, now), started_at=rfc3339(now), version=__version__, role=role
    )


class HomeLock:
    """A lock that is held. `tell` adds facts for whoever reads the file."""

    def __init__(self, handle: int, holder: Holder) -> None:
        self._handle = handle
        self.holder = holder
        self._write()

    def tell(self, *, url: str | None, socket: str | None) -> None:
        """Say where the engine can be reached."""
        self.holder = replace(self.holder, url=url, socket=socket)
        self._write()

    def _write(self) -> None:
        text = json.dumps(asdict(self.holder)).encode().ljust(SIZE)
        os.lseek(self._handle, 0, os.SEEK_SET)
        os.write(self._handle, text)


@contextmanager
def hold(path: Path, holder: Holder) -> Iterator[HomeLock]:
    """Take the lock until the block ends. Raises LockHeld."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not patiently(handle):
            raise held_by(path.parent, read_holder(path))
        yield HomeLock(handle, holder)
    finally:
        os.close(handle)


def held_by(home: Path, holder: Holder | None) -> LockHeld:
    """The refusal, with what is known of the holder."""
    if holder is None:  # it has let go this instant
        return LockHeld(home=home, pid=None)
    return LockHeld(home=home, pid=holder.pid, role=holder.role)


def read_holder(path: Path) -> Holder | None:
    """Who holds the lock; None when nobody does."""
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if locked(handle, shared=True):
            return None
        return Holder(**json.loads(os.read(handle, SIZE)))
    except (ValueError, TypeError):  # taken this instant, not written yet
        return Holder(pid=0, owner="", started_at="", version="", role="starting")
    finally:
        os.close(handle)


def patiently(handle: int) -> bool:
    """Take the lock, looking past those who only look. False when it is held."""
    pause = threading.Event()
    return any(locked(handle, shared=False) or pause.wait(PAUSE_S) for _ in range(TRIES))


def locked(handle: int, *, shared: bool) -> bool:
    """Try once; the lock lasts until the handle is closed."""
    try:
        if fcntl is None:
            lock_byte(handle)
        else:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def lock_byte(handle: int) -> None:
    """The same on Windows (untested): a byte past the text."""
    import msvcrt  # lazily: it exists on Windows only

    os.lseek(handle, LOCK_AT, os.SEEK_SET)
    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    os.lseek(handle, 0, os.SEEK_SET)
