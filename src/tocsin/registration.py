"""Words for a trigger's row: what a person wrote (its `TriggerSpec`) and what has become of it.

Used on every floor. Knows nothing of SQL, TOML or HTTP.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tocsin.components import version_of
from tocsin.trigger import Json, TriggerSpec

PAUSED, DRIFTED = "paused", "drifted"  # why an active one takes nothing in

TENANT = "local"  # one person's machine; the column keeps the binding whole


class DisabledReason(StrEnum):
    """Why a registration is off. Only `enable` lifts one, except `config` (the row had left the file)."""

    FAILURES = "failures"
    EXPIRED = "expired"
    MAX_RUNS = "max_runs"
    BUDGET = "budget"
    LOOP = "loop"
    USER = "user"
    CONFIG = "config"


class RowOrigin(StrEnum):
    """Who made a registration; `apply` touches only rows that came from the file."""

    FILE = "file"
    CLI = "cli"


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
    idle: the engine does not serve its scope.
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
    idle: bool = False
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

    @property
    def idle_reason(self) -> str | None:
        """Why nothing happens though it is on, in one line; None when somebody serves it."""
        if not self.idle:
            return None
        return f"its scope is {self.spec.scope}, which the engine does not serve"

    def halt(self, now: datetime) -> str | None:
        """Why an active one takes nothing in: `paused` or `drifted`; None when it does."""
        if self.is_paused(now):
            return PAUSED
        return None if self.drift is None else DRIFTED

    def status(self, now: datetime) -> str:
        """`removed`, `expired`, `disabled`, `paused`, `error`, `idle` or `active`: the first that holds."""
        off = self.off_reason(now)
        if off is not None:
            return off if off in ("removed", "expired") else "disabled"
        if self.is_paused(now):
            return PAUSED
        if self.last_error is not None or self.drift is not None:
            return "error"
        return "idle" if self.idle else "active"
