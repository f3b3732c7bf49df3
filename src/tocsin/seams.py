"""Every seam as a Protocol: what one part may ask of another without knowing it.

One conformance suite per seam runs for every implementation, fakes included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from tocsin.event import Answer, Limited, Occurrence
from tocsin.notices import Notice
from tocsin.registration import Registration
from tocsin.runs import Outcome, ProcessFacts, Run, RunRequest
from tocsin.trigger import Rate


class Clock(Protocol):
    """The only way to learn the time."""

    def now(self) -> datetime:
        """The wall clock: aware, UTC, microseconds. May jump either way."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...

    def boottime(self) -> float | None:
        """The same, but it goes on while the machine sleeps; None where no clock tells."""
        ...


class Announce(Protocol):
    """Takes a notice; never blocks and never raises."""

    def __call__(self, notice: Notice) -> None: ...


class Accept(Protocol):
    """The one door: the only way an event comes into being."""

    async def accept(self, occurrence: Occurrence) -> Answer:
        """Check the binding, deduplicate, record; returns after the commit.

        Raises BindingMismatch when the occurrence claims a binding that is not its registration's.
        """
        ...

    async def accept_all(
        self, occurrences: Sequence[Occurrence], *, rate: Rate | None = None
    ) -> Sequence[Answer] | Limited:
        """Take one delivery for each trigger that it is told to, in one transaction; answers in order.

        rate: how often their source may tell of something. A wrong binding is declined.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMark:
    """One path of a files installation as last settled.

    path: the absolute path's exact bytes. generation: rises with each newly settled state; the
    first is 1. gone: the file is no longer there (its row stays, so that a file that comes back is
    new). content: SHA-256 of what it held; None where that was not asked for or could not be read.
    """

    path: bytes
    generation: int
    size: int
    mtime_ns: int
    inode: int
    gone: bool = False
    content: bytes | None = None


class FileBookmarks(Protocol):
    """What a files source remembers, per installation."""

    async def load(self, installation_id: str) -> Mapping[bytes, FileMark] | None:
        """Every mark by path, gone ones included; None when no baseline was ever taken."""
        ...

    async def baseline(self, installation_id: str, marks: Sequence[FileMark]) -> Mapping[bytes, FileMark]:
        """Take these for what is there now, in one transaction, making no event.

        Returns every mark as it is stored: paths not among them are gone, and generations never go
        back, so that an earlier delivery id is not given out again.
        """
        ...

    async def record(
        self, installation_id: str, marks: Sequence[FileMark], occurrences: Sequence[Occurrence]
    ) -> Sequence[Answer]:
        """Write the marks and accept the occurrences, all in one transaction.

        Their paths are unsettled no more. Answers in the order of the occurrences. An occurrence whose
        registration is off leaves its marks written (so nothing old fires later); one whose registration
        is paused leaves none.
        """
        ...

    async def unsettled(self, installation_id: str) -> Mapping[bytes, datetime]:
        """Paths that were on the move when last heard of, and since when."""
        ...

    async def note_unsettled(
        self, installation_id: str, began: Mapping[bytes, datetime], ended: Collection[bytes]
    ) -> None:
        """These paths are on the move since then, those are not any more: a crash must not forget either."""
        ...


class Flag(Protocol):
    """Something that becomes true once; `asyncio.Event` is one."""

    def is_set(self) -> bool:
        """Whether it is true by now."""
        ...

    async def wait(self) -> bool:
        """Return once it is true."""
        ...


class Source(Protocol):
    """Something that watches on behalf of the registrations of one installation, and speaks for them."""

    @property
    def watching(self) -> Flag:
        """Set once it has looked at what it watches for the first time: nothing new is missed then."""
        ...

    @property
    def at_rest(self) -> bool:
        """Whether nothing that it has noticed waits to be recorded."""
        ...

    def serve(self, registrations: Sequence[Registration]) -> None:
        """Speak for these from now on: one or more, of the same installation and its settings."""
        ...

    async def run(self) -> None:
        """Watch until cancelled. Raises when it cannot go on; running the same object again continues."""
        ...


class RunHandle(Protocol):
    """A run under way."""

    @property
    def process(self) -> ProcessFacts | None:
        """The local process, when there is one."""
        ...

    async def wait(self) -> Outcome:
        """How the run ended; returns only when nothing of it runs any more. Cancelling it cancels the run."""
        ...

    async def cancel(self, *, interrupted: bool = False) -> None:
        """Ask the run to stop (TERM, grace, KILL); `wait` then returns CANCELLED, or INTERRUPTED."""
        ...


class Runner(Protocol):
    """Starts runs. Returns at once; the end comes through the handle."""

    async def start(self, request: RunRequest) -> RunHandle:
        """Start the run. Raises SpawnFailed when it cannot be started, RunnerUnreachable when that is
        not the run's fault; nothing runs then.
        """
        ...

    async def attach(self, run: Run) -> RunHandle | None:
        """Find a run of a dead engine again.

        None when it cannot be waited for; whatever was left of it has then been stopped, so that a
        retry never runs beside it.
        """
        ...


class SecretStore(Protocol):
    """Named secrets at rest."""

    def get(self, name: str) -> str | None:
        """The value, or None when there is none."""
        ...

    def put(self, name: str, value: str) -> None:
        """Store or replace a value; durable when it returns."""
        ...

    def delete(self, name: str) -> None:
        """Forget a value; no error when there is none."""
        ...


class SecretReferences(Protocol):
    """Finds secrets by reference (`env:HOOK`, `store:partner`). Blocks: ask in a thread."""

    def values(self, references: Sequence[str]) -> Sequence[str]:
        """The value of each, in their order. Raises SecretMissing."""
        ...


SourceFactory = Callable[[Sequence[Registration]], Source]
"""Makes the source that serves these registrations, one or more of one installation."""
