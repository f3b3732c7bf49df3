"""`max_runs_per_hour`: events over it are put off until there is room again, inside a transaction."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from tocsin.event import Event
from tocsin.instants import rfc3339
from tocsin.notices import EventsDeferred
from tocsin.registration import Registration
from tocsin.seams import Announce
from tocsin.store import deferring, journal, runs
from tocsin.store.connection import Tx
from tocsin.trigger import Json

HOUR: Final = timedelta(hours=1)
RATE: Final = "max_runs_per_hour"


def room_at(tx: Tx, registration: Registration, now: datetime) -> datetime | None:
    """When another attempt may begin, at most an hour from now; None when it may at once.

    The hour reaches both ways: after a small step of the clock backwards what began "later" than now
    still counts, and after a long one nothing is stuck for longer than that step.
    """
    limit = registration.spec.max_runs_per_hour
    begun = None if limit is None else runs.nth_last_begun(tx, registration.id, limit)
    if begun is None or abs(now - begun) >= HOUR:
        return None
    return min(begun, now) + HOUR


def put_off(
    tx: Tx, event: Event, registration: Registration, at: datetime, *, now: datetime, announce: Announce
) -> None:
    """Nothing pending of the trigger is claimable before then. Told once, not for each that joins later."""
    if deferring.is_waiting(tx, registration.id, RATE, now):
        deferring.put_off(tx, event.id, at, RATE)
        return
    count, limit = deferring.defer(tx, registration.id, at, RATE), registration.spec.max_runs_per_hour
    reason = f"{RATE} = {limit} reached"
    detail: Json = {"until": rfc3339(at), "events": count}
    journal.write(
        tx,
        "deferred",
        registration_id=registration.id,
        event_id=event.id,
        reason=reason,
        detail=detail,
        now=now,
    )
    notice = EventsDeferred(registration=registration.spec.name, reason=reason, events=count, until=at)
    tx.after_commit(partial(announce, notice))


def let_go(tx: Tx, before: Registration, limit: int | None, now: datetime) -> None:
    """Another limit: what the old one had put off is looked at anew."""
    if before.spec.max_runs_per_hour != limit:
        deferring.resume(tx, before.id, RATE, now)
