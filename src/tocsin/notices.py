"""Facts the engine announces. The code states them; ``daemon.logs`` words them; tests wait on them.

A notice is sent after the commit that made it true, on the engine's loop, in commit order.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from tocsin.event import State
from tocsin.gaps import Gap
from tocsin.runs import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecorded:
    """A new event row: pending, held, claimed or skipped."""

    event_id: str
    registration: str
    state: State
    reason: str | None = None
    planned_at: datetime | None = None
    missed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateSeen:
    """A delivery arrived again; nothing is run. reason: `stale` when it is below the event's."""

    event_id: str
    registration: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFiltered:
    """A trigger does not want what arrived; nothing is run."""

    registration: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryQuarantined:
    """What arrived is kept for a person to look at. registration: the trigger it is for, if that is known."""

    quarantine_id: str
    reason: str
    route: str
    registration: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run was handed to its runner."""

    run_id: str
    event_id: str
    registration: str
    workflow: str
    attempt: int
    max_attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """A run's end is written down. retry_at: when the event's next attempt is due, if there is one."""

    run_id: str
    event_id: str
    registration: str
    run_state: RunState
    event_state: State
    error: str | None = None
    retry_at: datetime | None = None
    duration_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Disarmed:
    """A registration was turned off by itself."""

    registration: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """Nothing of a trigger happens for a while. until: None until it is resumed."""

    registration: str
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A pause has ended. skipped: planned instants that passed in it. waiting: events that go on."""

    registration: str
    skipped: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsDeferred:
    """A trigger's waiting events may not run before then; those that join them are not told of."""

    registration: str
    reason: str
    events: int
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDropped:
    """An event will not run; reason says why."""

    event_id: str
    registration: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked:
    """A run under way is to be stopped: its event ends `dropped` with this reason."""

    event_id: str
    registration: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecovered:
    """A run of a dead engine was found at start: its processes were stopped, its event goes on."""

    run_id: str
    event_id: str
    registration: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFailed:
    """A source cannot do its work; it is retried. Sent when the message changes. source: its name."""

    installation_id: str
    source: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecovered:
    """A source that had failed works again."""

    installation_id: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigApplied:
    """A configuration took effect."""

    path: str
    added: int
    changed: int
    disabled: int
    workflows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRejected:
    """A changed configuration has errors; the last good one stays in force."""

    path: str
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractBroken:
    """A workflow took back a declaration that triggers rely on; the warning names them."""

    warning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryGivenUp:
    """What was old is gone. logs: files; hashes: ids that are forgotten; bytes: given back to the disk."""

    payloads: int = 0
    runs: int = 0
    logs: int = 0
    events: int = 0
    deliveries: int = 0
    hashes: int = 0
    quarantined: int = 0
    journal: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneChanged:
    """The machine's time zone is another one; schedules that name none follow it."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GapFound:
    """The engine could not decide for a while. triggers: how many had something planned meanwhile."""

    gap: Gap
    triggers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Something inside went wrong and was contained; `where` names the part."""

    where: str
    error: str


Notice: TypeAlias = (
    EventRecorded
    | DuplicateSeen
    | DeliveryFiltered
    | DeliveryQuarantined
    | RunStarted
    | RunEnded
    | Disarmed
    | Paused
    | Resumed
    | EventsDeferred
    | EventDropped
    | StopAsked
    | RunRecovered
    | SourceFailed
    | SourceRecovered
    | ConfigApplied
    | ConfigRejected
    | ContractBroken
    | HistoryGivenUp
    | ZoneChanged
    | GapFound
    | Trouble
)
