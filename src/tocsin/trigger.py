"""Words for a trigger as a person wrote it: `TriggerSpec`, and the schedule and limits in it.

Used on every floor. Knows nothing of SQL, TOML or HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

MICROSECOND = timedelta(microseconds=1)

NANOS = 10**9  # money is counted in billionths of a dollar: sums of whole numbers are exact


class Kind(StrEnum):
    """What sort of thing an event is."""

    SCHEDULE = "schedule"
    POLL = "poll"
    FILE = "file"
    WEBHOOK = "webhook"
    RUN = "run"
    MANUAL = "manual"


class Scope(StrEnum):
    """Where a trigger can be served: beside a person's files, or anywhere."""

    DESKTOP = "desktop"
    CLOUD = "cloud"


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


class BudgetPeriod(StrEnum):
    """How long a budget lasts: a calendar day, a week that begins on Monday, a calendar month."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


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
class Rate:
    """So many within any stretch of this length, all of them at once if need be.

    What was used up comes back evenly. count: 1 or more. per: longer than nothing.
    """

    count: int
    per: timedelta

    @property
    def distance(self) -> timedelta:
        """Between two deliveries that keep the rate; rounded up, so that it is never exceeded."""
        return -(-self.per // (self.count * MICROSECOND)) * MICROSECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most (billionths of a dollar) that a trigger's runs may cost in one period of its zone."""

    max_nanos: int
    period: BudgetPeriod
    tz: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """One `[sources]` table with every default filled in: what triggers that name it share."""

    name: str
    component: str
    props: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSpec:
    """One trigger as written, with every default filled in.

    component: the source component's key (`cron`, `every`, `at`, `files`, `webhook`, `after`,
    `manual`). source: the `[sources]` table that feeds it, and maybe others; None for its own. props: the
    settings of that source or of its own, JSON values only. serialize_key: a lane shared
    by all triggers that name it; None means a lane of its own unless overlap is `allow`.
    serialize_by: the part of an event that names its lane (`payload:issue.id`), never beside
    serialize_key. filter: a CEL expression over an event and config; what it does not fit is no event of
    this trigger. schema: a JSON Schema that payloads have to fit. expires_at: aware UTC.
    max_runs: successes since it was armed.
    max_runs_per_hour: attempts begun within any hour, however they end.
    """

    name: str
    workflow: str
    kind: Kind
    component: str
    component_version: int = 1
    source: str | None = None
    props: Mapping[str, Json] = field(default_factory=dict)
    scope: Scope = Scope.CLOUD
    schedule: Schedule | None = None
    misfire: MisfirePolicy = MisfirePolicy()
    overlap: Overlap = Overlap.SKIP
    serialize_key: str | None = None
    serialize_by: str | None = None
    tags: tuple[str, ...] = ()
    config: Mapping[str, Json] = field(default_factory=dict)
    filter: str | None = None
    schema: Mapping[str, Json] | None = None
    max_attempts: int = 3
    disable_after: int = 5
    max_runs: int | None = None
    max_runs_per_hour: int | None = None
    budget: Budget | None = None
    expires_at: datetime | None = None
    enabled: bool = True
