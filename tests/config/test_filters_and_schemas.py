"""`filter` and `schema`: read and judged with the file, and kept with the trigger."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.loading import WORKFLOW, complaints, loaded, trigger
from tocsin.trigger import TriggerSpec

HOOK = "webhook = {}\n"
LINE = WORKFLOW.count("\n") + 1


def hook(folder: Path, keys: str) -> TriggerSpec:
    return trigger(folder, HOOK + keys)


def wrong(folder: Path, keys: str) -> str:
    [complaint] = complaints(folder, f'{WORKFLOW}[triggers.t]\nworkflow = "w"\nmanual = true\n{keys}\n')
    return complaint.partition(": ")[2]


def test_a_filter_is_kept_as_it_is_written(tmp_path: Path) -> None:
    text = 'event.raw_payload.action == "created"'
    assert hook(tmp_path, f"filter = '{text}'").filter == text
    assert hook(tmp_path, "").filter is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("event.a ==", "triggers.t.filter: saw no CEL expression: 1:11: Syntax error"),
        ("payload.a == 1", "triggers.t.filter: saw 'payload', which is nothing that CEL knows"),
    ],
)
def test_a_filter_that_can_never_match_is_a_mistake(tmp_path: Path, text: str, message: str) -> None:
    assert wrong(tmp_path, f"filter = '{text}'").startswith(message)


def test_a_schema_is_read_from_beside_the_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "order.json").write_text('{"type": "object"}')
    assert hook(tmp_path, 'schema = "schemas/order.json"').schema == {"type": "object"}


def test_one_in_a_folder_of_parts_is_relative_to_that(tmp_path: Path) -> None:
    parts = tmp_path / "conf.d"
    parts.mkdir()
    (parts / "order.json").write_text("{}")
    (parts / "one.toml").write_text('[triggers.p]\nworkflow = "w"\nmanual = true\nschema = "order.json"\n')
    assert loaded(tmp_path, WORKFLOW).configuration.triggers["p"].schema == {}


def test_defaults_may_name_one_for_all(tmp_path: Path) -> None:
    (tmp_path / "any.json").write_text('{"minProperties": 1}')
    defaults = '[defaults]\nschema = "any.json"\nfilter = "true"\n'
    text = f'{defaults}{WORKFLOW}[triggers.t]\nworkflow = "w"\nmanual = true\n'
    found = loaded(tmp_path, text).configuration.triggers["t"]
    assert (found.schema, found.filter) == ({"minProperties": 1}, "true")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "saw 'order.json': no such file, expected a JSON Schema"),
        ("{", "saw 'order.json': no JSON ("),
        ("NaN", "saw 'order.json': NaN is no JSON number"),
        ("[]", "saw 'order.json': saw no JSON object, expected a JSON Schema"),
        ('{"type": "objekt"}', "saw 'order.json': saw no JSON Schema: $.type: 'objekt' is not valid"),
        ('{"$ref": "https://example.org/a.json"}', "saw 'order.json': saw the reference"),
        ('{"x": "' + "x" * 300_000 + '"}', "saw 'order.json': more than 256 KiB, expected a smaller schema"),
        ("[" * 5_000, "saw 'order.json': "),
    ],
)
def test_a_schema_that_cannot_be_used_is_a_mistake(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "order.json").write_text(content)
    assert wrong(tmp_path, 'schema = "order.json"').startswith(f"triggers.t.schema: {message}")


def test_a_misspelled_key_is_named(tmp_path: Path) -> None:
    assert (
        wrong(tmp_path, 'shema = "x.json"')
        == "triggers.t.shema: unknown key 'shema' (did you mean 'schema'?)"
    )
