"""What may keep an event whose turn it is from running, inside the claiming transaction.

``claims`` asks; each answer is one of the records below. Pure of writes: the caller acts on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from tocsin.engine.deferring import room_at
from tocsin.registration import PAUSED, Registration
from tocsin.settlement import Disarm, overspent
from tocsin.store import costs, events
from tocsin.store.connection import Tx


@dataclass(frozen=True, slots=True)
class Go:
    """It runs."""


@dataclass(frozen=True, slots=True)
class Stay:
    """Its turn comes again when a run under way has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """It will not run."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """It waits for a person."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """No event of its trigger may run before then."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOff:
    """Its trigger is to be disarmed, which drops it too."""

    disarm: Disarm


Gate: TypeAlias = Go | Stay | Drop | Hold | Later | TurnOff


def gate(tx: Tx, registration: Registration, now: datetime) -> Gate:
    """What holds for an event of this registration, the first that does."""
    off = registration.off_reason(now)
    if off is not None:
        return Drop(reason=off)
    if registration.is_paused(now):
        return Hold(reason=PAUSED)
    broke = overspent(registration, costs.spent(tx, registration, now))
    if broke is not None:
        return TurnOff(disarm=broke)
    if not has_room(tx, registration):
        return Stay()
    later = room_at(tx, registration, now)
    return Go() if later is None else Later(at=later)


def has_room(tx: Tx, registration: Registration) -> bool:
    """Whether `max_runs` leaves room for one more success besides those under way."""
    limit = registration.spec.max_runs
    if limit is None:
        return True
    return registration.runs_since_armed + events.claims_of(tx, registration.id) < limit
