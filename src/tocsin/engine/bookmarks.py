"""What file sources remember: implements `seams.FileBookmarks` on the store.

A file's mark and its event commit together, so one settled state is one event, across crashes too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from tocsin.engine import own_writes
from tocsin.engine.accept import with_run
from tocsin.engine.admission import admit
from tocsin.engine.binding import Mismatch
from tocsin.engine.claims import Claims
from tocsin.engine.judging import Batch, write_judged
from tocsin.event import Accepted, Answer, Declined, Filtered, Occurrence
from tocsin.instants import rfc3339
from tocsin.registration import DRIFTED, PAUSED, Registration
from tocsin.seams import Announce, Clock, FileMark
from tocsin.store import installations, registrations, workflows
from tocsin.store.connection import Store, Tx

HALTS: Final = frozenset({PAUSED, DRIFTED})  # as `Registration.halt` says them


class StoredBookmarks:
    """File marks in the database."""

    def __init__(self, *, store: Store, clock: Clock, announce: Announce, claims: Claims) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._claims = claims

    async def load(self, installation_id: str) -> Mapping[bytes, FileMark] | None:
        """Every mark by path; None when a baseline is due."""

        def step(tx: Tx) -> Mapping[bytes, FileMark] | None:
            if installations.cursor(tx, installation_id) is None:
                return None
            return installations.marks(tx, installation_id)

        return await self._store.read(step)

    async def baseline(self, installation_id: str, marks: Sequence[FileMark]) -> Mapping[bytes, FileMark]:
        """Take these for what is there now, making no event. Returns every mark as it is stored.

        Generations never go back, so that an earlier delivery id is not given out again.
        """
        now = self._clock.now()

        def step(tx: Tx) -> Mapping[bytes, FileMark]:
            stored = rebased(installations.marks(tx, installation_id), marks)
            installations.put_marks(tx, installation_id, stored.values())
            installations.clear_unsettled(tx, installation_id)
            installations.move_cursor(tx, installation_id, {"baseline_at": rfc3339(now)})
            return stored

        return await self._store.write(step)

    async def record(
        self, installation_id: str, marks: Sequence[FileMark], occurrences: Sequence[Occurrence]
    ) -> Sequence[Answer]:
        """Write the marks and accept the occurrences in one transaction. Raises BindingMismatch.

        In a pause nothing is written: the source finds the difference again when it goes on.
        """
        now = self._clock.now()
        answers = await write_judged(
            self._store,
            lambda tx, batch: self._record(tx, batch, installation_id, marks, occurrences, now),
            now,
        )
        for answer in answers:
            if isinstance(answer, Mismatch):
                raise answer.error()
        return [answer for answer in answers if not isinstance(answer, Mismatch)]

    async def unsettled(self, installation_id: str) -> Mapping[bytes, datetime]:
        """Paths that were on the move when last heard of, and since when."""
        return await self._store.read(lambda tx: installations.unsettled(tx, installation_id))

    async def note_unsettled(
        self, installation_id: str, began: Mapping[bytes, datetime], ended: Collection[bytes]
    ) -> None:
        """These paths are on the move since then, those are not any more."""

        def step(tx: Tx) -> None:
            installations.settle(tx, installation_id, ended)
            installations.unsettle(tx, installation_id, began)

        await self._store.write(step)

    def _record(
        self,
        tx: Tx,
        batch: Batch,
        installation_id: str,
        marks: Sequence[FileMark],
        occurrences: Sequence[Occurrence],
        now: datetime,
    ) -> Sequence[Answer | Mismatch]:
        answers = [self._take(tx, batch, occurrence, now) for occurrence in occurrences]
        if not any(isinstance(answer, Mismatch) or is_for_later(answer) for answer in answers):
            installations.put_marks(tx, installation_id, marks)
            installations.settle(tx, installation_id, [mark.path for mark in marks])
        batch.require()
        taken = [(claim.event.id, claim.ref.run_id) for claim in self._claims.take(tx, now)]
        return [with_run(answer, taken) if isinstance(answer, Accepted) else answer for answer in answers]

    def _take(self, tx: Tx, batch: Batch, occurrence: Occurrence, now: datetime) -> Answer | Mismatch:
        """Accept it, unless its own trigger's workflow wrote it; a loop of undeclared writes is ended."""
        registration = registrations.by_id(tx, occurrence.registration_id)
        if registration is None:
            return admit(tx, occurrence, now=now, announce=self._announce, batch=batch)
        writes = writes_of(tx, registration)
        left = own_writes.without_own(occurrence, writes)
        if left is None:
            own_writes.note_own(tx, registration, occurrence, writes, event_id=None, now=now)
            return Filtered()
        answer = admit(tx, left, now=now, announce=self._announce, batch=batch)
        if isinstance(answer, Accepted):
            id_ = answer.event_id
            if left is not occurrence:
                own_writes.note_own(tx, registration, occurrence, writes, event_id=id_, now=now)
            own_writes.guard(tx, registration, left, id_, now=now, announce=self._announce)
        return answer


def writes_of(tx: Tx, registration: Registration) -> tuple[str, ...]:
    """What its workflow writes."""
    found = workflows.by_name(tx, registration.spec.workflow)
    return () if found is None else found[0].writes


def is_for_later(answer: Answer | Mismatch) -> bool:
    """Whether an occurrence was declined for a time: its trigger is halted, not off."""
    return isinstance(answer, Declined) and answer.reason in HALTS


def rebased(old: Mapping[bytes, FileMark], present: Sequence[FileMark]) -> dict[bytes, FileMark]:
    """New marks on top of old ones: what is not present any more is gone, generations only rise."""
    stored = {path: replace(mark, gone=True) for path, mark in old.items()}
    for mark in present:
        before = old.get(mark.path)
        generation = mark.generation if before is None else before.generation + 1
        stored[mark.path] = replace(mark, generation=generation, gone=False)
    return stored
