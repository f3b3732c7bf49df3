"""What is on the move under a source's roots, and what of it has settled: the blocking half.

Everything here runs in a worker thread, one call at a time; ``source`` calls it, records what it
finds and speaks to the rest of the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tocsin.engine.sources.files.changes import Change, Snapshot, plan
from tocsin.engine.sources.files.contents import Moving, compared
from tocsin.engine.sources.files.hints import Hints
from tocsin.engine.sources.files.moves import Moves
from tocsin.engine.sources.files.props import FilesProps
from tocsin.engine.sources.files.root import Root
from tocsin.engine.sources.files.scan import (
    Seen,
    Survey,
    changed_ns,
    differences,
    download_under_way,
    look,
    survey,
)
from tocsin.engine.sources.files.scope import Scope
from tocsin.engine.sources.files.settling import Settled, Settling, Stamp


@dataclass(slots=True)
class Harvest:
    """changes: new settled states, to be recorded in this order. settled: every path that came to rest, as
    it was known or not. given_up: paths that never rest.
    """

    changes: list[Change] = field(default_factory=list)
    settled: list[bytes] = field(default_factory=list)
    given_up: list[bytes] = field(default_factory=list)


class Watcher:
    """Scans, looks and decides for all roots of one source. monotonic: `Clock.monotonic`."""

    def __init__(
        self, props: FilesProps, scope: Scope, snapshot: Snapshot, *, monotonic: Callable[[], float]
    ) -> None:
        self.scope = scope
        self.snapshot = snapshot
        self.settling = Settling(props.rest)
        self._moves = Moves()
        self._by_content = props.compare == "content"
        self._before: dict[bytes, float] = {}
        self._noted: set[bytes] = set()
        self._monotonic = monotonic

    def was_file(self, root: bytes) -> bool:
        """Whether a root is known as a single file."""
        return self.snapshot.remembers(root)

    def search(self, root: Root) -> tuple[Survey, Seen]:
        """Everything under one root, and where that differs from what is remembered.

        Raises OSError when the root cannot be read, or is not the watched folder any more.
        """
        tops = (root.path,)
        found = survey(tops, self.scope)
        if root.path in found.unread:
            raise found.unread[root.path]
        if not root.holds(was_file=self.was_file(root.path)):
            raise FileNotFoundError("it was replaced while it was looked at")
        return found, differences(found, tops, self.scope, self.snapshot)

    def resume(self, since: Mapping[bytes, float]) -> None:
        """These were on the move before, since then, and are written down."""
        self._before = dict(since)
        self._noted = set(since)

    def news(self, held: Collection[bytes]) -> tuple[dict[bytes, float], set[bytes]]:
        """Paths that have begun to move, with when, and those that move no more: to be written down.

        held: paths at rest that are not recorded yet.
        """
        moving = self.settling.since()
        began = {path: first for path, first in moving.items() if path not in self._noted}
        ended = self._noted.difference(moving, held)
        self._noted = (self._noted | moving.keys()) - ended
        return began, ended

    def observe(self, seen: Seen) -> None:
        """These differ from what is remembered: wait until they rest."""
        now = self._monotonic()
        for path, stamp in seen.items():
            if path in self._before:
                self.settling.resume(path, self._before.pop(path))
            self.settling.observe(path, stamp, now)

    def follow(self, hints: Sequence[Hints], roots: Sequence[Root]) -> Harvest:
        """Look at what was hinted at and at what is due; what has settled comes back."""
        now = self._monotonic()
        for batch in hints:
            self._hear(batch, now)
        seen = self._search_folders([folder for batch in hints for folder in batch.folders])
        seen |= self._look_at(self.settling.due(now))
        self._spare_vanished_roots(seen, roots)
        at = self._monotonic()
        for path, stamp in seen.items():
            self.settling.observe(path, stamp, at, busy=self._is_busy(path, stamp))
        return self._harvest(self.settling.take())

    def recorded(self, changes: Iterable[Change]) -> None:
        """These are written down: the old names of moved files need no look any more."""
        for change in changes:
            if change.src is not None:
                self.settling.forget(change.src)

    def _hear(self, hints: Hints, now: float) -> None:
        for src, dst in hints.moves:
            self._moves.note(src, dst)
        for path in hints.files:
            if self.scope.covers(path):
                self.settling.hint(path, now)
        self._moves.prune(self.settling)

    def _search_folders(self, folders: list[bytes]) -> Seen:
        tops = [folder for folder in folders if self.scope.enters(folder)]
        return differences(survey(tops, self.scope), tops, self.scope, self.snapshot) if tops else {}

    def _look_at(self, paths: list[bytes]) -> Seen:
        seen: Seen = {}
        for path in paths:
            try:
                seen[path] = look(path)
            except OSError:  # unreadable now; the next hint or rescan finds it again
                self.settling.forget(path)
        return seen

    def _spare_vanished_roots(self, seen: Seen, roots: Sequence[Root]) -> None:
        """Nothing is gone just because the whole root is: it may come back."""
        gone = [path for path, stamp in seen.items() if stamp is None]
        if not gone:
            return
        lost = {root.path for root in roots if not root.holds(was_file=self.was_file(root.path))}
        for path in gone:
            if self.scope.root_of(path) in lost:
                del seen[path]
                self.settling.forget(path)
        for root in roots:
            if root.path in lost:
                root.recheck()

    def _is_busy(self, path: bytes, stamp: Stamp | None) -> bool:
        if stamp is None:  # moved away: its fate is told with the new name's
            return self._moves.target_of(path) in self.settling
        return stamp.size == 0 and download_under_way(path)

    def _harvest(self, settled: Settled) -> Harvest:
        changes = plan(settled.stamps, self.snapshot, source_of=self._source_of)
        for path in settled.stamps:
            self._moves.forget(path)
        if self._by_content:
            changes = self._compared(changes)
        changes = [replace(change, changed_ns=changed_ns(change.path)) for change in changes]
        return Harvest(changes=changes, settled=list(settled.stamps), given_up=settled.given_up)

    def _compared(self, changes: Iterable[Change]) -> list[Change]:
        """With what the files hold; one that moves under the reader's eyes settles again."""
        found = []
        for change in changes:
            try:
                found.append(compared(change, self.snapshot))
            except Moving:
                self.settling.hint(change.path, self._monotonic())
        return found

    def _source_of(self, path: bytes, stamp: Stamp) -> bytes | None:
        for candidate in (self._moves.source_of(path), self.snapshot.path_of(stamp)):
            if candidate is not None and self._is_vacated(candidate, path):
                return candidate
        return None

    def _is_vacated(self, candidate: bytes, path: bytes) -> bool:
        same_root = self.scope.root_of(candidate) == self.scope.root_of(path)
        return same_root and self.snapshot.live(candidate) is not None and look(candidate) is None
