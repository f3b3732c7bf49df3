"""Warnings about one trigger made by hand: the same that `check` has for a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tocsin.config.convert import trigger
from tocsin.config.lint import of_trigger
from tocsin.config.load import Loaded


def advice(
    name: str, table: Mapping[str, Any], loaded: Loaded, *, base: Path, rows: Collection[str], now: datetime
) -> list[str]:
    """One line each: `warning: KEY: why`. None for a table with errors. rows: triggers there are."""
    spec, faults = trigger(name, table, loaded.defaults, loaded.around(base, now, rows=rows))
    if spec is None:
        return []
    found = [*faults, *of_trigger(spec, loaded.configuration.workflows[spec.workflow], now)]
    return [f"warning: {'.'.join(map(str, fault.keys))}: {fault.message}" for fault in found]
