"""The steps behind the one door, inside a transaction: binding, filter and schema, recognition, lane, record.

Called by ``accept`` (webhooks, fires), ``clockwork`` (due schedules), ``settling`` (chains) and
``bookmarks`` (files), so that whatever they change commits together with the events.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from tocsin.engine.binding import Mismatch, compare, halted, refuse
from tocsin.engine.judging import Batch, Wanted, schema_status
from tocsin.engine.recognition import Fresh, Known, again, hash_of, recognise, refused, remember
from tocsin.engine.replacing import make_way
from tocsin.engine.turning_away import turn_away
from tocsin.envelope import envelope
from tocsin.event import Accepted, Answer, Declined, Occurrence, Origin, Skipped, State, Unreadable
from tocsin.identity import DELIVERY, EVENT, idempotency_key, new_id
from tocsin.keysource import key_of, lane_without_payload, parse
from tocsin.notices import EventRecorded
from tocsin.registration import PAUSED, Registration
from tocsin.seams import Announce
from tocsin.store import events, lanes, ledger, registrations
from tocsin.store.connection import Tx
from tocsin.trigger import Kind, Overlap

MAX_DEPTH: Final = 8  # DESIGN section 8; a longer chain of triggers is a loop in all but name


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """How a new event begins."""

    state: State
    lane: str | None
    reason: str | None = None
    blocked_by: str | None = None


def admit(
    tx: Tx, occurrence: Occurrence, *, now: datetime, announce: Announce, batch: Batch | None = None
) -> Answer | Mismatch:
    """Take one occurrence through all steps. Accepted events are pending or held; the caller claims.

    batch: shared with the other occurrences of this transaction, if there are any; without it, what is
    to be judged is judged here.
    """
    batch = batch or Batch(at_once=now)
    registration = registrations.by_id(tx, occurrence.registration_id)
    mismatch = compare(registration, occurrence)
    if mismatch is not None or registration is None:
        return refuse(tx, mismatch, now)
    off = registration.off_reason(now) or halted(registration, occurrence, now)
    if off is not None:
        return Declined(reason=off)
    found = recognise(tx, registration, occurrence)
    if isinstance(found, Known) and occurrence.kind is Kind.POLL:  # asked for again and again
        return again(tx, registration, found, now=now, announce=announce)
    verdict = batch.verdict(registration, occurrence)
    if not isinstance(verdict, Wanted):
        return turn_away(tx, registration, occurrence, verdict, now=now, announce=announce)
    if isinstance(found, Unreadable):
        return refused(tx, registration, found, now)
    if isinstance(found, Fresh):
        place = placement(tx, registration, occurrence, now=now, announce=announce)
        return put(tx, registration, occurrence, place, found, batch, now=now, announce=announce)
    return again(tx, registration, found, now=now, announce=announce)


def put(
    tx: Tx,
    registration: Registration,
    occurrence: Occurrence,
    place: Placement,
    fresh: Fresh,
    batch: Batch,
    *,
    now: datetime,
    announce: Announce,
) -> Answer:
    """Delivery, ledger and event in one go."""
    event_id = None
    if (
        place.state is State.SKIPPED
        and registration.spec.schedule is not None
        and place.blocked_by is not None
    ):
        event_id = events.skip_more(tx, registration.id, place.blocked_by, occurrence, now)
    if event_id is None:
        event_id = insert(tx, registration, occurrence, place, fresh, batch, now)
    remember(tx, registration, occurrence, fresh, event_id, now)
    notice = EventRecorded(
        event_id=event_id,
        registration=registration.spec.name,
        state=place.state,
        reason=place.reason,
        planned_at=occurrence.planned_at,
        missed=occurrence.missed,
    )
    tx.after_commit(partial(announce, notice))
    if place.state is State.SKIPPED:
        return Skipped(event_id=event_id, reason=place.reason or "overlap")
    return Accepted(event_id=event_id)


def placement(
    tx: Tx, registration: Registration, occurrence: Occurrence, *, now: datetime, announce: Announce
) -> Placement:
    """Held in a pause, pending in a free lane or without one; else what the overlap rule says.

    A pause that is over but not ended by anybody yet still holds what came before: nothing overtakes that.
    """
    lane = lane_of(registration, occurrence, now)
    paused = registration.paused_at is not None
    if lane is not None and registration.spec.overlap is Overlap.REPLACE:
        make_way(tx, registration, lane, stop=not paused, now=now, announce=announce)
    if paused:
        return Placement(state=State.HELD, lane=lane, reason=PAUSED)
    blocker = None if lane is None else lanes.head(tx, lane)
    if blocker is None:
        return Placement(state=State.PENDING, lane=lane)
    if registration.spec.overlap is Overlap.SKIP and not must_queue(registration, occurrence):
        return Placement(state=State.SKIPPED, lane=None, reason="overlap", blocked_by=blocker)
    return Placement(state=State.HELD, lane=lane, reason="lane")


def must_queue(registration: Registration, occurrence: Occurrence) -> bool:
    """Replays, what `fire_all` makes, and a person's fire of what else fires by itself wait their turn."""
    if occurrence.origin is Origin.MANUAL:
        return registration.spec.kind is not Kind.MANUAL
    return occurrence.queues or occurrence.origin is Origin.REPLAY


def lane_of(registration: Registration, occurrence: Occurrence, now: datetime) -> str | None:
    """Events of one lane run one after the other, in accept order; None runs freely.

    An event in which nothing stands where serialize_by looks shares its trigger's own lane.
    """
    spec = registration.spec
    if spec.serialize_by is not None:
        key = key_of(parse(spec.serialize_by), envelope(occurrence, now))
        return registration.id if key is None else f"{registration.id}:{key}"
    return lane_without_payload(registration)


def insert(
    tx: Tx,
    registration: Registration,
    occurrence: Occurrence,
    place: Placement,
    fresh: Fresh,
    batch: Batch,
    now: datetime,
) -> str:
    delivery = deliver(tx, registration.installation_id, occurrence, batch, now)
    event_id = occurrence.event_id or new_id(EVENT, now)
    birth = events.Birth(
        id=event_id,
        registration_id=registration.id,
        workflow=registration.spec.workflow,
        delivery=delivery,
        idempotency_key=idempotency_key(hash_of(occurrence, fresh.generation)),
        state=place.state,
        reason=place.reason,
        count=1 + (occurrence.missed if place.state is State.SKIPPED else 0),
        lane=place.lane,
        blocked_by=place.blocked_by,
        schema_status=schema_status(batch.verdict(registration, occurrence)),
    )
    events.insert(tx, birth, occurrence, now)
    return event_id


def deliver(tx: Tx, installation_id: str, occurrence: Occurrence, batch: Batch, now: datetime) -> str:
    """The row of what arrived, made for the first that it feeds. Returns its id."""
    known = batch.delivery(installation_id, occurrence)
    if known is not None:
        return known
    id_, told = new_id(DELIVERY, now), envelope(occurrence, now)
    ledger.deliver(tx, id_, occurrence, installation_id=installation_id, envelope=told, now=now)
    batch.delivered(installation_id, occurrence, id_)
    return id_


def skip_planned(
    tx: Tx,
    registration: Registration,
    occurrence: Occurrence,
    reason: str,
    *,
    now: datetime,
    announce: Announce,
) -> None:
    """One `skipped` row for planned instants that make no event: `misfire`, `paused` or `expired`."""
    place = Placement(state=State.SKIPPED, lane=None, reason=reason)
    found = recognise(tx, registration, occurrence)
    if isinstance(found, Fresh):
        put(tx, registration, occurrence, place, found, Batch(), now=now, announce=announce)


def chain_cut(occurrence: Occurrence) -> str | None:
    """Why a chain must not go on to this registration; None when it may."""
    lineage = () if occurrence.cause is None else occurrence.cause.lineage
    if occurrence.registration_id in lineage:
        return "cycle"
    return "depth" if len(lineage) > MAX_DEPTH else None
