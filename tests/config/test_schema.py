"""The shipped files: the schema is current, the example and the template are right and complete."""

from __future__ import annotations

import json
import re
import shutil
import stat
import tomllib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.config.loading import NOW, loaded, written
from tocsin.config import template
from tocsin.config.engine_table import EngineTable
from tocsin.config.load import load
from tocsin.config.problems import keys_of
from tocsin.config.schema import json_schema
from tocsin.config.shared_tables import ConnectionTable, SharedTable, SourceTable
from tocsin.config.source_tables import AfterTable, DedupeTable, FilesTable, Table
from tocsin.config.tables import FileTables, TriggerTable
from tocsin.config.webhook_table import NormalizeTable, WebhookTable
from tocsin.config.workflow_table import WorkflowTable
from tocsin.errors import Refused

CONFIG = Path(__file__).parents[2] / "config"
EXAMPLE = CONFIG / "tocsin.example.toml"


def as_json(value: Any) -> Any:
    """TOML values as an editor's validator sees them: times are strings."""
    if isinstance(value, dict):
        return {key: as_json(below) for key, below in value.items()}
    if isinstance(value, list):
        return [as_json(below) for below in value]
    return value.isoformat() if isinstance(value, datetime) else value


def schema_complaints(text: str) -> list[str]:
    validator = Draft202012Validator(json_schema())
    return [error.json_path for error in validator.iter_errors(as_json(tomllib.loads(text)))]


def test_the_shipped_schema_is_current() -> None:
    """Else: python -m tocsin.config.schema > config/tocsin.schema.json."""
    shipped = json.loads((CONFIG / "tocsin.schema.json").read_text(encoding="utf-8"))
    assert shipped == json_schema()


def test_the_schema_is_a_schema_and_names_no_null() -> None:
    Draft202012Validator.check_schema(json_schema())
    assert "null" not in json.dumps(json_schema())


def test_every_key_is_explained_to_an_editor() -> None:
    schema: Any = json_schema()
    for table in (schema, *schema["$defs"].values()):
        assert table["description"]
        for key, value in table["properties"].items():
            assert value.get("description"), (table["title"], key)


@pytest.mark.parametrize(
    "text",
    [
        '[triggers.t]\nworkflow = "w"\ncron = "@daily"\nevery = "5m"\n',
        '[triggers.t]\nworkflow = "w"\n',
        "[triggers.'a b']\nmanual = true\n",
        "[triggers.t]\nevery = '5'\n",
        "[triggers.t]\nmanual = false\n",
        "[triggers.t]\nfeed = {}\n",
        "[workflows.w]\ncommand = 'x'\n",
        "[workflows.w]\n",
        "[engine]\nport = 70000\n",
    ],
)
def test_an_editor_sees_the_mistakes_that_a_schema_can_tell(text: str) -> None:
    assert schema_complaints(text)


@pytest.mark.parametrize("path", [EXAMPLE, CONFIG / "../src/tocsin/config/template.toml"])
def test_shipped_configurations_satisfy_the_schema(path: Path) -> None:
    assert schema_complaints(path.read_text(encoding="utf-8")) == []


def test_the_example_has_no_errors(tmp_path: Path) -> None:
    path = written(tmp_path, EXAMPLE.read_text(encoding="utf-8"))
    shutil.copy(CONFIG / "order.schema.json", tmp_path)
    assert load(path, now=NOW, system_tz="UTC").configuration.triggers


def test_the_example_uses_every_key_there_is() -> None:
    document = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))
    triggers = list(document["triggers"].values())
    sources = list(document["sources"].values())
    used: Mapping[type[Table], list[Any]] = {
        FileTables: [document],
        EngineTable: [document["engine"]],
        WorkflowTable: list(document["workflows"].values()),
        TriggerTable: triggers,
        SourceTable: sources,
        ConnectionTable: list(document["connections"].values()),
        SharedTable: [source.get("shared", {}) for source in sources],
        FilesTable: [table.get("files", {}) for table in (*triggers, *sources)],
        WebhookTable: [trigger.get("webhook", {}) for trigger in triggers],
        NormalizeTable: [table.get("webhook", {}).get("normalize", {}) for table in triggers],
        DedupeTable: [trigger.get("dedupe", {}) for trigger in triggers],
        AfterTable: [trigger.get("after", {}) for trigger in triggers],
    }
    for model, tables in used.items():
        assert set(keys_of(model)) == {key for table in tables for key in table}, model.__name__


def test_the_template_passes_without_a_warning(tmp_path: Path) -> None:
    assert loaded(tmp_path, template.text()).warnings == ()


def test_the_templates_switched_off_parts_are_right_too(tmp_path: Path) -> None:
    text = re.sub(r"^#(?=[\[a-z])", "", template.text(), flags=re.MULTILINE)
    configuration = loaded(tmp_path, text).configuration
    assert {spec.component for spec in configuration.triggers.values()} == {
        "manual",
        "cron",
        "every",
        "files",
        "webhook",
        "after",
    }


def test_the_template_is_written_privately_and_only_once(tmp_path: Path) -> None:
    path = tmp_path / "new/tocsin.toml"
    template.write(path, force=False)
    assert path.read_text(encoding="utf-8") == template.text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("mine and longer than before" * 500, encoding="utf-8")
    with pytest.raises(Refused, match="--force"):
        template.write(path, force=False)
    template.write(path, force=True)
    assert path.read_text(encoding="utf-8") == template.text()
