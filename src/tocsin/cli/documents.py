"""Rows as the JSON of INTERFACE section 4: exact keys, times in RFC 3339 UTC. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from tocsin.cli.times import zulu
from tocsin.duration import format_duration
from tocsin.event import UNFINISHED, Event
from tocsin.instants import MICROSECOND, rfc3339
from tocsin.registration import DisabledReason, Registration
from tocsin.runs import Run
from tocsin.trigger import NANOS, At, Cron, Every, Json, Schedule


def registration(row: Registration, now: datetime) -> dict[str, Json]:
    """REGISTRATION."""
    spec = row.spec
    return {
        "id": row.id,
        "name": spec.name,
        "workflow": spec.workflow,
        "workflow_version": row.workflow_version,
        "kind": spec.kind,
        "source": spec.source or spec.name,  # an inline source's installation bears the trigger's name
        "component": spec.component,
        "component_version": spec.component_version,
        "scope": spec.scope,
        "schedule": schedule(spec.schedule),
        "tz": zone_of(spec.schedule),
        "enabled": row.enabled,
        "status": row.status(now),
        "disabled_reason": row.disabled_reason,
        "paused_until": zulu(row.paused_until) if row.is_paused(now) else None,
        "next_fire_at": zulu(next_fire(row, now)),
        "last_fired_at": zulu(row.last_fired_at),
        "last_error": row.last_error or row.drift,
        "run_count": row.run_count,
        "consecutive_failures": row.consecutive_failures,
        "max_attempts": spec.max_attempts,
        "max_runs": spec.max_runs,
        "expires_at": zulu(spec.expires_at),
        "max_usd": None if spec.budget is None else spec.budget.max_nanos / NANOS,
        "tags": list(spec.tags),
        "config": dict(spec.config),
        "state": row.state,
        "serialize_key": spec.serialize_key,
        "origin": row.origin,
    }


def schedule(wanted: Schedule | None) -> str | None:
    """As a person writes it: a cron expression, a duration, an instant."""
    match wanted:
        case Cron(expr=expr):
            return expr
        case Every(every=every):
            return format_duration(every)
        case At(at=at):
            return rfc3339(at)
    return None


def zone_of(wanted: Schedule | None) -> str | None:
    """The zone that a schedule is read in; only cron has one."""
    return wanted.tz if isinstance(wanted, Cron) else None


def next_fire(row: Registration, now: datetime) -> datetime | None:
    """The next planned instant; None while it is off or idle, whatever the row still remembers.

    In a pause the first one that is left by its end; None in a pause without one.
    """
    if row.off_reason(now) is not None or row.idle or (row.is_paused(now) and row.paused_until is None):
        return None
    planned, end = row.next_fire_at, row.paused_until
    if planned is None or end is None or planned >= end:
        return planned
    from tocsin.schedule import next_after  # reads the zone database

    return next_after(row.spec.schedule, after=end - MICROSECOND, anchor=row.armed_at)


def failing(row: Registration, now: datetime) -> bool:
    """In error, on a streak of failures, or turned off by one."""
    turned_off = row.disabled_reason in (DisabledReason.FAILURES, DisabledReason.LOOP)
    return turned_off or row.consecutive_failures > 0 or row.status(now) == "error"


def event(row: Event) -> dict[str, Json]:
    """EVENT."""
    return {
        "id": row.id,
        "registration": row.registration,
        "registration_id": row.registration_id,
        "kind": row.kind,
        "origin": row.origin,
        "state": row.state,
        "reason": row.reason,
        "count": row.count,
        "delivery_id": row.delivery_id,
        "idempotency_key": row.idempotency_key,
        "occurred_at": rfc3339(row.occurred_at),
        "planned_at": zulu(row.planned_at),
        "created_at": rfc3339(row.created_at),
        "next_fire_at": zulu(row.next_fire_at),
        "attempts": row.attempts,
        "run_id": row.run_id,
        "settled_at": zulu(row.settled_at),
        "replay_of": row.replay_of,
        "folded_into": None,  # nothing is folded yet
        "missed": row.missed,
    }


def run(row: Run) -> dict[str, Json]:
    """RUN."""
    return {
        "id": row.id,
        "event_id": row.event_id,
        "registration": row.registration,
        "workflow": row.workflow,
        "workflow_version": row.workflow_version,
        "attempt": row.attempt,
        "state": row.state,
        "started_at": rfc3339(row.started_at),
        "finished_at": zulu(row.finished_at),
        "duration_ms": duration_ms(row),
        "exit_code": row.exit_code,
        "signal": row.signal,
        "error": row.error,
        "result": row.result,
        "cost_usd": row.cost_usd,
        "log": row.log,
        "test": row.test,
    }


def duration_ms(row: Run) -> int | None:
    """How long it took; None while it runs."""
    return (
        None if row.finished_at is None else (row.finished_at - row.started_at) // timedelta(milliseconds=1)
    )


def error_of(row: Event, last: Run | None) -> str | None:
    """What went wrong; waiting is no error."""
    if last is not None:
        return last.error
    return None if row.state in UNFINISHED else row.reason


def outcome(row: Event, last: Run | None, *, duplicate: bool) -> dict[str, Json]:
    """What `fire` prints: an event and how its last run ended."""
    return {
        "event_id": row.id,
        "run_id": row.run_id,
        "state": row.state,
        "duplicate": duplicate,
        "result": None if last is None else last.result,
        "exit_code": None if last is None else last.exit_code,
        "error": error_of(row, last),
    }
