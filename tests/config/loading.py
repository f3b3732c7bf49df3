"""Loads configuration text the way `tocsin check` loads a file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tocsin.config.load import Loaded, load
from tocsin.errors import ConfigInvalid
from tocsin.trigger import TriggerSpec

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)

WORKFLOW = '[workflows.w]\ncommand = ["echo"]\n'
"""Two lines that any trigger below can run."""


def written(folder: Path, text: str, name: str = "tocsin.toml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def loaded(folder: Path, text: str) -> Loaded:
    return load(written(folder, text), now=NOW, system_tz="Europe/Berlin")


def trigger(folder: Path, keys: str, workflow: str = WORKFLOW) -> TriggerSpec:
    """Trigger `t`, which runs `w`, with these keys; `workflow` is all that stands before it."""
    text = f'{workflow}[workflows.v]\nshell = "true"\n[triggers.t]\nworkflow = "w"\n{keys}\n'
    return loaded(folder, text).configuration.triggers["t"]


def complaints(folder: Path, text: str) -> list[str]:
    """Each problem as `LINE: KEY: MESSAGE`; the text must have one."""
    path = written(folder, text)
    with pytest.raises(ConfigInvalid) as caught:
        load(path, now=NOW, system_tz="Europe/Berlin")
    assert all(problem.path == str(path) for problem in caught.value.problems)
    return [str(problem).removeprefix(f"{path}:").strip() for problem in caught.value.problems]


def warned(folder: Path, text: str) -> list[str]:
    """Each warning as `KEY: MESSAGE`."""
    return [f"{warning.key}: {warning.message}" for warning in loaded(folder, text).warnings]
