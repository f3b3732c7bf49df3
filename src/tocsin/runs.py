"""Words for one attempt to run a workflow: what a runner is asked, what it answers, the row.

Used by ``settlement``, the engine, the runners and the faces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final

from tocsin.event import Cause
from tocsin.registration import TENANT
from tocsin.settings import Workflow
from tocsin.trigger import Json

TEST_RUN: Final = "run_test"  # what every run of `tocsin test` is told it is: it leaves no trace


class RunState(StrEnum):
    """Where a run stands. `lost`: its engine died; nobody knows how it ended."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


class Verdict(StrEnum):
    """What a run's end means for its event, before the registration's limits are looked at."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"  # another attempt may help
    FAILED_PERMANENTLY = "failed_permanently"  # the workflow says that no other attempt helps
    CANCELLED = "cancelled"
    LOST = "lost"  # its owner died
    INTERRUPTED = "interrupted"  # the engine stopped it to shut down
    UNAVAILABLE = "unavailable"  # it could not be started, for no fault of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """What a run wrote to `$TOCSIN_OUTPUT`; later keys won.

    present: the keys that were written, so that `state: null` differs from no state.
    result: every key that is not one of tocsin's own.
    """

    present: frozenset[str] = frozenset()
    state: Json = None
    next_fire_at: Json = None
    cost_usd: float | None = None
    result: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended. signal: its name (`SIGKILL`) when one ended it. error: one line, the cause."""

    verdict: Verdict
    exit_code: int | None = None
    signal: str | None = None
    error: str | None = None
    outputs: Outputs = Outputs()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One run, fully described; what a runner is given.

    idempotency_key: constant for the event. engine_key: with the attempt, unique to this run.
    params: the document the run reads (DESIGN section 8). run_dir: an empty private directory that
    the engine removes afterwards. log_path: where the run's output goes.
    """

    run_id: str
    event_id: str
    registration: str
    registration_id: str
    workflow: Workflow
    workflow_version: int
    attempt: int
    idempotency_key: str
    engine_key: str
    params: Mapping[str, Json]
    run_dir: Path
    log_path: Path
    home: Path
    planned_at: datetime | None = None
    cause: Cause | None = None
    allow_destructive: bool = False
    tenant: str = TENANT


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessFacts:
    """A process told apart from a later one with the same pid. started: clock ticks since boot."""

    pid: int
    started: int
    boot_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run's row. duration is finished_at - started_at; both aware UTC. log: path of its log file.

    event_id: None for a test run.
    """

    seq: int
    id: str
    event_id: str | None
    registration_id: str
    registration: str
    workflow: str
    workflow_version: int
    attempt: int
    state: RunState
    started_at: datetime
    finished_at: datetime | None
    exit_code: int | None
    signal: str | None
    error: str | None
    result: Json
    cost_usd: float | None
    log: str
    test: bool
