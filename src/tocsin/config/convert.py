"""From tables to floor-0 records: with defaults applied.

``load`` calls it for a file, the CLI and the API call ``trigger_spec`` for one trigger made from
flags: the same rules, the same wording. Pure, but for the
schema files that triggers name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tocsin import schedule as schedules
from tocsin.config import schema_files
from tocsin.config.engine_table import EngineTable, RetentionTable
from tocsin.config.problems import Fault, faults_of, keys_of
from tocsin.config.rules import (
    Around,
    Written,
    name_faults,
    pattern_faults,
    program_faults,
    source_faults,
    trigger_faults,
    workflow_faults,
)
from tocsin.config.shared_tables import ConnectionTable, SourceTable, shared_faults
from tocsin.config.specs import absolute, schedule_of, source_spec, spec_of
from tocsin.config.tables import (
    SCHEDULES,
    DefaultsTable,
    TriggerTable,
    read_table,
)
from tocsin.config.workflow_table import WorkflowTable
from tocsin.config.writes import rooted, writes_faults
from tocsin.errors import ConfigInvalid, InvalidSchedule
from tocsin.settings import EngineSettings, Retention, Workflow
from tocsin.trigger import Scope, SourceSpec, TriggerSpec


def engine_settings(raw: Mapping[str, Any], *, system_tz: str) -> tuple[EngineSettings, list[Fault]]:
    """`[engine]`; the system's zone where it names none."""
    table, faults = read_table(EngineTable, raw)
    settings = EngineSettings(
        host=table.host,
        port=table.port,
        max_concurrent_runs=table.max_concurrent_runs,
        max_concurrent_runs_per_workflow=table.max_concurrent_runs_per_workflow,
        tz=table.tz or system_tz,
        body_limit=table.body_limit,
        shutdown_grace=table.shutdown_grace,
        public_url=table.public_url,
        serves=tuple(Scope(scope) for scope in dict.fromkeys(table.serves)),
        retention=_retention(table.retention or RetentionTable()),
    )
    return settings, faults


def _retention(table: RetentionTable) -> Retention:
    return Retention(
        payloads=table.payloads,
        events=table.events,
        runs=table.runs,
        dedupe=table.dedupe,
        quarantine=table.quarantine,
    )


def default_keys(raw: Mapping[str, Any], base: Path) -> tuple[dict[str, Any], list[Fault]]:
    """The sound keys of `[defaults]` as written, its paths made absolute."""
    table, faults = read_table(DefaultsTable, raw)
    faulty = {fault.keys[0] for fault in faults}
    sound = {key: value for key, value in raw.items() if key not in faulty}
    if table.cwd is not None:
        sound["cwd"] = absolute(table.cwd, base)
    if table.payload_schema is not None:
        sound[schema_files.KEY] = absolute(table.payload_schema, base)
    return sound, faults


def workflow(
    name: str, raw: Mapping[str, Any], defaults: Mapping[str, Any], base: Path
) -> tuple[Workflow, list[Fault]]:
    """One `[workflows.NAME]`; what has a fault keeps its default, so that triggers can be checked."""
    raw = _set(raw)
    whole = _over(defaults, raw, WorkflowTable)
    table, faults = read_table(WorkflowTable, whole)
    faults += [*name_faults(name), *workflow_faults(raw, faults), *program_faults(table)]
    faults += writes_faults(table.writes, table.cwd)
    return _workflow(name, table, base), faults


def _workflow(name: str, table: WorkflowTable, base: Path) -> Workflow:
    cwd = None if table.cwd is None else absolute(table.cwd, base)
    return Workflow(
        name=name,
        command=tuple(table.command or ()),
        shell=table.shell,
        cwd=None if cwd is None else Path(cwd),
        env=table.env,
        timeout=table.timeout,
        kill_grace=table.kill_grace,
        max_concurrent=table.max_concurrent,
        inputs=tuple(table.inputs),
        outputs=tuple(table.outputs),
        permanent_exit_codes=tuple(table.permanent_exit_codes),
        writes=tuple(rooted(line, cwd or "/") for line in table.writes),
    )


def connection(name: str, raw: Mapping[str, Any]) -> tuple[ConnectionTable | None, list[Fault]]:
    """One `[connections.NAME]`, None when it has errors."""
    raw = _set(raw)
    faults = [*name_faults(name)]
    try:
        table = ConnectionTable.model_validate(raw)
    except ValidationError as error:
        return None, [*faults, *faults_of(error, ConnectionTable)]
    return None if faults else table, faults


def source(
    name: str,
    raw: Mapping[str, Any],
    base: Path,
    connections: Mapping[str, ConnectionTable | None],
    engine: EngineSettings,
) -> tuple[SourceSpec | None, list[Fault]]:
    """One `[sources.NAME]`, None when it has errors. connections: by name; None for one that has faults."""
    raw = _set(raw)
    table, faults = read_table(SourceTable, raw)
    found = [*faults, *name_faults(name), *source_faults(raw, faults), *shared_faults(table, connections)]
    if table.files is not None:
        found += pattern_faults(table.files)
    sound = {name: one for name, one in connections.items() if one is not None}
    is_whole = table.shared is None or all(one in sound for one in table.shared.connections)
    return None if found or not is_whole else source_spec(name, table, base, sound, engine), found


def trigger(
    name: str, raw: Mapping[str, Any], defaults: Mapping[str, Any], around: Around
) -> tuple[TriggerSpec | None, list[Fault]]:
    """One `[triggers.NAME]`, None when it has errors; warnings come with the spec."""
    raw = _set(raw)
    whole = _over(defaults, raw, TriggerTable)
    table, faults = read_table(TriggerTable, whole)
    written = Written(name=name, whole=whole, own=raw.keys(), table=table, faults=faults)
    found = [*faults, *name_faults(name), *trigger_faults(written, around)]
    found += _schedule_faults(written, around)
    schema, unread = schema_files.of_trigger(table.payload_schema, around.base)
    found += unread
    wrong = any(fault.severity == "error" for fault in found)
    component = written.component(around)  # None beside a source whose own faults are told already
    if wrong or component is None:
        return None, found
    return replace(spec_of(name, component, table, around), schema=schema), found


def trigger_spec(
    name: str,
    table: Mapping[str, Any],
    *,
    around: Around,
    defaults: Mapping[str, Any] | None = None,
    origin: str = "",
) -> TriggerSpec:
    """One trigger made from flags or JSON, by the rules of a file.

    table: keys and values as in `[triggers.NAME]`; null is not set. defaults: `Loaded.defaults`.
    origin: what stands where a file's name would. Raises ConfigInvalid with every problem and its key.
    """
    spec, faults = trigger(name, table, defaults or {}, around)
    if spec is None:
        errors = [fault for fault in faults if fault.severity == "error"]
        raise ConfigInvalid([fault.under("triggers", name).at(origin, None) for fault in errors])
    return spec


def _set(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Without nulls: JSON may spell out that a key is not set, TOML cannot."""
    return {key: value for key, value in raw.items() if value is not None}


def _over(defaults: Mapping[str, Any], raw: Mapping[str, Any], model: type[Any]) -> dict[str, Any]:
    """The table's own keys, and those of `[defaults]` that it can have and does not set."""
    return {key: value for key, value in defaults.items() if key in keys_of(model)} | dict(raw)


def _schedule_faults(written: Written, around: Around) -> list[Fault]:
    """What a schedule whose keys are sound says of itself."""
    planned = schedule_of(written.table, around)
    faulty = {fault.keys[0] for fault in written.faults}
    if planned is None or len(written.sources()) != 1 or faulty & {*SCHEDULES, "anchor"}:
        return []
    try:
        schedules.validate(planned, around.now)
    except InvalidSchedule as error:
        return [Fault(keys=(written.sources()[0],), message=str(error))]
    return []
