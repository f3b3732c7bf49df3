"""Every SQL statement by its name, read from the `.sql` files of this folder.

A file holds statements, each after a line ``-- name: table.verb`` and a line that describes it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

MARK: Final = "-- name: "


class DuplicateQuery(ValueError):
    """Two statements share a name."""


def parse(text: str) -> dict[str, str]:
    """Statements by name, comments and the closing semicolon cut off."""
    found: dict[str, str] = {}
    for block in text.split(MARK)[1:]:
        name, _, body = block.partition("\n")
        if name in found:
            raise DuplicateQuery(name)
        lines = [line for line in body.splitlines() if not line.startswith("--")]
        found[name.strip()] = "\n".join(lines).strip().rstrip(";")
    return found


@cache
def load() -> dict[str, str]:
    """All statements of the package, by name. Raises DuplicateQuery."""
    found: dict[str, str] = {}
    for file in sorted(files(__package__).iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".sql"):
            statements = parse(file.read_text("utf-8"))
            if both := found.keys() & statements.keys():
                raise DuplicateQuery(", ".join(sorted(both)))
            found |= statements
    return found
