"""Words for a trigger: what a person wrote (`TriggerSpec`) and the row behind it (`Registration`).

Used on every floor. Knows nothing of SQL, TOML or HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

from tocsin.components import version_of

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

NANOS = 10**9  # money is counted in billionths of a dollar: sums of whole numbers are exact

PAUSED, DRIFTED = "paused", "drifted"  # why an active one takes nothing in

TENANT = "local"  # one person's machine; the column keeps the binding whole


class Kind(StrEnum):
    """What sort of thing an event is."""

    SCHEDULE = "schedule"
    POLL = "poll"
    FILE = "file"
    WEBHOOK = "webhook"
    RUN = "run"
    MANUAL = "manual"


class Misfire(StrEnum):
    """What becomes of planned instants that passed while the engine could not decide."""

    FIRE_ONCE = "fire_once"
    SKIP = "skip"
    FIRE_ALL = "fire_all"


class Overlap(StrEnum):
    """What a newcomer does when its lane is busy."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"
    REPLACE = "replace"


class DisabledReason(StrEnum):
    """Why a registration is off. Only `enable` lifts one, except `config` (the row had left the file)."""

    FAILURES = "failures"
    EXPIRED = "expired"
    MAX_RUNS = "max_runs"
    BUDGET = "budget"
    USER = "user"
    CONFIG = "config"


class BudgetPeriod(StrEnum):
    """How long a budget lasts: a calendar day, a week that begins on Monday, a calendar month."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


class RowOrigin(StrEnum):
    """Who made a registration; `apply` touches only rows that came from the file."""

    FILE = "file"
    CLI = "cli"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A five-field cron expression (or @alias) read in an IANA zone."""

    expr: str
    tz: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """Elapsed time on a grid: anchor + n * every. No anchor means the arming instant."""

    every: timedelta
    anchor: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """One instant, once."""

    at: datetime


Schedule: TypeAlias = Cron | Every | At


@dataclass(frozen=True, slots=True, kw_only=True)
class MisfirePolicy:
    """grace: an instant later than this is missed. limit: the most events `fire_all` makes.

    wake_delay: what is made up for waits so long, and a trigger's own part of splay longer.
    """

    misfire: Misfire = Misfire.FIRE_ONCE
    grace: timedelta = timedelta(seconds=60)
    limit: int = 24
    wake_delay: timedelta = timedelta()
    splay: timedelta = timedelta()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most (billionths of a dollar) that a trigger's runs may cost in one period of its zone."""

    max_nanos: int
    period: BudgetPeriod
    tz: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSpec:
    """One trigger as written, with every default filled in.

    component: the source component's key (`cron`, `every`, `at`, `files`, `webhook`, `after`,
    `manual`). props: that component's own settings, JSON values only. serialize_key: a lane shared
    by all triggers that name it; None means a lane of its own unless overlap is `allow`.
    serialize_by: the part of an event that names its lane (`payload:issue.id`), never beside
    serialize_key. expires_at: aware UTC. max_runs: successes since it was armed.
    max_runs_per_hour: attempts begun within any hour, however they end.
    """

    name: str
    workflow: str
    kind: Kind
    component: str
    component_version: int = 1
    props: Mapping[str, Json] = field(default_factory=dict)
    schedule: Schedule | None = None
    misfire: MisfirePolicy = MisfirePolicy()
    overlap: Overlap = Overlap.SKIP
    serialize_key: str | None = None
    serialize_by: str | None = None
    tags: tuple[str, ...] = ()
    config: Mapping[str, Json] = field(default_factory=dict)
    max_attempts: int = 3
    disable_after: int = 5
    max_runs: int | None = None
    max_runs_per_hour: int | None = None
    budget: Budget | None = None
    expires_at: datetime | None = None
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """The greatest delivery id that a trigger has accepted, as the sender wrote it, and its event."""

    delivery_id: str
    event_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """One trigger's row: its spec and what has become of it.

    next_fire_at: the next planned instant; None when only an event can start it.
    next_fire_run: the run that named that instant; None when the schedule did.
    held_until_enabled: a run said `next_fire_at: "never"`.
    schedule_revision: rises with every edit of the schedule; part of a planned instant's delivery id.
    armed_at: when it was last created, enabled or given another schedule.
    run_count: successes ever. runs_since_armed: successes since the last enable.
    last_fired_at: claim time of the last successful run.
    mark: how far the dedupe strategy `greatest` has come.
    paused_at, paused_until: since when nothing of it is to happen; no end means until it is resumed.
    drifted_at: when an engine first found its component's version to be another than it was made for.
    budget_from: spending before this instant does not count, for a person armed it again.
    """

    id: str
    spec: TriggerSpec
    installation_id: str
    workflow_version: int
    state: Json = None
    next_fire_at: datetime | None = None
    next_fire_run: str | None = None
    held_until_enabled: bool = False
    schedule_revision: int = 1
    armed_at: datetime
    enabled: bool = True
    disabled_reason: DisabledReason | None = None
    removed_at: datetime | None = None
    origin: RowOrigin = RowOrigin.FILE
    consecutive_failures: int = 0
    run_count: int = 0
    runs_since_armed: int = 0
    last_fired_at: datetime | None = None
    last_error: str | None = None
    mark: Mark | None = None
    paused_at: datetime | None = None
    paused_until: datetime | None = None
    drifted_at: datetime | None = None
    budget_from: datetime | None = None
    created_at: datetime

    def off_reason(self, now: datetime) -> str | None:
        """`removed`, `expired` or the disabled reason, in that order; None while it is active."""
        if self.removed_at is not None:
            return "removed"
        if self.spec.expires_at is not None and self.spec.expires_at <= now:
            return "expired"
        if not self.enabled:
            return self.disabled_reason or DisabledReason.USER
        return None

    def is_paused(self, now: datetime) -> bool:
        """Whether a person's pause holds, also when nobody has noticed its end yet."""
        return self.paused_at is not None and (self.paused_until is None or self.paused_until > now)

    @property
    def drift(self) -> str | None:
        """How its component is not what it was made for, in one line; None when it is."""
        component, made_for = self.spec.component, self.spec.component_version
        present = version_of(component)
        if present == made_for:
            return None
        has = "does not have it" if present is None else f"has version {present}"
        return f"made for version {made_for} of {component}, this tocsin {has}"

    def halt(self, now: datetime) -> str | None:
        """Why an active one takes nothing in: `paused` or `drifted`; None when it does."""
        if self.is_paused(now):
            return PAUSED
        return None if self.drift is None else DRIFTED

    def status(self, now: datetime) -> str:
        """`removed`, `expired`, `disabled`, `paused`, `error` or `active`: the first that holds."""
        off = self.off_reason(now)
        if off is not None:
            return off if off in ("removed", "expired") else "disabled"
        if self.is_paused(now):
            return PAUSED
        return "active" if self.last_error is None and self.drift is None else "error"
