"""What a run does only once, so that a later attempt can leave it out: `once_begin`, `once_end` and so on.

Kept per trigger and key. Who is at a step is a process of a run: of several that ask at once one has it.
Between the beginning and the end of a step its run may die: whoever comes next
does the step again, so that it is done at least once, and exactly once unless a crash comes in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tocsin.engine.runners.outputs import read_state
from tocsin.engine.runners.process import lives
from tocsin.errors import BadRequest, NotFound, Refused
from tocsin.runs import Run, RunState
from tocsin.seams import Clock
from tocsin.store import journal, once, runs
from tocsin.store.connection import Store, Tx
from tocsin.store.once import Deed, Holder
from tocsin.trigger import Json

LONGEST: Final = 200  # characters of a key: room for two ids and a word, and an index stays small


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Whether the step is to be done now. run_id: who does or did it. result: what was kept of it."""

    first: bool
    run_id: str
    result: Json = None


class Once:
    """Keeps what was done."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def begin(self, holder: Holder, key: str, *, done: bool) -> Turn:
        """Ask whether the step is still to be done, and begin it if so. done: it is done with that.

        Raises BadRequest for a key that cannot be kept, NotFound for an unknown run, and Refused for a
        run that has ended, or while another process is at this step.
        """
        checked(key)
        now = self._clock.now()
        return await self._store.write(lambda tx: begun(tx, holder, key, done=done, now=now))

    async def end(self, holder: Holder, key: str, *, result: str | None) -> None:
        """The step is done. result: JSON, at most 64 KiB of it, None for none.

        Raises BadRequest, NotFound, and Refused when this process is no longer at the step.
        """
        kept, now = None if result is None else read_state(result.encode()), self._clock.now()
        await self._store.write(lambda tx: ended(tx, holder, key, kept, now))

    async def give_up(self, holder: Holder, key: str) -> None:
        """The step was not done: whoever asks next does it. Raises NotFound."""

        def step(tx: Tx) -> None:
            once.give_up(tx, run_called(tx, holder.run_id).registration_id, key, holder=holder)

        await self._store.write(step)


def begun(tx: Tx, holder: Holder, key: str, *, done: bool, now: datetime) -> Turn:
    run = run_called(tx, holder.run_id)
    if run.state is not RunState.RUNNING:
        raise Refused(f"{run.id} has ended ({run.state}): nothing is done on its behalf any more")
    deed = once.find(tx, run.registration_id, key)
    if deed is not None and deed.is_done:
        note(tx, run, "left out", f"{key}: done by {deed.holder.run_id}", now)
        return Turn(first=False, run_id=deed.holder.run_id, result=deed.result)
    if deed is not None:
        refuse_busy(tx, deed, key, run)
        note(tx, run, "taken over", f"{key}: {named(deed, run)} ended without finishing it", now)
    once.begin(tx, run.registration_id, key, holder=holder, now=now)
    if done:
        once.end(tx, run.registration_id, key, holder=holder, result=None, now=now)
    return Turn(first=True, run_id=run.id)


def ended(tx: Tx, holder: Holder, key: str, result: Json, now: datetime) -> None:
    run = run_called(tx, holder.run_id)
    if not once.end(tx, run.registration_id, key, holder=holder, result=result, now=now):
        deed = once.find(tx, run.registration_id, key)
        who = "nobody has begun it" if deed is None else f"{named(deed, run)} has it"
        raise Refused(f"{key!r} is not at this process's hands any more: {who}")


def refuse_busy(tx: Tx, deed: Deed, key: str, run: Run) -> None:
    """Raises Refused while the process that is at it lives and its run goes on; a forgotten run does not."""
    its = run if deed.holder.run_id == run.id else runs.by_id(tx, deed.holder.run_id)
    if its is not None and its.state is RunState.RUNNING and lives(deed.holder.process):
        raise Refused(f"{key!r} is being done by {named(deed, run)}: try again when it has ended")


def named(deed: Deed, run: Run) -> str:
    """Who is at it, as one run sees it."""
    whose = "this run" if deed.holder.run_id == run.id else deed.holder.run_id
    return f"process {deed.holder.process.pid} of {whose}"


def checked(key: str) -> None:
    """Raises BadRequest for a key that says nothing or too much."""
    if not key or len(key) > LONGEST:
        raise BadRequest(f"key: expected 1 to {LONGEST} characters, got {len(key)}")


def run_called(tx: Tx, run_id: str) -> Run:
    """Raises NotFound."""
    run = runs.by_id(tx, run_id)
    if run is None:
        raise NotFound(thing="run", name=run_id)
    return run


def note(tx: Tx, run: Run, what: str, reason: str, now: datetime) -> None:
    """A line of the event's story."""
    journal.write(
        tx, what, registration_id=run.registration_id, event_id=run.event_id, reason=reason, now=now
    )
