"""Verbs of the `events` table for what a person decides anew. Each runs inside a transaction.

Called by ``engine.second_thoughts`` and ``engine.disarming``; the queue's own verbs are in ``events``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tocsin.event import State
from tocsin.instants import microseconds
from tocsin.store.connection import Tx


def last_dropped(tx: Tx, registration_id: str) -> Sequence[tuple[str, str | None]]:
    """(id, lane) of what the last disarm dropped and still has its payload, in accept order."""
    rows = tx.all("events.last_dropped", registration_id=registration_id)
    return [(row["id"], row["lane"]) for row in rows if row["has_payload"]]


def beyond_recall(tx: Tx, registration_id: str) -> int:
    """How many that the last disarm dropped cannot come back: their payload was given up."""
    return sum(
        not row["has_payload"] for row in tx.all("events.last_dropped", registration_id=registration_id)
    )


def requeue(tx: Tx, id_: str, *, held: str | None, now: datetime) -> None:
    """Bring a dropped event back: held for this reason, claimable at once without one."""
    state, reason, next_fire_at = place(held, now)
    tx.run("events.requeue", id=id_, state=state, reason=reason, next_fire_at=next_fire_at)


def revive(tx: Tx, id_: str, *, busy: bool, now: datetime) -> None:
    """Give a failed event one attempt more: held when its lane is busy, else claimable at once."""
    state, reason, next_fire_at = place("lane" if busy else None, now)
    tx.run("events.revive", id=id_, state=state, reason=reason, next_fire_at=next_fire_at)


def hurry(tx: Tx, id_: str, now: datetime) -> None:
    """Make a pending event claimable at once."""
    tx.run("events.hurry", id=id_, now=microseconds(now))


def request_cancel(tx: Tx, id_: str, reason: str, now: datetime) -> bool:
    """Note that a claimed event's run is to be stopped, and why; False when that was noted before."""
    return tx.run("events.request_cancel", id=id_, reason=reason, now=microseconds(now)) == 1


def place(held: str | None, now: datetime) -> tuple[State, str | None, int | None]:
    """State, reason and due time of an event that comes back."""
    return (State.PENDING, None, microseconds(now)) if held is None else (State.HELD, held, None)
