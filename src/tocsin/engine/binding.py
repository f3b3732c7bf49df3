"""Whether an occurrence may speak for its trigger, and whether that takes anything in: the first step.

Asked by ``admission`` and by whoever wants to know before it begins, inside a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tocsin.errors import BindingMismatch
from tocsin.event import Occurrence, Origin
from tocsin.registration import PAUSED, TENANT, Registration
from tocsin.store import journal, registrations
from tocsin.store.connection import Tx
from tocsin.trigger import Kind

KEPT: Final = frozenset({Kind.RUN, Kind.POLL})  # what they tell is told once: nobody sends it again


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """The occurrence claims a binding that is not its registration's; a journal row says which part."""

    registration_id: str
    field: str
    seen: str
    wanted: str

    def error(self) -> BindingMismatch:
        """The exception for the caller, once the journal row is committed."""
        return BindingMismatch(
            registration_id=self.registration_id, field=self.field, seen=self.seen, wanted=self.wanted
        )


def registration_for(tx: Tx, occurrence: Occurrence, now: datetime) -> Registration | None:
    """The trigger that would take this one in; None when the binding is wrong or it is not active."""
    registration = registrations.by_id(tx, occurrence.registration_id)
    if registration is None or compare(registration, occurrence) is not None:
        return None
    off = registration.off_reason(now) or halted(registration, occurrence, now)
    return registration if off is None else None


def compare(registration: Registration | None, occurrence: Occurrence) -> Mismatch | None:
    """The first part of the binding that differs; None when all agree."""
    if registration is None:
        return Mismatch(
            registration_id=occurrence.registration_id,
            field="registration",
            seen="unknown",
            wanted="a known id",
        )
    spec = registration.spec
    pairs = (
        ("tenant", occurrence.tenant, TENANT),
        ("connection", occurrence.connection, bound_connection(registration, occurrence)),
        ("component", occurrence.component, spec.component),
        ("component version", occurrence.component_version, spec.component_version),
        ("kind", occurrence.kind, spec.kind),
    )
    for field, seen, wanted in pairs:
        if seen != wanted:
            return Mismatch(registration_id=registration.id, field=field, seen=str(seen), wanted=str(wanted))
    return None


def bound_connection(registration: Registration, occurrence: Occurrence) -> str | None:
    """The connection that it should name: one of those that the source shares, or none.

    A person may repeat what came from one that the source has no more.
    """
    given = occurrence.connection
    if given is None or occurrence.origin is Origin.REPLAY:
        return given
    shared = registration.spec.props.get("connections")
    named = (
        [one.get("name") for one in shared if isinstance(one, Mapping)] if isinstance(shared, list) else []
    )
    return given if given in named else None


def refuse(tx: Tx, mismatch: Mismatch | None, now: datetime) -> Mismatch:
    """Record nothing but why."""
    assert mismatch is not None  # noqa: S101 - compare() speaks whenever there is no registration
    detail = {"field": mismatch.field, "seen": mismatch.seen, "wanted": mismatch.wanted}
    journal.write(
        tx, "refused", registration_id=mismatch.registration_id, reason="binding", detail=detail, now=now
    )
    return mismatch


def halted(registration: Registration, occurrence: Occurrence, now: datetime) -> str | None:
    """Why nothing is taken in; what is told only once is kept for the end of a pause."""
    reason = registration.halt(now)
    is_kept = (
        occurrence.kind in KEPT or registration.spec.source is not None
    ) and occurrence.origin is Origin.LIVE
    return None if reason == PAUSED and is_kept else reason
