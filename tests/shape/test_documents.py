"""README, docs and change log say what is so: their commands exist, their configurations load."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from tests.shape.tree import ROOT, SRC, expect_none, name_of
from tocsin.cli.main import app
from tocsin.config.load import load

README: Final = ROOT / "README.md"
DOCUMENTS: Final = [README, ROOT / "CHANGELOG.md", *sorted((SRC / "docs").glob("*.md"))]
NOW: Final = datetime(2026, 6, 1, tzinfo=UTC)

FENCE = re.compile(r"^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|[`\s/|])tocsin((?: [a-z][a-z-]*)+)")
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]+)")
MAKE = re.compile(r"`make ([a-z]+)`|^make ([a-z]+)", re.MULTILINE)


def blocks(path: Path, kind: str) -> list[str]:
    """The fenced blocks of one kind."""
    return [found["text"] for found in FENCE.finditer(path.read_text("utf-8")) if found["kind"] == kind]


def examples() -> list[tuple[Path, int, str]]:
    """Every configuration shown, with its place."""
    return [(path, n, text) for path in DOCUMENTS for n, text in enumerate(blocks(path, "toml"), start=1)]


def code(path: Path) -> str:
    """What is set as code in a document: sh blocks and inline code; prose may name the program freely."""
    text = path.read_text("utf-8")
    inline = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    return "\n".join([*blocks(path, "sh"), *inline])


def named_commands(path: Path) -> set[str]:
    """The first word after `tocsin` wherever a document shows it being typed."""
    return {found.split()[0] for found in COMMAND.findall(code(path))}


@pytest.mark.parametrize(
    ("path", "number", "text"), examples(), ids=[f"{name_of(path)}-{n}" for path, n, _ in examples()]
)
def test_every_configuration_shown_is_sound(path: Path, number: int, text: str, tmp_path: Path) -> None:
    file = tmp_path / "tocsin.toml"
    file.write_text(text, "utf-8")
    loaded = load(file, now=NOW, system_tz="Europe/Berlin")
    assert loaded.configuration.triggers, f"{name_of(path)}, toml block {number}"


def test_the_demo_is_sound_and_lacks_only_its_inbox() -> None:
    loaded = load(ROOT / "config" / "tocsin.toml", now=NOW, system_tz="UTC")
    assert {problem.key for problem in loaded.warnings} <= {"triggers.inbox.files.path"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_every_command_named_exists(path: Path) -> None:
    known = {command.name for command in app.registered_commands} | {
        group.name for group in app.registered_groups
    }
    expect_none(sorted(named_commands(path) - known))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_to_files(path: Path) -> None:
    targets = [found["target"] for found in LINK.finditer(path.read_text("utf-8"))]
    expect_none(target for target in targets if not (path.parent / target).exists())


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_make_targets_named_exist(path: Path) -> None:
    targets = set(re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {one or other for one, other in MAKE.findall(path.read_text("utf-8"))}
    expect_none(sorted(named - targets))


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    text = README.read_text("utf-8")
    assert text.count("\n") < 200
    assert {"run", "test"} <= {other for _, other in MAKE.findall("\n".join(blocks(README, "sh")))}


def test_every_document_in_the_package_is_named_in_the_readme() -> None:
    text = README.read_text("utf-8")
    expect_none(name_of(path) for path in DOCUMENTS[2:] if f"src/tocsin/docs/{path.name}" not in text)
