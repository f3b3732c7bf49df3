"""A files source on a real folder, with the engine around it faked."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from tests.fakes import FakeFileBookmarks
from tocsin.clock import SystemClock
from tocsin.engine.sources.files.hub import ObserverHub
from tocsin.engine.sources.files.mounts import remote_kind
from tocsin.engine.sources.files.root import Pace
from tocsin.engine.sources.files.source import FilesSource
from tocsin.event import Answer, Occurrence
from tocsin.notices import Notice
from tocsin.registration import Registration
from tocsin.seams import FileMark
from tocsin.trigger import Json, Kind, Overlap, TriggerSpec

DEADLINE = 30.0  # seconds; only a broken test waits that long
QUICK = Pace(check=0.1, rescan=600.0, poll=0.2, rewatch=600.0, remote=0.2)
N = TypeVar("N")


class Killed(Exception):
    """Stands for the death of the process: nobody catches it."""


class Signal:
    """Wakes whoever waits for something to become true."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def __call__(self) -> None:
        self._event.set()

    async def until(self, true: Callable[[], object], what: Callable[[], object] = lambda: "") -> None:
        """Returns once `true()`; fails after the deadline, saying `what()`."""
        try:
            async with asyncio.timeout(DEADLINE):
                while not true():
                    await self._event.wait()
                    self._event.clear()
        except TimeoutError:
            raise AssertionError(f"waited {DEADLINE:g} s in vain; {what()}") from None


class SignallingBookmarks(FakeFileBookmarks):
    """Tells of every write."""

    def __init__(self, signal: Signal) -> None:
        super().__init__()
        self.signal = signal
        self.notes = 0

    async def baseline(self, installation_id: str, marks: Sequence[FileMark]) -> Mapping[bytes, FileMark]:
        stored = await super().baseline(installation_id, marks)
        self.signal()
        return stored

    async def note_unsettled(
        self, installation_id: str, began: Mapping[bytes, datetime], ended: Collection[bytes]
    ) -> None:
        await super().note_unsettled(installation_id, began, ended)
        self.notes += 1
        self.signal()

    async def record(
        self, installation_id: str, marks: Sequence[FileMark], occurrences: Sequence[Occurrence]
    ) -> Sequence[Answer]:
        await asyncio.to_thread(bool)  # a real one waits for its database and lets the loop run
        answers = await super().record(installation_id, marks, occurrences)
        self.signal()
        return answers


def registration(name: str, **props: Json) -> Registration:
    """A files trigger; its installation is named after it."""
    quick: dict[str, Json] = {"debounce_ms": 50, "settle_ms": 80}
    spec = TriggerSpec(
        name=name,
        workflow="w",
        kind=Kind.FILE,
        component="files",
        overlap=Overlap.ALLOW,
        props={**quick, **props},
    )
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Registration(
        id=f"trg_{name}",
        spec=spec,
        installation_id=f"ins_{name}",
        workflow_version=1,
        armed_at=at,
        created_at=at,
    )


class Rig:
    """Sources by trigger name, what they made, and what they said."""

    def __init__(self) -> None:
        self.signal = Signal()
        self.bookmarks = SignallingBookmarks(self.signal)
        self.notices: list[Notice] = []
        self.failures: list[Exception] = []
        self.hub = ObserverHub()
        self.sources: dict[str, FilesSource] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sentinels = 0
        self.remote_of: Callable[[str], str | None] = remote_kind

    def announce(self, notice: Notice) -> None:
        self.notices.append(notice)
        self.signal()

    def source(self, name: str, *, pace: Pace = QUICK, **props: Json) -> FilesSource:
        return FilesSource(
            [registration(name, **props)],
            bookmarks=self.bookmarks,
            clock=SystemClock(),
            announce=self.announce,
            hub=self.hub,
            pace=pace,
            remote_of=self.remote_of,
        )

    async def start(
        self, *paths: Path | str, name: str = "t", armed: bool = True, pace: Pace = QUICK, **props: Json
    ) -> FilesSource:
        """Start a source on these paths; `armed`: return once it watches."""
        source = self.source(name, pace=pace, paths=[str(path) for path in paths], **props)
        await self.run(source, name)
        if armed:
            await asyncio.wait_for(source.watching.wait(), DEADLINE)
        return source

    async def run(self, source: FilesSource, name: str = "t") -> None:
        """Run a source, also one that was stopped."""
        self.sources[name] = source
        self._tasks[name] = asyncio.create_task(self._supervise(source), name=name)

    async def stop(self, name: str = "t") -> None:
        task = self._tasks.pop(name)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    async def died(self, name: str = "t") -> None:
        """Wait for the source to be killed by what its bookmarks raised."""
        with suppress(Killed):
            await asyncio.wait_for(self._tasks.pop(name), DEADLINE)

    def marks(self, name: str = "t") -> list[FileMark]:
        return list(self.bookmarks.marks.get(f"ins_{name}", {}).values())

    async def close(self) -> None:
        for name in list(self._tasks):
            await self.stop(name)
        await asyncio.to_thread(self.hub.stop)

    def made(self, name: str = "t") -> list[Mapping[str, Any]]:
        """The payloads of this trigger's events, in order, without the sentinels'."""
        payloads = [
            cast("Mapping[str, Any]", occurrence.payload)
            for occurrence in self.bookmarks.occurrences
            if occurrence.registration_id == f"trg_{name}"
        ]
        return [payload for payload in payloads if "sentinel" not in payload["name"]]

    def told(self, name: str = "t") -> list[tuple[str, str]]:
        """(event, name) of each."""
        return [(payload["event"], payload["name"]) for payload in self.made(name)]

    async def events(self, count: int, name: str = "t") -> list[tuple[str, str]]:
        """Wait for so many events; fails when there are more."""
        await self.signal.until(lambda: len(self.made(name)) >= count, lambda: self.told(name))
        assert len(self.made(name)) == count, self.told(name)
        return self.told(name)

    async def quiet(self, folder: Path, suffix: str = "", name: str = "t") -> list[tuple[str, str]]:
        """All events, once whatever was done before has certainly settled.

        A file made now settles after everything that was at rest before it.
        """
        self._sentinels += 1
        sentinel = folder / f"sentinel{self._sentinels}{suffix}"
        sentinel.write_text("x")
        await self.signal.until(lambda: self._has(f"trg_{name}", sentinel), lambda: self.told(name))
        return self.told(name)

    async def notice(self, kind: type[N]) -> N:
        """The latest notice of this kind, once there is one."""
        await self.signal.until(
            lambda: any(isinstance(notice, kind) for notice in self.notices), lambda: self.notices
        )
        return [notice for notice in self.notices if isinstance(notice, kind)][-1]

    def _has(self, registration_id: str, path: Path) -> bool:
        wanted = (registration_id, f"{path}:1")
        return any((made.registration_id, made.delivery_id) == wanted for made in self.bookmarks.occurrences)

    async def _supervise(self, source: FilesSource) -> None:
        """As the engine does: what `run` raises is noted, and the same object is run again."""
        while True:
            try:
                await source.run()
            except RuntimeError as error:
                self.failures.append(error)
                self.signal()


def watchdog_threads() -> set[threading.Thread]:
    """Threads other than asyncio's workers and the main one."""
    return {thread for thread in threading.enumerate() if type(thread).__module__.startswith("watchdog")}


@asynccontextmanager
async def open_rig() -> AsyncIterator[Rig]:
    """A rig that leaves nothing behind."""
    rig = Rig()
    rig.hub.start()
    try:
        yield rig
    finally:
        await rig.close()
        assert watchdog_threads() == set()


def save_atomically(path: Path, text: str, temporary: str) -> None:
    """As editors and downloaders do: write beside, sync, rename over."""
    beside = path.with_name(temporary)
    with beside.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    beside.rename(path)
