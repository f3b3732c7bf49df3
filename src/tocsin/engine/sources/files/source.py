"""The files source: watches for the registrations of one installation and speaks through `FileBookmarks`.

`once` is one turn of the loop, `run` the thin driver. Made per installation by the composition
root and supervised there: when recording fails `run` raises, and running the same object again
picks up what was not recorded.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from tocsin.engine.sources.files.batching import Batch
from tocsin.engine.sources.files.hints import Hints, Waker
from tocsin.engine.sources.files.hub import ObserverHub
from tocsin.engine.sources.files.memory import Memory
from tocsin.engine.sources.files.mounts import remote_kind
from tocsin.engine.sources.files.payload import shown
from tocsin.engine.sources.files.props import FilesProps
from tocsin.engine.sources.files.root import Pace, Root
from tocsin.engine.sources.files.scope import Scope
from tocsin.engine.sources.files.telling import Telling
from tocsin.engine.sources.files.watcher import Harvest, Watcher
from tocsin.registration import Registration
from tocsin.seams import Announce, Clock, FileBookmarks

EVERY_DAY = Pace()
NOTE_S = 0.5  # a burst of thousands is written down as moving in a few commits, not in one for each


class FilesSource:
    """Implements `seams.Source` for registrations whose component is `files`.

    hub: started, and stopped only after the source has ended. pace: only tests hurry.
    watching: set once every root was seen to; what happens to a file from then on is noticed.
    """

    def __init__(
        self,
        registrations: Sequence[Registration],
        *,
        bookmarks: FileBookmarks,
        clock: Clock,
        announce: Announce,
        hub: ObserverHub,
        pace: Pace = EVERY_DAY,
        remote_of: Callable[[str], str | None] = remote_kind,
    ) -> None:
        first = registrations[0]
        self._telling = Telling(first, announce)
        self._clock = clock
        self._hub = hub
        self._pace = pace
        self._remote_of = remote_of
        self._props = FilesProps.read(first.spec.props)
        self._scope = Scope(
            map(os.fsencode, self._props.paths),
            recursive=self._props.recursive,
            match=self._props.match,
            ignore=self._props.ignore,
        )
        self._memory = Memory(registrations, self._props, self._scope, bookmarks=bookmarks, clock=clock)
        self._watcher = self._new_watcher()
        self._batch = Batch(self._props.rest.max_wait)
        self._note_at = float("-inf")
        self._roots: list[Root] = []
        self._tending = (
            threading.Lock()
        )  # a cancelled turn's thread goes on: it must not watch after `_close`
        self.watching = asyncio.Event()
        self._working = False

    @property
    def at_rest(self) -> bool:
        """Whether it watches and nothing it has noticed is still settling or to be recorded."""
        is_idle = self.watching.is_set() and not self._working
        return is_idle and not self._watcher.settling and not self._batch

    def serve(self, registrations: Sequence[Registration]) -> None:
        """Speak for these from now on."""
        self._memory.registrations = tuple(registrations)

    async def run(self) -> None:
        """Watch until cancelled. Raises what `FileBookmarks` raises; run again, it goes on from there."""
        waker = Waker()
        try:
            await self._open(waker)
            while True:
                self._working = True
                pause = await self.once(self._clock.monotonic())
                self._working = False
                await waker.wait(pause)
        finally:
            self._telling.ended()
            await asyncio.to_thread(self._close)

    async def once(self, now: float) -> float:
        """One turn: see to the roots, look at what is hinted at or due, record what has settled.

        Seconds until the next turn is wanted, if no hint comes sooner.
        """
        for root in await asyncio.to_thread(self._tend, now):
            await self._survey(root)
        await self._arm_absent()
        self._telling.health("; ".join(root.problem for root in self._roots if root.problem))
        self.watching.set()
        hints = self._take_hints()
        if hints or self._pause(self._clock.monotonic()) <= 0:
            await self._settle(await asyncio.to_thread(self._watcher.follow, hints, self._roots))
        await self._note()
        return self._pause(self._clock.monotonic())

    async def _open(self, waker: Waker) -> None:
        await self._memory.load()
        self._watcher = self._new_watcher()
        self._watcher.resume({path: self._resumed(at) for path, at in self._memory.unsettled.items()})
        self._batch.clear()
        self._roots = [self._root(path, waker) for path in self._scope.roots]

    def _new_watcher(self) -> Watcher:
        return Watcher(self._props, self._scope, self._memory.snapshot, monotonic=self._clock.monotonic)

    def _root(self, path: bytes, waker: Waker) -> Root:
        return Root(
            path,
            recursive=self._props.recursive,
            hub=self._hub,
            waker=waker,
            pace=self._pace,
            remote_of=self._remote_of,
        )

    def _close(self) -> None:
        with self._tending:
            roots, self._roots = self._roots, []
            for root in roots:
                root.close()

    def _tend(self, now: float) -> list[Root]:
        known = self._watcher.was_file
        with self._tending:
            return [root for root in self._roots if root.tend(now, was_file=known(root.path))]

    async def _survey(self, root: Root) -> None:
        """Look at everything under the root."""
        try:
            found, seen = await asyncio.to_thread(self._watcher.search, root)
        except OSError as error:
            await self._lose(root, error.strerror or str(error))
            return
        if not found.files and self._is_unmounted(root):
            await self._lose(root, "it is empty and on another device than before; is it mounted?")
            return
        self._telling.unread(found.unread)
        if root.remote is not None:
            self._telling.remote(root.path, root.remote, self._pace.remote)
        if not self._memory.is_armed(root.path):
            seen = await self._memory.arm(root.path, seen, root.identity)
        await self._memory.keep_rules(root.path, root.identity)
        await asyncio.to_thread(self._watcher.observe, seen)
        root.surveyed(self._clock.monotonic())

    async def _lose(self, root: Root, why: str) -> None:
        await asyncio.to_thread(root.lose, f"{shown(root.path)}: {why}")

    def _is_unmounted(self, root: Root) -> bool:
        elsewhere = self._memory.was_elsewhere(root.path, root.identity)
        return elsewhere and self._memory.knows_files_of(root.path)

    async def _arm_absent(self) -> None:
        """A root that does not exist, and of which nothing is remembered, is an empty one."""
        for path in [root.path for root in self._roots if root.absent]:
            if not self._memory.is_armed(path) and not self._memory.knows_files_of(path):
                await self._memory.arm(path, {})

    def _take_hints(self) -> list[Hints]:
        taken = [hints for root in self._roots if (hints := root.take())]
        if any(hints.lost for hints in taken):
            self._telling.trouble(
                "the kernel's event queue overflowed and lost events; looking at everything again"
            )
        return taken

    async def _settle(self, harvest: Harvest) -> None:
        for path in harvest.given_up:
            waited = self._props.rest.max_wait
            self._telling.trouble(f"{shown(path)} has not rested for {waited:g} s: given up until it does")
        if not self._props.batch:
            await self._memory.record(harvest.changes)
            self._watcher.recorded(harvest.changes)
            return
        now = self._clock.monotonic()
        self._batch.add(harvest.changes, harvest.settled, now)
        ready = self._batch.take(now, resting=not self._watcher.settling)
        if ready:
            await self._memory.record_batch(ready)
            self._watcher.recorded(ready)
            self._batch.clear()

    async def _note(self) -> None:
        """Write down which paths are on the move, now and then."""
        now = self._clock.monotonic()
        if now < self._note_at:
            return
        began, ended = self._watcher.news(self._batch.paths)
        if began or ended:
            self._note_at = now + NOTE_S
            wall = self._clock.now()
            since = {path: wall - timedelta(seconds=now - first) for path, first in began.items()}
            await self._memory.note(since, ended)

    def _resumed(self, since: datetime) -> float:
        """When a path that an earlier engine saw move began to; it has the quiet time left at least."""
        rest = self._props.rest
        longest = rest.max_wait - rest.debounce - rest.settle
        age = min(max((self._clock.now() - since).total_seconds(), 0.0), longest)
        return self._clock.monotonic() - age

    def _pause(self, now: float) -> float:
        look_at = self._watcher.settling.next_look()
        wanted = [root.check_at for root in self._roots]
        if self._batch.deadline is not None:
            wanted.append(self._batch.deadline)
        return max(0.0, min([*wanted, look_at] if look_at is not None else wanted) - now)
