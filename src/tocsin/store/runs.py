"""Verbs of the `runs` table. Each runs inside a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tocsin.instants import instant, microseconds
from tocsin.runs import Outcome, ProcessFacts, Run, RunState
from tocsin.store.columns import at_us, dump
from tocsin.store.connection import Tx
from tocsin.store.events import HIGHEST
from tocsin.store.rows import run_of
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run as it begins. event_id: None for a test. params: all the run is told but the envelope."""

    id: str
    event_id: str | None
    registration_id: str
    workflow: str
    workflow_version: int
    attempt: int
    engine_key: str
    params: Json
    log: str


def insert(tx: Tx, run: NewRun, now: datetime) -> None:
    """A run that starts now."""
    tx.run(
        "runs.insert",
        id=run.id,
        event_id=run.event_id,
        registration_id=run.registration_id,
        workflow=run.workflow,
        workflow_version=run.workflow_version,
        attempt=run.attempt,
        engine_key=run.engine_key,
        params=dump(run.params),
        started_at=microseconds(now),
        log=run.log,
        test=int(run.event_id is None),
    )


def set_process(tx: Tx, id_: str, process: ProcessFacts) -> None:
    """The local process behind a run."""
    tx.run("runs.process", id=id_, pid=process.pid, pid_started=process.started, boot_id=process.boot_id)


def finish(tx: Tx, id_: str, state: RunState, outcome: Outcome, *, error: str | None, now: datetime) -> bool:
    """Write the end down; False when it was written before. error: as settled."""
    result = dict(outcome.outputs.result)
    changed = tx.run(
        "runs.finish",
        id=id_,
        state=state,
        finished_at=microseconds(now),
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        error=error,
        output=dump(result) if result else None,
        cost_usd=outcome.outputs.cost_usd,
    )
    return changed == 1


def by_id(tx: Tx, id_: str) -> Run | None:
    """One run."""
    row = tx.one("runs.by_id", id=id_)
    return None if row is None else run_of(row)


def by_prefix(tx: Tx, prefix: str) -> list[Run]:
    """None, one, or two runs that the prefix fits; two mean it is ambiguous."""
    return [run_of(row) for row in tx.all("runs.by_prefix", prefix=prefix, beyond=prefix + HIGHEST)]


def under_way_at(tx: Tx, registration_id: str, at: datetime) -> list[Run]:
    """Runs of a trigger at this instant, two at most."""
    rows = tx.all("runs.under_way_at", registration_id=registration_id, at=microseconds(at))
    return [run_of(row) for row in rows]


def of_event(tx: Tx, event_id: str) -> list[Run]:
    """An event's runs, first attempt first."""
    return [run_of(row) for row in tx.all("runs.of_event", event_id=event_id)]


def listed(
    tx: Tx, *, registration_id: str | None, state: RunState | None, since: datetime | None, limit: int
) -> list[Run]:
    """Newest first."""
    rows = tx.all(
        "runs.listed", registration_id=registration_id, state=state, since=at_us(since), limit=limit
    )
    return [run_of(row) for row in rows]


def nth_last_begun(tx: Tx, registration_id: str, n: int) -> datetime | None:
    """When a trigger's nth last attempt began, however it ended, tests apart; None while there are fewer."""
    row = tx.one("runs.nth_last", registration_id=registration_id, offset=n - 1)
    return None if row is None else instant(row["started_at"])


def running(tx: Tx) -> list[Run]:
    """Runs without an end, oldest first."""
    return [run_of(row) for row in tx.all("runs.running")]
