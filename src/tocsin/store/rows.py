"""Rows into records and back, but for `files`, whose columns stand with their verbs in ``installations``."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tocsin.event import Cause, Event, Origin, State
from tocsin.instants import instant, microseconds
from tocsin.registration import (
    At,
    Cron,
    DisabledReason,
    Every,
    Json,
    Kind,
    Mark,
    Misfire,
    MisfirePolicy,
    Overlap,
    Registration,
    RowOrigin,
    Schedule,
    TriggerSpec,
)
from tocsin.run import Run, RunState
from tocsin.settings import Workflow
from tocsin.store.connection import Row


def at_us(at: datetime | None) -> int | None:
    """A column's microseconds."""
    return None if at is None else microseconds(at)


def at(us: int | None) -> datetime | None:
    """A column's instant."""
    return None if us is None else instant(us)


def dump(value: Json) -> str:
    """Compact JSON in ASCII. Raises ValueError for NaN and infinities."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def load(text: str | None) -> Any:
    """The value of a JSON column; None for NULL."""
    return None if text is None else json.loads(text)


def milliseconds(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


def schedule_columns(schedule: Schedule | None) -> dict[str, Any]:
    columns: dict[str, Any] = dict.fromkeys(("cron_expr", "cron_tz", "every_us", "anchor_at", "once_at"))
    match schedule:
        case Cron(expr=expr, tz=tz):
            columns |= {"cron_expr": expr, "cron_tz": tz}
        case Every(every=every, anchor=anchor):
            columns |= {"every_us": every // timedelta(microseconds=1), "anchor_at": at_us(anchor)}
        case At(at=once):
            columns |= {"once_at": at_us(once)}
    return columns


def schedule_of(row: Row) -> Schedule | None:
    if row["cron_expr"] is not None:
        return Cron(expr=row["cron_expr"], tz=row["cron_tz"])
    if row["every_us"] is not None:
        return Every(every=timedelta(microseconds=row["every_us"]), anchor=at(row["anchor_at"]))
    return None if row["once_at"] is None else At(at=instant(row["once_at"]))


def spec_columns(spec: TriggerSpec) -> dict[str, Any]:
    """Every column that a person's wording decides, but for the props (the installation's)."""
    return schedule_columns(spec.schedule) | {
        "name": spec.name,
        "workflow": spec.workflow,
        "kind": spec.kind,
        "component": spec.component,
        "component_version": spec.component_version,
        "config": dump(spec.config),
        "tags": dump(list(spec.tags)),
        "misfire": spec.misfire.misfire,
        "misfire_grace_ms": milliseconds(spec.misfire.grace),
        "misfire_limit": spec.misfire.limit,
        "overlap": spec.overlap,
        "serialize_key": spec.serialize_key,
        "max_attempts": spec.max_attempts,
        "disable_after": spec.disable_after,
        "max_runs": spec.max_runs,
        "expires_at": at_us(spec.expires_at),
        "written_enabled": int(spec.enabled),
    }


def spec_of(row: Row) -> TriggerSpec:
    return TriggerSpec(
        name=row["name"],
        workflow=row["workflow"],
        kind=Kind(row["kind"]),
        component=row["component"],
        component_version=row["component_version"],
        props=load(row["props"]),
        schedule=schedule_of(row),
        misfire=MisfirePolicy(
            misfire=Misfire(row["misfire"]),
            grace=timedelta(milliseconds=row["misfire_grace_ms"]),
            limit=row["misfire_limit"],
        ),
        overlap=Overlap(row["overlap"]),
        serialize_key=row["serialize_key"],
        tags=tuple(load(row["tags"])),
        config=load(row["config"]),
        max_attempts=row["max_attempts"],
        disable_after=row["disable_after"],
        max_runs=row["max_runs"],
        expires_at=at(row["expires_at"]),
        enabled=bool(row["written_enabled"]),
    )


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
        permanent_exit_codes=tuple(spec["permanent_exit_codes"]),
    )
