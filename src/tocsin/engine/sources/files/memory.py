"""What a files source remembers, and the rules of starting: the only module that writes bookmarks.

`Memory` mirrors the installation's marks; it changes only after `FileBookmarks` has them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from tocsin.engine.sources.files.changes import Change, Snapshot
from tocsin.engine.sources.files.contents import Moving, digest
from tocsin.engine.sources.files.payload import batch_of, occurrence
from tocsin.engine.sources.files.props import FilesProps
from tocsin.engine.sources.files.scan import Seen, under
from tocsin.engine.sources.files.scope import Scope
from tocsin.engine.sources.files.settling import Stamp
from tocsin.engine.sources.files.territory import NOWHERE, Identity, Territory
from tocsin.registration import Registration
from tocsin.seams import Clock, FileBookmarks, FileMark

OWN = b"\0"  # no path begins so: what a source remembers beside files
BATCHES = OWN + b"batch"  # its generation is the sequence of the last batch

MOST = 1000  # files in one event: more would be unwieldy for whoever reads it
CHUNK = 200  # changes per transaction: a burst must not keep other writers waiting for long


class Memory:
    """The marks of one installation, and which of its roots have been armed."""

    def __init__(
        self,
        registrations: Sequence[Registration],
        props: FilesProps,
        scope: Scope,
        *,
        bookmarks: FileBookmarks,
        clock: Clock,
    ) -> None:
        self.registrations = tuple(registrations)
        self._installation_id = registrations[0].installation_id
        self._props = props
        self._scope = scope
        self._bookmarks = bookmarks
        self._clock = clock
        self._has_baseline = False
        self._has_history = False
        self._armed: set[bytes] = set()
        self._territory = Territory(())
        self._batches = 0
        self.unsettled: dict[bytes, datetime] = {}
        self.snapshot = Snapshot()

    async def load(self) -> None:
        """Read the marks; roots that this object has armed before stay armed."""
        marks = await self._bookmarks.load(self._installation_id)
        self._has_baseline = marks is not None
        self._has_history = bool(marks)
        known = (marks or {}).values()
        self._territory = await asyncio.to_thread(Territory, known)
        files = (mark for mark in known if not mark.path.startswith(OWN))
        self.snapshot = await asyncio.to_thread(Snapshot, files)
        self._batches = next((mark.generation for mark in known if mark.path == BATCHES), 0)
        self.unsettled = dict(await self._bookmarks.unsettled(self._installation_id))

    def is_armed(self, root: bytes) -> bool:
        """Whether this object has applied the start rules to the root."""
        return root in self._armed

    def knows_files_of(self, root: bytes) -> bool:
        """Whether any file at or under the root is thought to be there."""
        return any(under(path, (root,)) for path in self.snapshot.paths())

    def was_elsewhere(self, root: bytes, identity: Identity) -> bool:
        """Whether the root was on another device when it was last looked at."""
        device = self._territory.device_of(self._scope.only(root))
        return device is not None and device != identity.device

    async def arm(self, root: bytes, seen: Seen, identity: Identity = NOWHERE) -> Seen:
        """Apply the start rules to what differs under a root; what is to be told comes back.

        The rest is written silently, with the root's rules in the last transaction: a crash before
        that repeats the arming.
        """
        if not self._has_baseline and self._props.start == "all":
            await self._take_baseline(())
        marks, loud = await asyncio.to_thread(self._sort_out, seen)
        marks += self._rules(root, identity)
        await (self._write(marks) if self._has_baseline else self._take_baseline(marks))
        self._armed.add(root)
        return loud

    async def keep_rules(self, root: bytes, identity: Identity) -> None:
        """The root was looked at: remember which folder it is now."""
        await self._write(self._rules(root, identity))

    async def note(self, began: Mapping[bytes, datetime], ended: Collection[bytes]) -> None:
        """Write down what has begun to move and what moves no more."""
        if began or ended:
            await self._bookmarks.note_unsettled(self._installation_id, began, ended)

    async def record_batch(self, changes: Sequence[Change]) -> None:
        """Write the marks of these changes, and one event for all that are asked for."""
        for start in range(0, len(changes), MOST):
            chunk, now = changes[start : start + MOST], self._clock.now()
            told = [change for change in chunk if self._is_told(change)]
            marks = [mark for change in chunk for mark in change.marks]
            sequence = self._batches + 1
            if told:
                marks.append(FileMark(path=BATCHES, generation=sequence, size=0, mtime_ns=0, inode=0))
            made = [batch_of(to, told, sequence, now) for to in self.registrations if told]
            await self._bookmarks.record(self._installation_id, marks, made)
            self._batches += bool(told)
            self._remember(marks)

    async def record(self, changes: Sequence[Change]) -> None:
        """Write the marks of these changes, and the events of those that are asked for, with them."""
        for start in range(0, len(changes), CHUNK):
            chunk = changes[start : start + CHUNK]
            now = self._clock.now()
            told = [change for change in chunk if self._is_told(change)]
            marks = [mark for change in chunk for mark in change.marks]
            occurrences = [occurrence(to, change, now) for change in told for to in self.registrations]
            await self._bookmarks.record(self._installation_id, marks, occurrences)
            self._remember(marks)

    def _is_told(self, change: Change) -> bool:
        return change.kind in self._props.on and not change.silent

    def _is_silent(self, path: bytes) -> bool:
        """Whether what differs at this path now is to be remembered, not told."""
        if path in self.unsettled:
            return False
        start = self._props.start
        if self._territory.is_new:
            return start != "all" or self._has_history
        return start == "ignore" or not self._territory.saw(path)

    def _rules(self, root: bytes, identity: Identity) -> list[FileMark]:
        return self._territory.missing(self._scope.only(root), identity, self._scope.roots)

    def _sort_out(self, seen: Seen) -> tuple[list[FileMark], Seen]:
        """The marks of what is only to be remembered, and what is to be told."""
        silent = {path for path in seen if self._is_silent(path)}
        marks = [self._mark(path, seen[path]) for path in silent]
        return marks, {path: stamp for path, stamp in seen.items() if path not in silent}

    def _mark(self, path: bytes, stamp: Stamp | None) -> FileMark:
        mark = self.snapshot.next_mark(path, stamp)
        if stamp is None or self._props.compare != "content":
            return mark
        try:
            return replace(mark, content=digest(path, stamp))
        except Moving:  # whatever it comes to hold is new
            return mark

    async def _take_baseline(self, marks: Sequence[FileMark]) -> None:
        """What comes back beyond these marks is from before the trigger was last turned off."""
        stored = await self._bookmarks.baseline(self._installation_id, marks)
        self._has_baseline = True
        self._has_history = bool(stored)
        if BATCHES in stored:
            self._batches = stored[BATCHES].generation
        await asyncio.to_thread(self._remember, stored.values())

    async def _write(self, marks: Sequence[FileMark]) -> None:
        for start in range(0, len(marks), CHUNK):
            chunk = marks[start : start + CHUNK]
            await self._bookmarks.record(self._installation_id, chunk, ())
            self._remember(chunk)

    def _remember(self, marks: Collection[FileMark]) -> None:
        for mark in marks:
            if not mark.path.startswith(OWN):
                self.snapshot.put(mark)
        self._territory.remember(marks)
