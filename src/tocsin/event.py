"""Words for an event's life: the occurrence a source speaks of, the answers, the states, the row.

The moves between states stand here once; a trigger in the store's migration mirrors them and a
test compares the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from tocsin.registration import TENANT
from tocsin.trigger import Json, Kind


class State(StrEnum):
    """Where an event stands. DESIGN table: held, pending and claimed are unfinished."""

    HELD = "held"
    PENDING = "pending"
    CLAIMED = "claimed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    DROPPED = "dropped"


BIRTHS: Final = frozenset({State.HELD, State.PENDING, State.CLAIMED, State.SKIPPED})

MOVES: Final = frozenset(
    {
        (State.HELD, State.PENDING),
        (State.HELD, State.DROPPED),
        (State.PENDING, State.CLAIMED),
        (State.PENDING, State.HELD),
        (State.PENDING, State.DROPPED),
        (State.CLAIMED, State.SUCCEEDED),
        (State.CLAIMED, State.FAILED),
        (State.CLAIMED, State.PENDING),
        (State.CLAIMED, State.HELD),
        (State.CLAIMED, State.DROPPED),
        (State.FAILED, State.PENDING),
        (State.FAILED, State.HELD),
        (State.DROPPED, State.PENDING),
        (State.DROPPED, State.HELD),
    }
)

UNFINISHED: Final = frozenset({State.HELD, State.PENDING, State.CLAIMED})


class Origin(StrEnum):
    """How an event came about; its kind stays the registration's own."""

    LIVE = "live"
    CATCH_UP = "catch_up"
    SELF = "self"
    MANUAL = "manual"
    REPLAY = "replay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The run that brought an event about, and the chain behind it.

    lineage: registration ids from the first cause to the direct one, for loop guards; the
    depth of a chain is its length.
    """

    run_id: str
    lineage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Normalized:
    """What a source's own mapping makes of a payload: the same names whoever sent it.

    model: what sort of thing it is about. hint: what to look it up by at the provider.
    """

    payload: Json = None
    model: str | None = None
    hint: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """What a source says happened, and for whom. Not yet accepted.

    delivery_id: the provider's or the source's own stable id of this one thing.
    occurred_at, planned_at: aware UTC. missed: earlier planned instants this one stands for.
    changed_at: when the file that it is about last changed, None where that cannot be told. changed_each:
    the same for every file of a batch, in its payload's order.
    body: the exact bytes as they arrived, None when there were none. given_id: the sender's own id,
    letter for letter; None when it gave none. event_id: what its event is to be called, None for a
    fresh id. replay_of: the event that it repeats. queues: it waits its turn whatever `overlap` says.
    not_before: it is not started earlier; None for at once. connection: the account at a provider that
    it came from, by its name. provider: who sent it, None for tocsin itself. mode: by which sort of way,
    None for the usual one of its kind.
    """

    registration_id: str
    component: str
    component_version: int
    kind: Kind
    delivery_id: str
    occurred_at: datetime
    changed_at: datetime | None = None
    changed_each: tuple[datetime | None, ...] = ()
    given_id: str | None = None
    payload: Json = None
    tenant: str = TENANT
    connection: str | None = None
    origin: Origin = Origin.LIVE
    planned_at: datetime | None = None
    missed: int = 0
    body: bytes | None = None
    event_type: str | None = None
    safe_headers: Mapping[str, str] = field(default_factory=dict)
    safe_query: Mapping[str, str] = field(default_factory=dict)
    cause: Cause | None = None
    event_id: str | None = None
    replay_of: str | None = None
    queues: bool = False
    not_before: datetime | None = None
    provider: str | None = None
    mode: str | None = None
    normalized: Normalized = Normalized()


def latest(moments: Iterable[datetime | None]) -> datetime | None:
    """The last of those that are known; None when none is."""
    return max((moment for moment in moments if moment is not None), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A new event is recorded. run_id: its run when a seat was free, else None."""

    event_id: str
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """The delivery was recorded before; the original ids. run_id: its latest run, if any.

    reason: `stale` for one that is not above the greatest so far, whose ids these are then; `seeded`
    for one that was remembered while its trigger was off, and has no ids.
    """

    event_id: str
    run_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """The overlap rule says this occurrence does not run; a `skipped` row tells so."""

    event_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Declined:
    """Not active, nothing recorded.

    reason: `removed`, `expired` or a disabled reason; `paused` or `drifted` for a time.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """The delivery's id cannot be put in the order that its trigger keeps: nothing is recorded.

    reason: a sentence for the sender; the same delivery will never do.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """The trigger's filter does not want it: a journal row tells so, no event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """Kept for inspection and replay instead of becoming an event. reason: as in DESIGN section 14."""

    quarantine_id: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limited:
    """Its source tells more than it may: nothing is recorded, so that the same delivery can come again."""

    retry_after: timedelta


Answer: TypeAlias = Accepted | Duplicate | Skipped | Declined | Unreadable | Filtered | Quarantined | Limited


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event's row.

    delivery_id: the id the source gave. count: occurrences a skipped row stands for, itself
    included. lane: events of one lane run one after the other; None runs freely.
    next_fire_at: claimable from then on, while pending. run_id: the latest run.
    replay_of: the event that it repeats. attempt_limit: its last attempt, None for the trigger's
    `max_attempts`. cancel_requested_at, cancel_reason: since when its run is to be stopped, and why.
    """

    seq: int
    id: str
    registration_id: str
    registration: str
    workflow: str
    kind: Kind
    origin: Origin
    state: State
    reason: str | None
    count: int
    lane: str | None
    attempts: int
    delivery_id: str
    idempotency_key: str
    occurred_at: datetime
    planned_at: datetime | None
    created_at: datetime
    next_fire_at: datetime | None
    run_id: str | None
    settled_at: datetime | None
    missed: int
    cause: Cause | None
    replay_of: str | None
    attempt_limit: int | None
    cancel_requested_at: datetime | None
    cancel_reason: str | None
