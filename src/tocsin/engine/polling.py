"""What a poll brought, through the one door: its items and its cursor in one transaction.

A poll reads from a cursor and hands in what it found together with the next cursor. Only whoever
holds the stored cursor may advance it, so two pollers of one source can never both do so, and a
crash leaves either all of a poll or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tocsin.engine.accept import with_run
from tocsin.engine.admission import admit
from tocsin.engine.binding import Mismatch, compare, refuse
from tocsin.engine.claims import Claims
from tocsin.engine.judging import Batch, write_judged
from tocsin.engine.recognition import seed
from tocsin.errors import StaleCursor
from tocsin.event import Accepted, Answer, Declined, Occurrence
from tocsin.registration import Registration
from tocsin.seams import Announce, Clock
from tocsin.store import installations, registrations
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that a poll found. id: the source's own, stable. occurred_at: aware UTC."""

    id: str
    occurred_at: datetime
    payload: Json = None
    event_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """What one tick of a source found. cursor: the one it read from. items: oldest first."""

    installation_id: str
    component: str
    component_version: int
    cursor: Json
    items: Sequence[Item]
    next_cursor: Json


class Polls:
    """The poller's side of `accept`."""

    def __init__(self, *, store: Store, clock: Clock, announce: Announce, claims: Claims) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._claims = claims

    async def accept_poll(self, poll: Poll) -> Sequence[Answer]:
        """Take every item for every trigger of the source, and move the cursor; after the commit.

        Answers item by item, within one by the triggers' names. A trigger that is off remembers the
        items and never runs them; a paused one holds them. Raises StaleCursor, BindingMismatch.
        """
        now = self._clock.now()
        answers = await write_judged(self._store, lambda tx, batch: self._step(tx, batch, poll, now), now)
        if isinstance(answers, Mismatch):
            raise answers.error()
        return answers

    def _step(self, tx: Tx, batch: Batch, poll: Poll, now: datetime) -> Sequence[Answer] | Mismatch:
        require_cursor(tx, poll)
        rows = registrations.of_installation(tx, poll.installation_id)
        wrong = first_mismatch(rows, poll, now)
        if wrong is not None:
            return refuse(tx, wrong, now)
        found = ((row, occurrence(row, poll, item)) for item in poll.items for row in rows)
        answers = [self._take(tx, batch, row, one, now) for row, one in found]
        installations.move_cursor(tx, poll.installation_id, poll.next_cursor)
        batch.require()
        taken = [(claim.event.id, claim.ref.run_id) for claim in self._claims.take(tx, now)]
        return [with_run(answer, taken) if isinstance(answer, Accepted) else answer for answer in answers]

    def _take(self, tx: Tx, batch: Batch, row: Registration, found: Occurrence, now: datetime) -> Answer:
        off = row.off_reason(now)
        if off is not None:
            seed(tx, row, found, now)
            return Declined(reason=off)
        answer = admit(tx, found, now=now, announce=self._announce, batch=batch)
        assert not isinstance(answer, Mismatch)  # noqa: S101 - compared before anything was written
        return answer


def require_cursor(tx: Tx, poll: Poll) -> None:
    """Raises StaleCursor when somebody else has read on, or when there is no such source."""
    if not installations.exists(tx, poll.installation_id):
        raise StaleCursor(installation_id=poll.installation_id)
    if canonical(installations.cursor(tx, poll.installation_id)) != canonical(poll.cursor):
        raise StaleCursor(installation_id=poll.installation_id)


def canonical(cursor: Json) -> str:
    """A cursor as text: 1, 1.0 and true differ, the order of keys does not matter."""
    return json.dumps(cursor, sort_keys=True)


def first_mismatch(rows: Sequence[Registration], poll: Poll, now: datetime) -> Mismatch | None:
    """The first trigger that is not bound to what the poller speaks for."""
    probe = Item(id="", occurred_at=now)
    found = (compare(row, occurrence(row, poll, probe)) for row in rows)
    return next((wrong for wrong in found if wrong is not None), None)


def occurrence(row: Registration, poll: Poll, item: Item) -> Occurrence:
    """An item as one trigger is told of it."""
    return Occurrence(
        registration_id=row.id,
        component=poll.component,
        component_version=poll.component_version,
        kind=row.spec.kind,
        delivery_id=item.id,
        given_id=item.id,
        occurred_at=item.occurred_at,
        payload=item.payload,
        event_type=item.event_type,
    )
