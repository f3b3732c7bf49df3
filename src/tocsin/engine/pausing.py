"""Pausing triggers and letting them go on, inside a transaction: by a person, or when a pause is over.

What waits is held, what runs goes on. What is planned for the time of a pause is skipped when it ends,
not missed; a pause ends at its end, whenever somebody sees to it.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

from tocsin.engine.admission import skip_planned
from tocsin.engine.planning import planned
from tocsin.errors import InvalidSchedule
from tocsin.event import Origin
from tocsin.instants import rfc3339
from tocsin.notices import Paused, Resumed
from tocsin.passing import passed
from tocsin.registration import PAUSED, Registration
from tocsin.seams import Announce
from tocsin.store import journal, lanes, pauses, registrations
from tocsin.store.connection import Tx

OVER: Final = "its end has come"


def pause(
    tx: Tx,
    registration: Registration,
    *,
    until: datetime | None,
    why: str,
    now: datetime,
    announce: Announce,
) -> None:
    """Hold all that waits; lanes that it shares with others go on. A paused one gets another end.

    until: None until it is resumed.
    """
    if is_over(registration, now):  # what was planned since its end belongs to no pause
        resume(tx, registration, why=OVER, now=now, announce=announce)
    pauses.begin(tx, registration.id, until=until, now=now)
    held = pauses.hold(tx, registration.id)
    for lane in {lane for _, lane in held}:
        lanes.promote(tx, lane, now)
    detail = {"until": None if until is None else rfc3339(until), "held": len(held)}
    journal.write(tx, "paused", registration_id=registration.id, reason=why, detail=detail, now=now)
    tx.after_commit(partial(announce, Paused(registration=registration.spec.name, until=until)))


def resume(tx: Tx, registration: Registration, *, why: str, now: datetime, announce: Announce) -> bool:
    """Skip what was planned for the pause, let go what it held. False for one that is not paused."""
    if not pauses.end(tx, registration.id):
        return False
    end = min(now, registration.paused_until or now)
    off = registration.off_reason(now) is not None
    skipped = 0 if off else skip_over(tx, registration, end, PAUSED, now=now, announce=announce)
    released = pauses.release(tx, registration.id, now)
    for lane in {lane for _, lane in released}:
        lanes.promote(tx, lane, now)
    detail = {"skipped": skipped, "released": len(released)}
    journal.write(tx, "resumed", registration_id=registration.id, reason=why, detail=detail, now=now)
    notice = Resumed(registration=registration.spec.name, skipped=skipped, waiting=len(released))
    tx.after_commit(partial(announce, notice))
    return True


def resume_over(tx: Tx, now: datetime, *, announce: Announce) -> None:
    """End the pauses whose end has come."""
    for registration in pauses.over(tx, now):
        resume(tx, registration, why=OVER, now=now, announce=announce)


def is_over(registration: Registration, now: datetime) -> bool:
    """Whether a pause has come to its end and nobody has seen to that yet."""
    return registration.paused_at is not None and not registration.is_paused(now)


def skip_over(
    tx: Tx, registration: Registration, end: datetime, reason: str, *, now: datetime, announce: Announce
) -> int:
    """One `skipped` row for what was planned before `end`. Returns for how many instants.

    An instant at the very end is planned next, and what has come due since is missed as ever.
    """
    due = registration.next_fire_at
    if due is None or due >= end:
        return 0
    try:
        decision = passed(registration, due, end)
    except InvalidSchedule:  # the clockwork sets it aside, for it is due
        return 0
    registrations.plan_next(tx, registration.id, decision.next_fire_at)
    span = decision.skipped
    if span is None:
        return 0
    is_own = registration.next_fire_run is not None and span.planned_at == due
    origin = Origin.SELF if is_own else Origin.LIVE
    occurrence = planned(registration, span.planned_at, origin, missed=span.count - 1)
    skip_planned(tx, registration, occurrence, reason, now=now, announce=announce)
    return span.count
