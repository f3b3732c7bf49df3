"""Verbs of the `events` table: the queue. Each runs inside a transaction.

Moves are refused by the database unless `event.MOVES` knows them; whatever ends a claim names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tocsin.event import Event, Occurrence, Origin, State
from tocsin.instants import instant, microseconds
from tocsin.store import turns
from tocsin.store.columns import at_us, dump
from tocsin.store.connection import Tx
from tocsin.store.rows import event_of

HIGHEST = "\U0010ffff"  # sorts behind every id that begins with a prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Birth:
    """How a new event begins.

    blocked_by: the event a skipped one found in its lane. schema_status: as its envelope says it.
    """

    id: str
    registration_id: str
    workflow: str
    delivery: str
    idempotency_key: str
    state: State
    reason: str | None = None
    count: int = 1
    lane: str | None = None
    blocked_by: str | None = None
    schema_status: str = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRow:
    """Who holds a claimed event. cancelled: its run is to be stopped."""

    event_id: str
    registration_id: str
    claim_id: str
    owner: str
    claimed_at: datetime
    run_id: str
    cancelled: bool


def insert(tx: Tx, birth: Birth, occurrence: Occurrence, now: datetime) -> None:
    """Record an event; a pending one is claimable at once, or when it may be started."""
    cause, pending, wait = occurrence.cause, birth.state is State.PENDING, occurrence.not_before
    due = now if wait is None else max(wait, now)
    tx.run(
        "events.insert",
        id=birth.id,
        registration_id=birth.registration_id,
        workflow=birth.workflow,
        delivery=birth.delivery,
        delivery_id=occurrence.delivery_id,
        kind=occurrence.kind,
        origin=occurrence.origin,
        idempotency_key=birth.idempotency_key,
        occurred_at=microseconds(occurrence.occurred_at),
        planned_at=at_us(occurrence.planned_at),
        missed=occurrence.missed,
        state=birth.state,
        reason=birth.reason,
        count=birth.count,
        lane=birth.lane,
        blocked_by=birth.blocked_by,
        schema_status=birth.schema_status,
        next_fire_at=microseconds(due) if pending or (due > now and birth.state is State.HELD) else None,
        turn=turns.next_turn(tx, birth.registration_id) if pending and due == now else None,
        cause_run=None if cause is None else cause.run_id,
        cause_lineage=None if cause is None else dump(list(cause.lineage)),
        replay_of=occurrence.replay_of,
        created_at=microseconds(now),
        settled_at=microseconds(now) if birth.state is State.SKIPPED else None,
    )


def by_id(tx: Tx, id_: str) -> Event | None:
    """One event."""
    row = tx.one("events.by_id", id=id_)
    return None if row is None else event_of(row)


def by_prefix(tx: Tx, prefix: str) -> list[Event]:
    """None, one, or two events that the prefix fits; two mean it is ambiguous."""
    return [event_of(row) for row in tx.all("events.by_prefix", prefix=prefix, beyond=prefix + HIGHEST)]


def listed(
    tx: Tx, *, registration_id: str | None, state: State | None, since: datetime | None, limit: int
) -> list[Event]:
    """Newest first."""
    rows = tx.all(
        "events.listed", registration_id=registration_id, state=state, since=at_us(since), limit=limit
    )
    return [event_of(row) for row in rows]


def after(tx: Tx, seq: int, *, registration_id: str | None, state: State | None, limit: int) -> list[Event]:
    """Events recorded after `seq`, oldest first."""
    rows = tx.all("events.after", seq=seq, registration_id=registration_id, state=state, limit=limit)
    return [event_of(row) for row in rows]


def states(tx: Tx) -> dict[str, int]:
    """How many events stand in each state; states without any are left out."""
    return {row["state"]: row["events"] for row in tx.all("events.states")}


def unfinished(tx: Tx) -> int:
    """How many are held, pending or claimed."""
    row = tx.one("events.unfinished")
    return 0 if row is None else int(row["events"])


def skip_more(
    tx: Tx, registration_id: str, blocked_by: str, occurrence: Occurrence, now: datetime
) -> str | None:
    """Let the row skipped behind this blocker stand for one more. Returns its id, None without one."""
    row = tx.one("events.skipped_behind", registration_id=registration_id, blocked_by=blocked_by)
    if row is not None:
        count = 1 + occurrence.missed
        planned_at = at_us(occurrence.planned_at)
        tx.run("events.skip_more", id=row["id"], count=count, planned_at=planned_at, now=microseconds(now))
    return None if row is None else str(row["id"])


def waiting_workflows(tx: Tx) -> list[str]:
    """Workflows with a pending event."""
    return [row["workflow"] for row in tx.all("events.waiting_workflows")]


def claims_by_workflow(tx: Tx) -> Mapping[str, int]:
    """Seats in use."""
    return {row["workflow"]: row["claims"] for row in tx.all("events.claimed_by_workflow")}


def claims_of(tx: Tx, registration_id: str) -> int:
    """How many events of a registration are claimed."""
    row = tx.one("events.claimed_by_registration", registration_id=registration_id)
    return 0 if row is None else int(row["claims"])


def has_others(tx: Tx, registration_id: str, id_: str) -> bool:
    """Whether more events of a registration than this one wait or run."""
    return tx.one("events.others", registration_id=registration_id, id=id_) is not None


def ready(tx: Tx, workflow: str, *, limit: int, origin: Origin | None) -> list[tuple[int, Event]]:
    """A workflow's claimable events with their turns, by turn."""
    rows = tx.all("events.ready", workflow=workflow, limit=limit, origin=origin)
    return [(row["turn"], event_of(row)) for row in rows]


def next_ready(tx: Tx) -> datetime | None:
    """When an event is claimable next; long ago while one is claimable, None when nothing is pending."""
    row = tx.one("events.next_ready")
    return None if row is None or row["next_fire_at"] is None else instant(row["next_fire_at"])


def unstick(tx: Tx, now: datetime, *, latest: datetime) -> None:
    """After the clock was set back: nothing that was due waits, and nothing waits past `latest`."""
    tx.run("events.unstick", now=microseconds(now), latest=microseconds(latest))


def claim(tx: Tx, id_: str, *, claim_id: str, owner: str, run_id: str, now: datetime) -> bool:
    """Take a pending event; attempts rise. False when somebody else was first."""
    changed = tx.run(
        "events.claim", id=id_, claim_id=claim_id, owner=owner, run_id=run_id, now=microseconds(now)
    )
    return changed == 1


def claims(tx: Tx) -> Sequence[ClaimRow]:
    """Every claim there is."""
    return [
        ClaimRow(
            event_id=row["id"],
            registration_id=row["registration_id"],
            claim_id=row["claim_id"],
            owner=row["claim_owner"],
            claimed_at=instant(row["claimed_at"]),
            run_id=row["run_id"],
            cancelled=row["cancel_reason"] is not None,
        )
        for row in tx.all("events.claims")
    ]


def settle(tx: Tx, id_: str, *, claim_id: str, state: State, reason: str | None, now: datetime) -> bool:
    """End a claimed event. False when the claim is no longer this one."""
    changed = tx.run(
        "events.settle", id=id_, claim_id=claim_id, state=state, reason=reason, now=microseconds(now)
    )
    return changed == 1


def retry(
    tx: Tx, id_: str, *, claim_id: str, state: State, at: datetime, reason: str | None, given_back: bool
) -> bool:
    """Back to pending, or held with its wait going on. False when the claim is no longer this one.

    given_back: the attempt does not count.
    """
    changed = tx.run(
        "events.retry",
        id=id_,
        claim_id=claim_id,
        state=state,
        next_fire_at=microseconds(at),
        reason=reason,
        given_back=int(given_back),
    )
    return changed == 1


def hold(tx: Tx, id_: str, reason: str) -> None:
    """Hold a pending event back; a wait of its own goes on."""
    tx.run("events.hold", id=id_, reason=reason)


def drop(tx: Tx, id_: str, reason: str, now: datetime) -> bool:
    """Drop one held or pending event; False when it is neither."""
    return tx.run("events.drop", id=id_, reason=reason, now=microseconds(now)) == 1


def drop_waiting(
    tx: Tx, registration_id: str, reason: str, now: datetime
) -> Sequence[tuple[str, str | None]]:
    """Drop a registration's held and pending events; (id, lane) of each."""
    rows = tx.all(
        "events.drop_waiting", registration_id=registration_id, reason=reason, now=microseconds(now)
    )
    return [(row["id"], row["lane"]) for row in rows]
