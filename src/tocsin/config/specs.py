"""From a trigger's sound table to its `TriggerSpec`: source settings as JSON, lanes, defaults of the kind.

Called by ``convert`` once a table has no fault. Pure.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

from tocsin.components import VERSIONS
from tocsin.config.rules import Around
from tocsin.config.shared_tables import ConnectionTable, SourceTable, instance_props, shared_props
from tocsin.config.source_tables import AfterTable, DedupeTable, FilesTable
from tocsin.config.tables import TriggerTable
from tocsin.config.webhook_table import WebhookTable
from tocsin.dedupe import Greatest, Last, Order, Strategy, Unique, written
from tocsin.settings import EngineSettings, Workflow
from tocsin.trigger import (
    At,
    Budget,
    BudgetPeriod,
    Cron,
    Every,
    Json,
    Kind,
    Misfire,
    MisfirePolicy,
    Overlap,
    Schedule,
    Scope,
    SourceSpec,
    TriggerSpec,
)

_KINDS: Final = {
    "cron": Kind.SCHEDULE,
    "every": Kind.SCHEDULE,
    "at": Kind.SCHEDULE,
    "files": Kind.FILE,
    "webhook": Kind.WEBHOOK,
    "after": Kind.RUN,
    "manual": Kind.MANUAL,
}
_OVERLAPS: Final = {
    Kind.SCHEDULE: Overlap.SKIP,
    Kind.FILE: Overlap.ALLOW,
    Kind.WEBHOOK: Overlap.ALLOW,
    Kind.RUN: Overlap.QUEUE,
    Kind.MANUAL: Overlap.QUEUE,
}


def schedule_of(table: TriggerTable, around: Around) -> Schedule | None:
    """The table's schedule; None when its source is another kind."""
    if table.cron is not None:
        return Cron(expr=table.cron, tz=table.tz or around.engine.tz)
    if table.every is not None:
        return Every(every=table.every, anchor=table.anchor)
    return None if table.at is None else At(at=table.at)


def spec_of(name: str, component: str, table: TriggerTable, around: Around) -> TriggerSpec:
    """The record of a table without faults. component: its own, or that of the source it names."""
    kind = _KINDS[component]
    workflow_name = table.workflow or ""
    return TriggerSpec(
        name=name,
        workflow=workflow_name,
        kind=kind,
        component=component,
        component_version=VERSIONS[component],
        source=table.source,
        props=_props(table, around),
        scope=_scope(kind, table),
        schedule=schedule_of(table, around),
        misfire=_misfire(table),
        overlap=_overlap(kind, table, around.workflows[workflow_name]),
        serialize_key=table.serialize_key,
        serialize_by=table.serialize_by,
        tags=tuple(table.tags),
        config=table.config,
        filter=table.filter,
        max_attempts=table.max_attempts,
        disable_after=table.disable_after,
        max_runs=table.max_runs,
        max_runs_per_hour=table.max_runs_per_hour,
        budget=_budget(table, around),
        expires_at=table.expires_at,
        enabled=table.enabled,
    )


def _scope(kind: Kind, table: TriggerTable) -> Scope:
    if table.scope is not None:
        return Scope(table.scope)
    return Scope.DESKTOP if kind is Kind.FILE else Scope.CLOUD


def _misfire(table: TriggerTable) -> MisfirePolicy:
    return MisfirePolicy(
        misfire=Misfire(table.misfire),
        grace=table.misfire_grace,
        limit=table.misfire_limit,
        wake_delay=table.wake_delay,
        splay=table.splay,
    )


def _overlap(kind: Kind, table: TriggerTable, target: Workflow) -> Overlap:
    """As asked for; else DESIGN section 7: keys and state are kept in order, schedules never pile up."""
    if table.overlap is not None:
        return Overlap(table.overlap)
    keyed = table.serialize_key is not None or table.serialize_by is not None
    if keyed or "state" in target.outputs:
        return Overlap.QUEUE
    return _OVERLAPS[kind]


def _budget(table: TriggerTable, around: Around) -> Budget | None:
    if table.max_usd is None:
        return None
    period, zone = BudgetPeriod(table.budget_period), table.tz or around.engine.tz
    return Budget(max_nanos=table.max_usd, period=period, tz=zone)


def source_spec(
    name: str,
    table: SourceTable,
    base: Path,
    connections: Mapping[str, ConnectionTable],
    engine: EngineSettings,
) -> SourceSpec | None:
    """The record of a `[sources]` table; None when it names nothing that happens."""
    if table.files is not None:
        return SourceSpec(name=name, component="files", props=_files(table.files, base))
    dedupe = {"dedupe": _dedupe(table.dedupe or DedupeTable())}
    if table.webhook is not None:
        props = instance_props(table.webhook, engine.body_limit) | dedupe
        return SourceSpec(name=name, component="webhook", props=props)
    if table.shared is not None:
        props = shared_props(table.shared, connections, engine.body_limit) | dedupe
        return SourceSpec(name=name, component="webhook", props=props)
    return None


def _props(table: TriggerTable, around: Around) -> Mapping[str, Json]:
    shared = None if table.source is None else around.sources[table.source]
    if shared is not None:
        return shared.props
    if table.files is not None:
        return _files(table.files, around.base)
    if table.webhook is not None:
        hook = table.webhook if table.rate is None else table.webhook.model_copy(update={"rate": table.rate})
        return _webhook(hook, table.dedupe or DedupeTable(), around.engine)
    return {} if table.after is None else _after(table.after)


def _files(table: FilesTable, base: Path) -> dict[str, Json]:
    return {
        "paths": list(dict.fromkeys(absolute(path, base) for path in table.path)),
        "recursive": table.recursive,
        "match": list(table.match or []),
        "ignore": list(table.ignore),
        "on": list(table.on),
        "debounce_ms": _ms(table.debounce),
        "settle_ms": _ms(table.settle),
        "max_wait_ms": _ms(table.max_wait),
        "at_max_wait": table.at_max_wait,
        "batch": table.batch,
        "compare": table.compare,
        "start": table.start,
    }


def _webhook(table: WebhookTable, dedupe: DedupeTable, engine: EngineSettings) -> dict[str, Json]:
    return {**table.props(engine.body_limit), "dedupe": _dedupe(dedupe)}


def _dedupe(table: DedupeTable) -> dict[str, Json]:
    return {
        "header": table.header,
        "payload": table.payload,
        "body_window_ms": _ms(table.body_window),
        **written(_strategy(table)),
    }


def _strategy(table: DedupeTable) -> Strategy:
    if table.strategy == "greatest" and table.order is not None:
        return Greatest(order=Order(table.order))
    return Last(n=table.n) if table.strategy == "last" else Unique()


def _after(table: AfterTable) -> dict[str, Json]:
    name = {"workflow": table.workflow} if table.workflow is not None else {"trigger": table.trigger}
    return {**name, "on": table.on}


def _ms(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


def absolute(path: str, base: Path) -> str:
    """`path`, relative to `base`; `..` is taken away, links are left as they are."""
    return os.path.normpath(base / path)
