"""Whatever a table holds, reading it ends in a record or in faults, never in another exception."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.config.loading import NOW
from tocsin.config.convert import default_keys, engine_settings, trigger, workflow
from tocsin.config.engine_table import EngineTable
from tocsin.config.problems import keys_of
from tocsin.config.rules import Around
from tocsin.config.source_tables import AfterTable, DedupeTable, FilesTable
from tocsin.config.tables import TriggerTable
from tocsin.config.webhook_table import WebhookTable
from tocsin.config.workflow_table import WorkflowTable
from tocsin.settings import EngineSettings, Workflow

AROUND = Around(
    engine=EngineSettings(),
    workflows={"w": Workflow(name="w"), "v": Workflow(name="v")},
    triggers={"t", "u"},
    base=Path("/base"),
    now=NOW,
)
WORDS = (
    "w",
    "t",
    "u",
    "30s",
    "5m",
    "1MiB",
    "@daily",
    "30 2 * * *",
    "UTC",
    "2027-01-01T00:00:00Z",
    "~/x",
    "skip",
)
KEYS = sorted(
    {
        key
        for model in (
            EngineTable,
            WorkflowTable,
            TriggerTable,
            FilesTable,
            WebhookTable,
            DedupeTable,
            AfterTable,
        )
        for key in keys_of(model)
    }
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=9),
    st.sampled_from(WORDS),
    st.datetimes(timezones=st.sampled_from((None, UTC))),
    st.sampled_from((date(2026, 1, 1), time(7, 30), datetime.min.replace(tzinfo=UTC))),
)
keys = st.sampled_from(KEYS) | st.text(max_size=5)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=8,
)
tables = st.dictionaries(keys, values, max_size=8)


@settings(deadline=None)  # a busy machine is no fault
@given(st.sampled_from(("t", "", "a b")), tables, tables)
def test_any_trigger(name: str, raw: dict[str, Any], defaults: dict[str, Any]) -> None:
    sound, _ = default_keys(defaults, Path("/base"))
    spec, faults = trigger(name, {"workflow": "w", **raw}, sound, AROUND)
    assert (spec is None) == any(fault.severity == "error" for fault in faults)
    assert all(fault.message.isprintable() and len(fault.message) < 900 for fault in faults)


@settings(deadline=None)  # a busy machine is no fault
@given(tables)
def test_any_workflow(raw: dict[str, Any]) -> None:
    found, faults = workflow("w", raw, {}, Path("/base"))
    assert faults or bool(found.command) != bool(found.shell)


@settings(deadline=None)  # a busy machine is no fault
@given(tables)
def test_any_engine(raw: dict[str, Any]) -> None:
    settings, _ = engine_settings(raw, system_tz="UTC")
    assert 0 <= settings.port <= 65535
