"""What a settled path means against what is remembered: created, modified, moved or deleted.

Pure. `Snapshot` is the memory of one run of a source; the truth it mirrors is `FileBookmarks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tocsin.engine.sources.files.props import EventKind
from tocsin.engine.sources.files.settling import Stamp
from tocsin.seams import FileMark


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One settled state that is new.

    stamp: the last known one when the path was deleted. src: where a moved file was. marks: what
    has to be remembered with it, the path's own first. silent: it is only to be remembered.
    changed_ns: when the file itself last changed, since the epoch; None where nobody can tell.
    """

    kind: EventKind
    path: bytes
    stamp: Stamp
    src: bytes | None = None
    marks: tuple[FileMark, ...]
    silent: bool = False
    changed_ns: int | None = None

    @property
    def generation(self) -> int:
        """The path's own new generation; part of the delivery id."""
        return self.marks[0].generation


class Snapshot:
    """Marks by path, and by file identity."""

    def __init__(self, marks: Iterable[FileMark] = ()) -> None:
        self._marks: dict[bytes, FileMark] = {}
        self._paths: dict[Stamp, bytes] = {}
        for mark in marks:
            self.put(mark)

    def put(self, mark: FileMark) -> None:
        """Remember this mark in the place of its path's earlier one."""
        old = self.live(mark.path)
        if old is not None and self._paths.get(stamp_of(old)) == mark.path:
            del self._paths[stamp_of(old)]
        self._marks[mark.path] = mark
        if not mark.gone:
            self._paths[stamp_of(mark)] = mark.path

    def live(self, path: bytes) -> FileMark | None:
        """The mark of a file that is thought to be there."""
        mark = self._marks.get(path)
        return None if mark is None or mark.gone else mark

    def knows(self, path: bytes, stamp: Stamp | None) -> bool:
        """Whether this is the state that is remembered; None: that there is no such file."""
        mark = self.live(path)
        return stamp is None if mark is None else stamp_of(mark) == stamp

    def path_of(self, stamp: Stamp) -> bytes | None:
        """Where a file of this identity, size and time was last seen."""
        return self._paths.get(stamp)

    def remembers(self, path: bytes) -> bool:
        """Whether the path was ever marked, gone or not."""
        return path in self._marks

    def paths(self) -> Iterator[bytes]:
        """Every path with a live mark."""
        return (path for path, mark in self._marks.items() if not mark.gone)

    def next_mark(self, path: bytes, stamp: Stamp | None) -> FileMark:
        """The mark for this path's newly settled state; for a gone one, the last known stamp stays."""
        old = self._marks.get(path)
        known = stamp or (stamp_of(old) if old else Stamp(0, 0, 0))
        return FileMark(
            path=path,
            generation=old.generation + 1 if old else 1,
            size=known.size,
            mtime_ns=known.mtime_ns,
            inode=known.inode,
            gone=stamp is None,
        )


def stamp_of(mark: FileMark) -> Stamp:
    """The state a mark remembers."""
    return Stamp(mark.size, mark.mtime_ns, mark.inode)


def plan(
    settled: Mapping[bytes, Stamp | None],
    snapshot: Snapshot,
    *,
    source_of: Callable[[bytes, Stamp], bytes | None],
) -> list[Change]:
    """What is new among the settled states, present files first, each in the order given.

    source_of: where a newly appeared file was moved from, or None; asked only for paths without a
    live mark. A path that a move explains is not also a deletion.
    """
    changes: list[Change] = []
    moved_away: set[bytes] = set()
    for path, stamp in settled.items():
        if stamp is None or snapshot.knows(path, stamp):
            continue
        change = _appeared(path, stamp, snapshot, source_of, moved_away)
        changes.append(change)
    gone = (path for path, stamp in settled.items() if stamp is None and path not in moved_away)
    return changes + [_vanished(path, mark, snapshot) for path in gone if (mark := snapshot.live(path))]


def _appeared(
    path: bytes,
    stamp: Stamp,
    snapshot: Snapshot,
    source_of: Callable[[bytes, Stamp], bytes | None],
    moved_away: set[bytes],
) -> Change:
    mark = snapshot.next_mark(path, stamp)
    if snapshot.live(path) is not None:
        return Change(kind="modified", path=path, stamp=stamp, marks=(mark,))
    src = source_of(path, stamp)
    if src is None or src in moved_away:
        return Change(kind="created", path=path, stamp=stamp, marks=(mark,))
    moved_away.add(src)
    return Change(kind="moved", path=path, stamp=stamp, src=src, marks=(mark, snapshot.next_mark(src, None)))


def _vanished(path: bytes, mark: FileMark, snapshot: Snapshot) -> Change:
    return Change(kind="deleted", path=path, stamp=stamp_of(mark), marks=(snapshot.next_mark(path, None),))
