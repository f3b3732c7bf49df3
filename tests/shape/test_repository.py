"""What stands around the code: pins, change log, Makefile, import contracts, and nobody's own machine."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import tocsin
from tests.shape.tree import ROOT, expect_none, name_of, tracked

PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[0-9][A-Za-z0-9.+!]*)")
TOP_LEVEL = {"pyproject.toml", "Makefile", "README.md", "LICENSE", "CHANGELOG.md", "src", "tests", "config"}
SOMEBODYS = re.compile(r"/work/|/root/|/Users/\w|/opt/|[\w.-]*pypi\.|pythonhosted|index-url|find-links")


def project() -> Any:
    """The `[project]` table."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def requirements() -> list[Requirement]:
    """What the package and its test tools ask for."""
    table = project()
    return [Requirement(line) for line in (*table["dependencies"], *table["optional-dependencies"]["dev"])]


def pin_lines() -> list[str]:
    """The lines of the constraints file."""
    return (ROOT / "config" / "constraints.txt").read_text("utf-8").splitlines()


def pins() -> dict[str, str]:
    """Version by canonical name."""
    found = [PIN.fullmatch(line) for line in pin_lines()]
    return {canonicalize_name(match["name"]): match["version"] for match in found if match}


def text_of(path: Path) -> str:
    """A file's text; what is no text has none."""
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return ""


def test_constraints_hold_names_and_versions_only_each_once_in_order() -> None:
    expect_none(line for line in pin_lines() if PIN.fullmatch(line) is None)
    assert pin_lines() == sorted(set(pin_lines()), key=str.casefold)
    assert len(pins()) == len(pin_lines())


def test_every_dependency_is_pinned_to_a_version_it_allows() -> None:
    pinned = pins()
    allowed = {need.name: need.specifier.contains(pinned.get(need.name, "0")) for need in requirements()}
    expect_none(name for name, ok in allowed.items() if not ok)


def test_the_change_log_has_an_entry_for_this_version() -> None:
    version = project()["version"]
    assert tocsin.__version__ == version
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    entry = re.search(rf"^## {re.escape(version)}\n(.+?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert entry is not None
    assert entry[1].strip()


def test_nothing_else_stands_at_the_top() -> None:
    tops = {path.relative_to(ROOT).parts[0] for path in tracked()}
    expect_none(sorted(top for top in tops if top not in TOP_LEVEL and not top.startswith(".")))


def test_no_tracked_file_names_somebodys_machine_or_package_index() -> None:
    own = Path(__file__).resolve()
    lines = [
        f"{name_of(path)}:{number} {line.strip()[:80]}"
        for path in tracked()
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if path != own and SOMEBODYS.search(line)
    ]
    expect_none(lines)


def test_make_help_lists_every_target_and_is_what_plain_make_does() -> None:
    targets = re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    shown = make("help")
    assert [line.split()[1] for line in shown.splitlines()] == targets
    assert make() == shown


def make(*arguments: str) -> str:
    """What make prints, with no variable of an outer make in the way."""
    command = ["env", "-u", "MAKEFLAGS", "-u", "MAKELEVEL", "-u", "MFLAGS", "make", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", [".ci/run", "config/demo/run.sh"])
def test_scripts_can_be_run_and_stop_at_the_first_failure(name: str) -> None:
    script = ROOT / name
    assert script.stat().st_mode & 0o111
    assert re.search(r"^set -eu", script.read_text("utf-8"), re.MULTILINE)


def test_every_import_contract_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    contracts = re.findall(r"^\[\[tool\.importlinter\.contracts\]\]\n(.*)$", text, re.MULTILINE)
    assert contracts
    expect_none(first for first in contracts if not first.startswith("# "))
