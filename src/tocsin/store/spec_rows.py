"""A trigger's wording into columns of `registrations` and back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tocsin.instants import instant
from tocsin.store.columns import at, at_us, dump, load, milliseconds
from tocsin.store.connection import Row
from tocsin.trigger import (
    At,
    Budget,
    BudgetPeriod,
    Cron,
    Every,
    Kind,
    Misfire,
    MisfirePolicy,
    Overlap,
    Schedule,
    Scope,
    TriggerSpec,
)


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


def budget_columns(budget: Budget | None) -> dict[str, Any]:
    if budget is None:
        return dict.fromkeys(("max_usd_nanos", "budget_period", "budget_tz"))
    return {"max_usd_nanos": budget.max_nanos, "budget_period": budget.period, "budget_tz": budget.tz}


def budget_of(row: Row) -> Budget | None:
    if row["max_usd_nanos"] is None:
        return None
    return Budget(
        max_nanos=row["max_usd_nanos"], period=BudgetPeriod(row["budget_period"]), tz=row["budget_tz"]
    )


def spec_columns(spec: TriggerSpec) -> dict[str, Any]:
    """Every column that a person's wording decides, but for the props (the installation's)."""
    return (
        schedule_columns(spec.schedule)
        | budget_columns(spec.budget)
        | {
            "name": spec.name,
            "workflow": spec.workflow,
            "kind": spec.kind,
            "component": spec.component,
            "component_version": spec.component_version,
            "scope": spec.scope,
            "config": dump(spec.config),
            "filter": spec.filter,
            "schema": None if spec.schema is None else dump(spec.schema),
            "tags": dump(list(spec.tags)),
            "misfire": spec.misfire.misfire,
            "misfire_grace_ms": milliseconds(spec.misfire.grace),
            "misfire_limit": spec.misfire.limit,
            "wake_delay_ms": milliseconds(spec.misfire.wake_delay),
            "splay_ms": milliseconds(spec.misfire.splay),
            "overlap": spec.overlap,
            "serialize_key": spec.serialize_key,
            "serialize_by": spec.serialize_by,
            "max_attempts": spec.max_attempts,
            "disable_after": spec.disable_after,
            "max_runs": spec.max_runs,
            "max_runs_per_hour": spec.max_runs_per_hour,
            "expires_at": at_us(spec.expires_at),
            "written_enabled": int(spec.enabled),
        }
    )


def spec_of(row: Row) -> TriggerSpec:
    """The wording in a row of `registration_rows`."""
    return TriggerSpec(
        name=row["name"],
        workflow=row["workflow"],
        kind=Kind(row["kind"]),
        component=row["component"],
        component_version=row["component_version"],
        source=row["source"],
        props=load(row["props"]),
        scope=Scope(row["scope"]),
        schedule=schedule_of(row),
        misfire=MisfirePolicy(
            misfire=Misfire(row["misfire"]),
            grace=timedelta(milliseconds=row["misfire_grace_ms"]),
            limit=row["misfire_limit"],
            wake_delay=timedelta(milliseconds=row["wake_delay_ms"]),
            splay=timedelta(milliseconds=row["splay_ms"]),
        ),
        overlap=Overlap(row["overlap"]),
        serialize_key=row["serialize_key"],
        serialize_by=row["serialize_by"],
        tags=tuple(load(row["tags"])),
        config=load(row["config"]),
        filter=row["filter"],
        schema=load(row["schema"]),
        max_attempts=row["max_attempts"],
        disable_after=row["disable_after"],
        max_runs=row["max_runs"],
        max_runs_per_hour=row["max_runs_per_hour"],
        budget=budget_of(row),
        expires_at=at(row["expires_at"]),
        enabled=bool(row["written_enabled"]),
    )
