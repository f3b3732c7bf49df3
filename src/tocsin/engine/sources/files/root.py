"""One watched path: the watch on it, whether it is there, and when to look at all of it.

`tend` and `holds` block and run in a worker thread; a `Root` belongs to one `FilesSource` and is
never used by two threads at once.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass

from tocsin.engine.sources.files.hints import HintBox, Hints, Waker
from tocsin.engine.sources.files.hub import ObserverHub, Watch, limit
from tocsin.engine.sources.files.mounts import remote_kind
from tocsin.engine.sources.files.payload import shown
from tocsin.engine.sources.files.scan import Place, count_folders, locate
from tocsin.engine.sources.files.territory import Identity

LIMITS = (errno.ENOSPC, errno.EMFILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often, in seconds.

    check: whether the root and its watch still stand. rescan: look at everything although nothing
    was heard. poll: the same where no watch could be had. rewatch: try again for one there. remote: the
    same on a network file system, whose changes the kernel does not hear of.
    """

    check: float = 1.0
    rescan: float = 600.0
    poll: float = 2.0
    rewatch: float = 60.0
    remote: float = 5.0


class Root:
    """A folder or a single file under watch.

    problem: why nothing, or not everything, is heard of it; None when all is well. remote: the kind of
    network file system that it is on. remote_of tells that for a path.
    """

    def __init__(
        self,
        path: bytes,
        *,
        recursive: bool,
        hub: ObserverHub,
        waker: Waker,
        pace: Pace,
        remote_of: Callable[[str], str | None] = remote_kind,
    ) -> None:
        self.path = path
        self.absent = False
        self.remote: str | None = None
        self._remote_of = remote_of
        self._recursive = recursive
        self._hub = hub
        self._waker = waker
        self._pace = pace
        self._place: Place | None = None
        self._box: HintBox | None = None
        self._watch: Watch | None = None
        self._lost: str | None = None
        self._limited: str | None = None
        self._probe = False
        self.check_at = self._scan_at = self._rewatch_at = float("-inf")

    @property
    def problem(self) -> str | None:
        """One line that names the path, fit to be shown; None when all is well."""
        return self._lost or self._limited

    @property
    def identity(self) -> Identity:
        """Of the watched folder; only after `tend` was true."""
        if self._place is None:
            raise RuntimeError(f"{shown(self.path)} is not watched")
        return self._place[1]

    def tend(self, now: float, *, was_file: bool) -> bool:
        """See to the watch when that is due; true when everything has to be looked at now.

        was_file: the path is known as a single file, so that it may be missing.
        """
        if now < self.check_at:
            return False
        self.check_at = now + self._pace.check
        try:
            return self._tend(locate(self.path, was_file=was_file), now)
        except OSError as error:
            self.absent = isinstance(error, FileNotFoundError)
            self.lose(f"{shown(self.path)}: {error.strerror or error}")
            return False

    def holds(self, *, was_file: bool) -> bool:
        """Whether the root is still the folder that is watched; else nothing seen in it counts."""
        try:
            return locate(self.path, was_file=was_file) == self._place
        except OSError:
            return False

    def take(self) -> Hints:
        """The hints since the last call. New folders make the next `tend` ask whether they are watched."""
        hints = self._box.take() if self._box else Hints()
        if hints.lost:
            self._scan_at = self.check_at = float("-inf")
        if hints.folders:
            self._probe = self._recursive
        return hints

    def lose(self, problem: str) -> None:
        """The root cannot be used; it is tried again at the next check."""
        self._lost = problem
        self.close()

    def recheck(self) -> None:
        """Something about the root is odd: let the next `tend` look."""
        self.check_at = float("-inf")

    def surveyed(self, now: float) -> None:
        """All of it was looked at, successfully."""
        self._lost = None
        pace = self._pace.poll if self._limited else self._pace.rescan
        self._scan_at = now + (self._pace.remote if self.remote else pace)

    def close(self) -> None:
        """End the watch."""
        box, self._box = self._box, None
        self._place = self._watch = None
        if box is not None:
            self._hub.leave(box)

    def _tend(self, place: Place, now: float) -> bool:
        self.absent = False
        retry = self._limited is not None and now >= self._rewatch_at
        deaf = self._limited is None and self.remote is None and not (self._watch and self._watch.is_alive())
        if place != self._place or retry or deaf:
            self._rewatch(place, now)
            return True
        if self._probe:
            self._ask_whether_limited(now)
        return now >= self._scan_at

    def _rewatch(self, place: Place, now: float) -> None:
        self.close()
        self._limited = None
        self._place = place
        real = os.path.realpath(place[0])
        self.remote = self._remote_of(os.fsdecode(real))
        if self.remote is not None:
            return
        self._box = HintBox(self._waker, real=real, shown=place[0])
        recursive = self._recursive and place[0] == self.path
        try:
            self._watch = self._hub.watch(os.fsdecode(real), recursive=recursive, box=self._box)
        except OSError as error:
            if error.errno not in LIMITS:
                raise
            self._poll(error.errno, now)
        else:
            self._probe = recursive
            self._ask_whether_limited(now)

    def _ask_whether_limited(self, now: float) -> None:
        if self._probe and self._limited is None and self._hub.exhausted():
            self._poll(errno.ENOSPC, now)
        self._probe = False

    def _poll(self, error_number: int | None, now: float) -> None:
        self._rewatch_at = now + self._pace.rewatch
        self._scan_at = now
        name, value = limit(error_number or errno.ENOSPC)
        self._limited = (
            f"{shown(self.path)}: the system's limit {name} = {value} is used up by this user; "
            f"looking every {self._pace.poll:g} s instead; this folder needs {count_folders(self.path)} "
            f"watches, raise the limit with `sudo sysctl {name}=...`"
        )
