"""The JSON Schema that a trigger names: read when the configuration is, and kept with the trigger.

So an engine judges by what was applied, whatever becomes of the file. Called by ``convert``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

from tocsin import schemas
from tocsin.config.problems import Fault, seen
from tocsin.trigger import Json

KEY: Final = "schema"
LARGEST: Final = 256 * 1024  # bytes: it stands in the trigger's row, which is read with every delivery


def of_trigger(path: str | None, base: Path) -> tuple[Mapping[str, Json] | None, list[Fault]]:
    """The schema in a file, None when none is named or with what is wrong with it."""
    if path is None:
        return None, []
    try:
        return read(base / path), []
    except (ValueError, RecursionError) as error:
        return None, [Fault(keys=(KEY,), message=f"saw {seen(path)}: {error}")]


def read(path: Path) -> Mapping[str, Json]:
    """Raises ValueError."""
    try:
        found: Mapping[str, Json] = json.loads(content(path), parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON ({error}), expected a JSON Schema") from None
    schemas.check(found)
    return found


def content(path: Path) -> str:
    """Raises ValueError."""
    if not path.is_file():  # opening a pipe would wait for a writer
        raise ValueError("no such file, expected a JSON Schema")
    try:
        with path.open("rb") as file:
            found = file.read(LARGEST + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    if len(found) > LARGEST:
        raise ValueError(f"more than {LARGEST // 1024} KiB, expected a smaller schema")
    return found.decode("utf-8-sig")


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
