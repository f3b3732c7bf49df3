"""Turning registrations off, inside a transaction: by a person, a limit, or the configuration."""

from __future__ import annotations

from datetime import datetime
from functools import partial

from tocsin.notices import Disarmed, EventDropped
from tocsin.registration import PAUSED, DisabledReason, Registration
from tocsin.seams import Announce
from tocsin.store import events, journal, lanes, registrations, second_thoughts
from tocsin.store.connection import Tx


def disarm(
    tx: Tx,
    registration: Registration,
    reason: DisabledReason,
    detail: str,
    *,
    now: datetime,
    announce: Announce,
) -> bool:
    """Turn off, drop what waits (with the reason), say so. False when it was off already."""
    if not registrations.disable(tx, registration.id, reason):
        return False
    journal.write(
        tx, "disarmed", registration_id=registration.id, reason=reason, detail={"detail": detail}, now=now
    )
    notice = Disarmed(registration=registration.spec.name, reason=reason, detail=detail)
    tx.after_commit(partial(announce, notice))
    drop_all(tx, registration, reason, now=now, announce=announce)
    return True


def drop_all(tx: Tx, registration: Registration, reason: str, *, now: datetime, announce: Announce) -> None:
    """Drop a registration's waiting events; lanes they shared with others go on."""
    dropped = events.drop_waiting(tx, registration.id, reason, now)
    for lane in {lane for _, lane in dropped}:
        lanes.promote(tx, lane, now)
    for id_, _ in dropped:
        notice = EventDropped(event_id=id_, registration=registration.spec.name, reason=reason)
        tx.after_commit(partial(announce, notice))


def requeue(tx: Tx, registration: Registration, now: datetime) -> int:
    """Bring back what the last disarm dropped, in accept order. Returns how many came back."""
    dropped = second_thoughts.last_dropped(tx, registration.id)
    for id_, lane in dropped:
        busy = lane is not None and lanes.head(tx, lane) is not None
        held = PAUSED if registration.is_paused(now) else "lane" if busy else None
        second_thoughts.requeue(tx, id_, held=held, now=now)
        journal.write(tx, "requeued", registration_id=registration.id, event_id=id_, now=now)
    return len(dropped)
