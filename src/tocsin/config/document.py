"""The main file and its `conf.d` as one document that remembers which file says what.

Called by ``load``. Knows the names of the top tables and nothing below them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tocsin.config.positions import KeyPath
from tocsin.config.problems import Fault, seen, unknown_key
from tocsin.config.reading import Source, read, refuse_writable
from tocsin.errors import ConfigInvalid, Problem

TABLES: Final = ("engine", "defaults", "workflows", "connections", "sources", "triggers")


@dataclass(slots=True, kw_only=True)
class Document:
    """The merged tables.

    tables: each of TABLES, perhaps empty. owners: (table, key) -> the file that holds it. problems:
    what was wrong with files and with their merging.
    """

    sources: list[Source] = field(default_factory=list)
    tables: dict[str, dict[str, Any]] = field(default_factory=lambda: {name: {} for name in TABLES})
    owners: dict[tuple[str, str], Source] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def base(self, *keys: str) -> Path:
        """The folder that relative paths under these two keys are relative to."""
        return self._source(keys).base

    def problem(self, fault: Fault) -> Problem:
        """The fault with its file and line; its keys count from the top."""
        source = self._source(fault.keys)
        return fault.at(str(source.path), source.line(fault.keys))

    def ordered(self, problems: Sequence[Problem]) -> list[Problem]:
        """In file order: by file as read, then by line; each once."""
        ranks = {str(source.path): rank for rank, source in enumerate(self.sources)}
        unique = list(dict.fromkeys(problems))
        return sorted(unique, key=lambda problem: (ranks.get(problem.path, -1), problem.line or 0))

    def add(self, source: Source) -> None:
        """Take in one more file; what an earlier one says already is a problem and stays."""
        self.sources.append(source)
        for table, body in source.data.items():
            fault = _top_fault(table, body)
            if fault is None:
                self._merge(table, body, source)
            else:
                self.problems.append(fault.at(str(source.path), source.line(fault.keys)))

    def _merge(self, table: str, body: Mapping[str, Any], source: Source) -> None:
        for key, value in body.items():
            first = self.owners.setdefault((table, key), source)
            if first is source:
                self.tables[table][key] = value
            else:
                self.problems.append(_twice((table, key), source, first))

    def _source(self, keys: KeyPath) -> Source:
        """The file that holds a key; a missing one belongs to the main file."""
        owner = self.owners.get((str(keys[0]), str(keys[1]))) if len(keys) > 1 else None
        return owner or self.sources[0]


def read_document(path: Path) -> Document:
    """The file and `conf.d/*.toml` beside it, in the order of their names.

    Raises ConfigInvalid when the main file cannot be read; a bad file of `conf.d` is a problem of
    the document, so that the others can be checked too.
    """
    document = Document()
    document.add(read(path))
    for part in _parts(document, path.parent / "conf.d"):
        try:
            document.add(read(part))
        except ConfigInvalid as error:
            document.problems.extend(error.problems)
    return document


def _parts(document: Document, folder: Path) -> list[Path]:
    """The files of `conf.d`, sorted by name; hidden ones are not meant."""
    if not folder.is_dir():
        return []
    try:
        refuse_writable(folder, folder.stat())
        return sorted(part for part in folder.iterdir() if _is_part(part))
    except ConfigInvalid as error:
        document.problems.extend(error.problems)
    except OSError as error:
        message = f"cannot be listed: {error.strerror}"
        document.problems.append(Problem(path=str(folder), line=None, key="", message=message))
    return []


def _is_part(path: Path) -> bool:
    return path.suffix == ".toml" and not path.name.startswith(".")


def _top_fault(table: str, body: object) -> Fault | None:
    if table not in TABLES:
        return unknown_key((table,), TABLES)
    if not isinstance(body, dict):
        return Fault(keys=(table,), message=f"saw {seen(body)}, expected a table")
    return None


def _twice(keys: tuple[str, str], source: Source, first: Source) -> Problem:
    message = f"already set at {first.path}:{first.line(keys)}, expected it in one file only"
    return Fault(keys=keys, message=message).at(str(source.path), source.line(keys))
