"""A configuration file, read whole: every mistake in it, or the records it stands for.

Called by the CLI's `check`, `plan` and `apply`, by `up` and by the reload. Reads files only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from tocsin.config import convert, lint
from tocsin.config.document import Document, read_document
from tocsin.config.problems import Fault, dotted, seen
from tocsin.config.rules import Around
from tocsin.config.shared_tables import ConnectionTable
from tocsin.errors import ConfigInvalid, Problem
from tocsin.settings import Configuration, EngineSettings, Workflow
from tocsin.trigger import SourceSpec, TriggerSpec

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A sound configuration.

    warnings: in file order. defaults: the `[defaults]` table for `trigger_spec`. files: what was read.
    document: where each key stands; ask `place`.
    """

    configuration: Configuration
    warnings: tuple[Problem, ...]
    defaults: Mapping[str, Any]
    files: tuple[Path, ...]
    document: Document

    def place(self, *keys: str) -> tuple[str, int | None]:
        """File and line of a key, for a problem that is found later (``place("triggers", "brief")``)."""
        problem = self.document.problem(Fault(keys=keys, message=""))
        return problem.path, problem.line

    def around(self, base: Path, now: datetime, *, rows: Collection[str] = ()) -> Around:
        """What `trigger_spec` reads one more trigger against; relative paths are relative to `base`.

        rows: names of triggers that are not in the file and may be followed by an `after` too.
        """
        return Around(
            engine=self.configuration.engine,
            workflows=self.configuration.workflows,
            triggers={*self.configuration.triggers, *rows},
            base=base,
            now=now,
            sources=self.configuration.sources,
        )


def load(path: Path, *, now: datetime, system_tz: str, home: Path | None = None) -> Loaded:
    """Read `path` and `conf.d/*.toml` beside it.

    system_tz: the IANA zone where the file names none. home: where a command without `cwd` starts;
    default: the file's folder. Raises ConfigInvalid with every error in all files, in file order.
    """
    document = read_document(path)
    reader = _Reader(document, now=now, system_tz=system_tz)
    configuration = reader.configuration(path)
    _refuse_errors(document, reader.faults)
    found = lint.warnings(configuration, now=now, home=home or path.absolute().parent)
    noted = [*reader.faults, *map(reader.written, found)]
    return Loaded(
        configuration=configuration,
        warnings=tuple(document.ordered([document.problem(fault) for fault in noted])),
        defaults=reader.defaults,
        files=tuple(source.path for source in document.sources),
        document=document,
    )


def _refuse_errors(document: Document, faults: Iterable[Fault]) -> None:
    found = [document.problem(fault) for fault in faults if fault.severity == "error"]
    errors = document.ordered([*document.problems, *found])
    if errors:
        raise ConfigInvalid(errors)


class _Reader:
    """Converts a document table by table; `faults` collects what is wrong, keys from the top."""

    def __init__(self, document: Document, *, now: datetime, system_tz: str) -> None:
        self.faults: list[Fault] = []
        self._document = document
        self._now = now
        self._engine = self._engine_settings(system_tz)
        self.defaults = self._default_keys()

    def configuration(self, path: Path) -> Configuration:
        """Everything that is sound; what is not is missing and in `faults`."""
        workflows = {name: self._workflow(name) for name in self._document.tables["workflows"]}
        connections = {name: self._connection(name) for name in self._document.tables["connections"]}
        sources = {name: self._source(name, connections) for name in self._document.tables["sources"]}
        triggers = [self._trigger(name, workflows, sources) for name in self._document.tables["triggers"]]
        return Configuration(
            path=path,
            engine=self._engine,
            workflows=workflows,
            sources={name: spec for name, spec in sources.items() if spec is not None},
            triggers={spec.name: spec for spec in triggers if spec is not None},
        )

    def _engine_settings(self, system_tz: str) -> EngineSettings:
        settings, faults = convert.engine_settings(self._document.tables["engine"], system_tz=system_tz)
        self.faults += [fault.under("engine") for fault in faults]
        return settings

    def _default_keys(self) -> Mapping[str, Any]:
        raw = self._document.tables["defaults"]
        base = self._document.base("defaults", "cwd")
        defaults, faults = convert.default_keys(raw, base)
        self.faults += [fault.under("defaults") for fault in faults]
        return defaults

    def _workflow(self, name: str) -> Workflow:
        raw = self._document.tables["workflows"][name]
        if not isinstance(raw, dict):
            return self._no_table(Workflow(name=name), "workflows", name, raw)
        base = self._document.base("workflows", name)
        workflow, faults = convert.workflow(name, raw, self.defaults, base)
        self._note("workflows", name, faults)
        return workflow

    def _connection(self, name: str) -> ConnectionTable | None:
        raw = self._document.tables["connections"][name]
        if not isinstance(raw, dict):
            return self._no_table(None, "connections", name, raw)
        table, faults = convert.connection(name, raw)
        self._note("connections", name, faults)
        return table

    def _source(self, name: str, connections: Mapping[str, ConnectionTable | None]) -> SourceSpec | None:
        raw = self._document.tables["sources"][name]
        if not isinstance(raw, dict):
            return self._no_table(None, "sources", name, raw)
        spec, faults = convert.source(
            name, raw, self._document.base("sources", name), connections, self._engine
        )
        self._note("sources", name, faults)
        return spec

    def _trigger(
        self, name: str, workflows: Mapping[str, Workflow], sources: Mapping[str, SourceSpec | None]
    ) -> TriggerSpec | None:
        raw = self._document.tables["triggers"][name]
        if not isinstance(raw, dict):
            return self._no_table(None, "triggers", name, raw)
        spec, faults = convert.trigger(name, raw, self.defaults, self._around(name, workflows, sources))
        self._note("triggers", name, faults)
        return spec

    def _around(
        self, name: str, workflows: Mapping[str, Workflow], sources: Mapping[str, SourceSpec | None]
    ) -> Around:
        return Around(
            engine=self._engine,
            workflows=workflows,
            triggers=self._document.tables["triggers"],
            base=self._document.base("triggers", name),
            now=self._now,
            sources=sources,
        )

    def _no_table(self, instead: Record, table: str, name: str, value: object) -> Record:
        message = f"saw {seen(value)}, expected a table [{dotted((table, name))}]"
        self.faults.append(Fault(keys=(table, name), message=message))
        return instead

    def written(self, fault: Fault) -> Fault:
        """A fault of a workflow or trigger, moved to `[defaults]` when its key was taken from there."""
        table, name, *rest = fault.keys
        own = self._document.tables[str(table)][str(name)]
        if rest and rest[0] in self.defaults and rest[0] not in own:
            return replace(fault, keys=("defaults", *rest))
        return fault

    def _note(self, table: str, name: str, faults: Iterable[Fault]) -> None:
        self.faults += [self.written(fault.under(table, name)) for fault in faults]
