"""In-memory implementations of seams, for tests; each passes its seam's conformance suite."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from tocsin.event import Accepted, Answer, Declined, Duplicate, Occurrence
from tocsin.notices import Notice
from tocsin.runs import Outcome, Outputs, ProcessFacts, Run, RunRequest, Verdict
from tocsin.seams import FileMark
from tocsin.trigger import Json

DEADLINE_S: Final = 30.0  # only a broken test waits that long
N = TypeVar("N")


class FakeFileBookmarks:
    """Implements `seams.FileBookmarks`.

    inactive: registration ids whose occurrences are declined. baselined: installations with a
    baseline; taking one out makes the next start take another. occurrences: the accepted ones, in
    order, each once. fail_next: raised by the next write instead of writing.
    """

    def __init__(self) -> None:
        self.marks: dict[str, dict[bytes, FileMark]] = {}
        self.moving: dict[str, dict[bytes, datetime]] = {}
        self.occurrences: list[Occurrence] = []
        self.inactive: set[str] = set()
        self.baselined: set[str] = set()
        self.fail_next: Exception | None = None
        self._events: dict[tuple[str, str], str] = {}

    async def load(self, installation_id: str) -> Mapping[bytes, FileMark] | None:
        return dict(self.marks[installation_id]) if installation_id in self.baselined else None

    async def baseline(self, installation_id: str, marks: Sequence[FileMark]) -> Mapping[bytes, FileMark]:
        self._fail_if_told()
        stored = await asyncio.to_thread(_rebased, self.marks.get(installation_id, {}), marks)
        self.marks[installation_id] = stored
        self.baselined.add(installation_id)
        self.moving.pop(installation_id, None)
        return dict(stored)

    async def record(
        self, installation_id: str, marks: Sequence[FileMark], occurrences: Sequence[Occurrence]
    ) -> Sequence[Answer]:
        self._fail_if_told()
        self.marks.setdefault(installation_id, {}).update({mark.path: mark for mark in marks})
        for mark in marks:
            self.moving.get(installation_id, {}).pop(mark.path, None)
        return [self._accept(occurrence) for occurrence in occurrences]

    async def unsettled(self, installation_id: str) -> Mapping[bytes, datetime]:
        return dict(self.moving.get(installation_id, {}))

    async def note_unsettled(
        self, installation_id: str, began: Mapping[bytes, datetime], ended: Collection[bytes]
    ) -> None:
        self._fail_if_told()
        moving = self.moving.setdefault(installation_id, {})
        for path in ended:
            moving.pop(path, None)
        moving.update(began)

    def _accept(self, occurrence: Occurrence) -> Answer:
        if occurrence.registration_id in self.inactive:
            return Declined(reason="user")
        key = (occurrence.registration_id, occurrence.delivery_id)
        if key in self._events:
            return Duplicate(event_id=self._events[key])
        self._events[key] = f"evt_{len(self._events)}"
        self.occurrences.append(occurrence)
        return Accepted(event_id=self._events[key])

    def _fail_if_told(self) -> None:
        error, self.fail_next = self.fail_next, None
        if error is not None:
            raise error


class FakeClock:
    """Implements `seams.Clock`; moves only when told to."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC)) -> None:
        self._now = now
        self._monotonic = 1000.0
        self._slept = timedelta()

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def boottime(self) -> float | None:
        return self._monotonic + self._slept.total_seconds()

    def sleep(self, length: timedelta) -> datetime:
        """A suspended machine: only the engine's own clock stands still."""
        self._slept += length
        return self.jump(length)

    def advance(self, length: timedelta | float) -> datetime:
        """Let time pass on both clocks; a bare number is seconds. Returns the new time."""
        length = length if isinstance(length, timedelta) else timedelta(seconds=length)
        if length < timedelta():
            raise ValueError("time passes forwards; `jump` moves the wall clock alone")
        self._monotonic += length.total_seconds()
        return self.jump(length)

    def jump(self, length: timedelta) -> datetime:
        """Move the wall clock alone, either way: somebody set it."""
        self._now += length
        return self._now


class Notices:
    """Implements `seams.Announce`; keeps every notice and lets a test wait for one.

    listeners: told of each, as an engine's own bus tells its parts.
    """

    def __init__(self) -> None:
        self.all: list[Notice] = []
        self.listeners: list[Callable[[Notice], None]] = []
        self._news = asyncio.Event()

    def __call__(self, notice: Notice) -> None:
        self.all.append(notice)
        self._news.set()
        for listener in self.listeners:
            listener(notice)

    def of(self, kind: type[N]) -> list[N]:
        """All of one kind so far, in order."""
        return [notice for notice in self.all if isinstance(notice, kind)]

    async def wait_for(
        self, kind: type[N], where: Callable[[N], object] = lambda _: True, *, count: int = 1
    ) -> N:
        """The `count`th notice of a kind that fits, past ones included; fails after the deadline."""
        try:
            async with asyncio.timeout(DEADLINE_S):
                while len(found := [notice for notice in self.of(kind) if where(notice)]) < count:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            said = "\n".join(map(repr, self.all))
            raise AssertionError(
                f"waited {DEADLINE_S:g} s for {kind.__name__} {count}; heard:\n{said}"
            ) from None
        return found[count - 1]


class FakeHandle:
    """Implements `seams.RunHandle`; ends when the test says so."""

    def __init__(self, process: ProcessFacts | None = None) -> None:
        self.cancels: list[bool] = []
        self._process = process
        self._end: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    @property
    def process(self) -> ProcessFacts | None:
        return self._process

    def end(self, outcome: Outcome) -> None:
        """The run ends so, unless it has ended."""
        if not self._end.done():
            self._end.set_result(outcome)

    def succeed(self, **outputs: Json) -> None:
        self.end(succeeded(**outputs))

    def fail(self, error: str = "exit code 1", **outputs: Json) -> None:
        self.end(failed(error, **outputs))

    async def wait(self) -> Outcome:
        try:
            return await asyncio.shield(self._end)
        except asyncio.CancelledError:
            self.cancels.append(False)
            self.end(Outcome(verdict=Verdict.CANCELLED, error="cancelled"))
            raise

    async def cancel(self, *, interrupted: bool = False) -> None:
        self.cancels.append(interrupted)
        verdict = Verdict.INTERRUPTED if interrupted else Verdict.CANCELLED
        self.end(Outcome(verdict=verdict, error=verdict.value))


class FakeRunner:
    """Implements `seams.Runner`.

    requests: what was started, in order. script: decides a run's end as it starts; None leaves it to
    the test. broken: raised by `start` instead of starting. attachable: handles of runs that are
    found again, by run id; attached: every run that was asked for.
    """

    def __init__(self) -> None:
        self.requests: list[RunRequest] = []
        self.handles: dict[str, FakeHandle] = {}
        self.script: Callable[[RunRequest], Outcome | None] = lambda _: None
        self.broken: Exception | None = None
        self.process: ProcessFacts | None = None
        self.attachable: dict[str, FakeHandle] = {}
        self.attached: list[Run] = []

    async def start(self, request: RunRequest) -> FakeHandle:
        if self.broken is not None:
            raise self.broken
        handle = FakeHandle(self.process)
        self.requests.append(request)
        self.handles[request.run_id] = handle
        outcome = self.script(request)
        if outcome is not None:
            handle.end(outcome)
        return handle

    async def attach(self, run: Run) -> FakeHandle | None:
        self.attached.append(run)
        return self.attachable.get(run.id)


def succeeded(**outputs: Json) -> Outcome:
    """A success with these outputs; `state`, `next_fire_at` and `cost_usd` are tocsin's own."""
    return Outcome(verdict=Verdict.SUCCEEDED, exit_code=0, outputs=written(outputs))


def failed(error: str = "exit code 1", **outputs: Json) -> Outcome:
    """A failure that another attempt may mend."""
    return Outcome(verdict=Verdict.FAILED, exit_code=1, error=error, outputs=written(outputs))


def written(outputs: Mapping[str, Json]) -> Outputs:
    """Outputs as a runner reads them from a run's file."""
    own: dict[str, Any] = {
        key: outputs[key] for key in ("state", "next_fire_at", "cost_usd") if key in outputs
    }
    rest = {key: value for key, value in outputs.items() if key not in own}
    return Outputs(present=frozenset(outputs), result=rest, **own)


class FakeSecrets:
    """Implements `seams.SecretStore` in memory."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def put(self, name: str, value: str) -> None:
        self.values[name] = value

    def delete(self, name: str) -> None:
        self.values.pop(name, None)


def _rebased(old: Mapping[bytes, FileMark], marks: Sequence[FileMark]) -> dict[bytes, FileMark]:
    stored = {path: replace(mark, gone=True) for path, mark in old.items()}
    for mark in marks:
        rise = old[mark.path].generation + 1 if mark.path in old else mark.generation
        stored[mark.path] = replace(mark, generation=rise)
    return stored
