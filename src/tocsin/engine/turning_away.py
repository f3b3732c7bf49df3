"""What becomes of an occurrence that its trigger does not want, inside the accepting transaction.

Called by ``admission``. A poll's item is remembered, so that an edited filter fires nothing old.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial

from tocsin.engine.judging import Invalid, Unwanted
from tocsin.engine.recognition import hash_of
from tocsin.event import Filtered, Occurrence, Quarantined
from tocsin.notices import DeliveryFiltered, DeliveryQuarantined
from tocsin.quarantine import Reason, Stray
from tocsin.registration import Registration
from tocsin.seams import Announce
from tocsin.store import journal, ledger, quarantine
from tocsin.store.connection import Tx
from tocsin.trigger import Kind

FILTERED = "filtered"


def turn_away(
    tx: Tx,
    registration: Registration,
    occurrence: Occurrence,
    verdict: Unwanted | Invalid,
    *,
    now: datetime,
    announce: Announce,
) -> Filtered | Quarantined:
    """A line that says why, or a place in the quarantine."""
    if occurrence.kind is Kind.POLL:
        know_again(tx, registration, occurrence, now)
    if isinstance(verdict, Invalid):
        return set_aside(tx, registration, occurrence, verdict, now=now, announce=announce)
    detail = {"delivery_id": occurrence.delivery_id}
    id_, reason = registration.id, verdict.reason
    journal.write(tx, FILTERED, registration_id=id_, reason=reason, detail=detail, now=now)
    notice = DeliveryFiltered(registration=registration.spec.name, reason=reason)
    tx.after_commit(partial(announce, notice))
    return Filtered()


def know_again(tx: Tx, registration: Registration, occurrence: Occurrence, now: datetime) -> None:
    """Known from now on, as what was turned away."""
    hash_ = hash_of(occurrence)
    if ledger.find(tx, hash_) is None:
        ledger.remember(tx, hash_, registration_id=registration.id, event_id=None, verdict=FILTERED, now=now)


def set_aside(
    tx: Tx,
    registration: Registration,
    occurrence: Occurrence,
    verdict: Invalid,
    *,
    now: datetime,
    announce: Announce,
) -> Quarantined:
    """Keep it for a person to look at; a delivery that comes again is kept once."""
    reason = Reason.SCHEMA_INVALID
    id_ = quarantine.put(tx, stray_of(registration, occurrence, reason, verdict.reason), now)
    detail = {"quarantine_id": id_, "delivery_id": occurrence.delivery_id}
    what = f"{reason}: {verdict.reason}"
    journal.write(tx, "quarantined", registration_id=registration.id, reason=what, detail=detail, now=now)
    name, route = registration.spec.name, registration.spec.component
    notice = DeliveryQuarantined(quarantine_id=id_, reason=reason, route=route, registration=name)
    tx.after_commit(partial(announce, notice))
    return Quarantined(quarantine_id=id_, reason=reason)


def stray_of(registration: Registration, occurrence: Occurrence, reason: Reason, detail: str) -> Stray:
    """An occurrence of one trigger as it is kept."""
    return Stray(
        route=occurrence.component,
        reason=reason,
        detail=detail,
        provider=occurrence.provider,
        connection=occurrence.connection,
        installation_id=registration.installation_id,
        registration_id=registration.id,
        kind=occurrence.kind,
        event_type=occurrence.event_type,
        delivery_id=occurrence.delivery_id,
        given_id=occurrence.given_id,
        occurred_at=occurrence.occurred_at,
        headers=occurrence.safe_headers,
        query=occurrence.safe_query,
        payload=occurrence.payload,
        body=occurrence.body,
    )
