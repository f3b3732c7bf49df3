"""Rows into records and back, but for `files`, whose columns stand with their verbs in ``installations``."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tocsin.event import Cause, Event, Origin, State
from tocsin.instants import instant
from tocsin.registration import DisabledReason, Mark, Registration, RowOrigin
from tocsin.runs import Run, RunState
from tocsin.settings import Workflow
from tocsin.store.columns import at, load
from tocsin.store.connection import Row
from tocsin.store.spec_rows import spec_of
from tocsin.trigger import Kind


def registration_of(row: Row) -> Registration:
    """A row of `registration_rows`."""
    return Registration(
        id=row["id"],
        spec=spec_of(row),
        installation_id=row["installation_id"],
        workflow_version=row["workflow_version"],
        state=load(row["state"]),
        next_fire_at=at(row["next_fire_at"]),
        next_fire_run=row["next_fire_run"],
        held_until_enabled=bool(row["held_until_enabled"]),
        schedule_revision=row["schedule_revision"],
        armed_at=instant(row["armed_at"]),
        enabled=bool(row["enabled"]),
        disabled_reason=None if row["disabled_reason"] is None else DisabledReason(row["disabled_reason"]),
        removed_at=at(row["removed_at"]),
        origin=RowOrigin(row["origin"]),
        consecutive_failures=row["consecutive_failures"],
        run_count=row["run_count"],
        runs_since_armed=row["runs_since_armed"],
        last_fired_at=at(row["last_fired_at"]),
        last_error=row["last_error"] or row["source_error"],
        mark=mark_of(row),
        paused_at=at(row["paused_at"]),
        paused_until=at(row["paused_until"]),
        drifted_at=at(row["drifted_at"]),
        budget_from=at(row["budget_from"]),
        idle=bool(row["idle"]),
        created_at=instant(row["created_at"]),
    )


def mark_of(row: Row) -> Mark | None:
    """The two columns of a mark, which are set together."""
    if row["dedupe_mark"] is None:
        return None
    return Mark(delivery_id=row["dedupe_mark"], event_id=row["dedupe_mark_event"])


def cause_of(row: Row) -> Cause | None:
    if row["cause_run"] is None:
        return None
    return Cause(run_id=row["cause_run"], lineage=tuple(load(row["cause_lineage"])))


def event_of(row: Row) -> Event:
    """A row of `event_rows`."""
    return Event(
        seq=row["seq"],
        id=row["id"],
        registration_id=row["registration_id"],
        registration=row["registration"],
        workflow=row["workflow"],
        kind=Kind(row["kind"]),
        origin=Origin(row["origin"]),
        state=State(row["state"]),
        reason=row["reason"],
        count=row["count"],
        lane=row["lane"],
        attempts=row["attempts"],
        delivery_id=row["delivery_id"],
        idempotency_key=row["idempotency_key"],
        occurred_at=instant(row["occurred_at"]),
        planned_at=at(row["planned_at"]),
        created_at=instant(row["created_at"]),
        next_fire_at=at(row["next_fire_at"]),
        run_id=row["run_id"],
        settled_at=at(row["settled_at"]),
        missed=row["missed"],
        cause=cause_of(row),
        replay_of=row["replay_of"],
        attempt_limit=row["attempt_limit"],
        cancel_requested_at=at(row["cancel_requested_at"]),
        cancel_reason=row["cancel_reason"],
    )


def run_of(row: Row) -> Run:
    """A row of `run_rows`."""
    return Run(
        seq=row["seq"],
        id=row["id"],
        event_id=row["event_id"],
        registration_id=row["registration_id"],
        registration=row["registration"],
        workflow=row["workflow"],
        workflow_version=row["workflow_version"],
        attempt=row["attempt"],
        state=RunState(row["state"]),
        started_at=instant(row["started_at"]),
        finished_at=at(row["finished_at"]),
        exit_code=row["exit_code"],
        signal=row["signal"],
        error=row["error"],
        result=load(row["output"]),
        cost_usd=row["cost_usd"],
        log=row["log"],
        test=bool(row["test"]),
    )


def workflow_of(row: Row) -> Workflow:
    """The definition that `Workflow.document` wrote."""
    spec = load(row["spec"])
    timeout_ms = spec["timeout_ms"]
    return Workflow(
        name=row["name"],
        command=tuple(spec["command"]),
        shell=spec["shell"],
        cwd=None if spec["cwd"] is None else Path(spec["cwd"]),
        env=spec["env"],
        timeout=None if timeout_ms is None else timedelta(milliseconds=timeout_ms),
        kill_grace=timedelta(milliseconds=spec["kill_grace_ms"]),
        max_concurrent=spec["max_concurrent"],
        inputs=tuple(spec["inputs"]),
        outputs=tuple(spec["outputs"]),
        writes=tuple(spec.get("writes", ())),
        permanent_exit_codes=tuple(spec["permanent_exit_codes"]),
    )
