"""Verbs of the `events` table that put events off. Each runs inside a transaction."""

from __future__ import annotations

from datetime import datetime

from tocsin.instants import microseconds
from tocsin.store.connection import Tx


def defer(tx: Tx, registration_id: str, at: datetime, reason: str) -> int:
    """Nothing pending of a trigger is claimable before then. Returns how many were put off."""
    return tx.run("events.defer", registration_id=registration_id, at=microseconds(at), reason=reason)


def put_off(tx: Tx, id_: str, at: datetime, reason: str) -> None:
    """One pending event is not claimable before then."""
    tx.run("events.put_off", id=id_, at=microseconds(at), reason=reason)


def resume(tx: Tx, registration_id: str, reason: str, now: datetime) -> None:
    """What was put off for this reason is due."""
    tx.run("events.resume", registration_id=registration_id, reason=reason, now=microseconds(now))


def is_waiting(tx: Tx, registration_id: str, reason: str, now: datetime) -> bool:
    """Whether something pending of a trigger still waits for its time, for this reason."""
    found = tx.one(
        "events.waiting_for", registration_id=registration_id, reason=reason, now=microseconds(now)
    )
    return found is not None
