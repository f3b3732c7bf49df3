"""Rules between keys, and between tables: one source per trigger, names that exist, lanes that agree.

Called by ``convert`` with a table's sound keys and the keys as written, so that a mistake in one key
hides no other. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pathspec import GitIgnoreSpec

from tocsin.config.problems import Fault, did_you_mean, seen
from tocsin.config.source_tables import AfterTable, FilesTable
from tocsin.config.tables import SCHEDULES, SHARED, SOURCES, TriggerTable
from tocsin.config.values import NAME
from tocsin.config.workflow_table import WorkflowTable
from tocsin.settings import EngineSettings, Workflow
from tocsin.trigger import SourceSpec

MISFIRE: Final = frozenset({"misfire", "misfire_grace", "misfire_limit", "wake_delay", "splay"})
NAME_RULE: Final = "up to 100 letters, digits, dots, dashes and underscores, a letter or digit first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What a trigger's table is read against.

    workflows: every one in reach, also those that have faults of their own. triggers: the names an
    `after` may follow. sources: by name; None for one that has faults. base: what relative paths are
    relative to. now: aware UTC.
    """

    engine: EngineSettings
    workflows: Mapping[str, Workflow]
    triggers: Collection[str]
    base: Path
    now: datetime
    sources: Mapping[str, SourceSpec | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """One trigger's table: keys as written with `[defaults]` below them, sound keys, faults so far.

    own: the keys that the table itself holds, whatever they mean.
    """

    name: str
    whole: Mapping[str, Any]
    own: Collection[str]
    table: TriggerTable
    faults: Collection[Fault]

    def has(self, key: str) -> bool:
        """Whether the key is there, perhaps with a fault in its value or its spelling."""
        return key in self.whole or key in meant(self.faults)

    def sources(self) -> list[str]:
        """The source keys that the table itself has, in their usual order."""
        return [key for key in SOURCES if key in self.own]

    def component(self, around: Around) -> str | None:
        """What its source is, its own or the one that it names; None when that cannot be told."""
        given = self.sources()
        if given == ["source"]:
            named = around.sources.get(self.table.source or "")
            return None if named is None else named.component
        return given[0] if len(given) == 1 else None


def meant(faults: Iterable[Fault]) -> set[str]:
    """The keys that misspelled keys of the table itself stand for."""
    return {fault.meant for fault in faults if fault.meant is not None and len(fault.keys) == 1}


def name_faults(name: str) -> Iterator[Fault]:
    """A name that cannot be one."""
    if not NAME.fullmatch(name):
        yield Fault(keys=(), message=f"saw the name {seen(name)}, expected {NAME_RULE}")


def workflow_faults(raw: Mapping[str, Any], faults: Collection[Fault]) -> Iterator[Fault]:
    """Not exactly one of command and shell, or a command without a program."""
    given = [key for key in ("command", "shell") if key in raw]
    if len(given) > 1:
        yield Fault(keys=("shell",), message="saw both command and shell, expected exactly one of them")
    if not given and not meant(faults) & {"command", "shell"}:
        yield Fault(keys=(), message="saw neither command nor shell, expected exactly one of them")


def program_faults(table: WorkflowTable) -> Iterator[Fault]:
    """An empty first element of a command."""
    if table.command is not None and not table.command[0].strip():
        yield Fault(keys=("command", 0), message="saw an empty text, expected the program to run")


def trigger_faults(written: Written, around: Around) -> Iterator[Fault]:
    """Everything that only several keys, or other tables, can tell."""
    yield from _source_faults(written)
    yield from _target_faults(written, around)
    yield from _company_faults(written)
    yield from _lane_faults(written.table)
    if written.table.after is not None:
        yield from _after_faults(written, written.table.after, around)
    if written.table.files is not None:
        yield from pattern_faults(written.table.files)
    if written.table.source is not None:
        yield from _unknown("source", written.table.source, around.sources, "source")
    yield from _idle_keys(written, around)


def idle_word(key: str, source: str) -> str:
    """Why a key changes nothing."""
    if key == "budget_period":
        return "has no effect without max_usd"
    return f"has no effect on a trigger with {source}"


def source_faults(raw: Mapping[str, Any], faults: Collection[Fault]) -> Iterator[Fault]:
    """Not exactly one kind of source in a `[sources]` table."""
    given = [key for key in SHARED if key in raw]
    wanted = f"expected exactly one of {', '.join(SHARED)}"
    if len(given) > 1:
        yield Fault(keys=(given[1],), message=f"saw {' and '.join(given)}, {wanted}")
    if not given and not meant(faults) & set(SHARED):
        yield Fault(keys=(), message=f"saw nothing that happens, {wanted}")


def pattern_faults(table: FilesTable) -> Iterator[Fault]:
    """A pattern that gitignore's rules cannot read."""
    for key, patterns in (("match", table.match or []), ("ignore", table.ignore)):
        for index, pattern in enumerate(patterns):
            try:
                GitIgnoreSpec.from_lines([pattern], backend="simple")
            except ValueError:
                message = f"saw {seen(pattern)}, expected a pattern as in a .gitignore file"
                yield Fault(keys=("files", key, index), message=message)


def _source_faults(written: Written) -> Iterator[Fault]:
    given = written.sources()
    wanted = f"expected exactly one of {', '.join(SOURCES)}"
    if len(given) > 1:
        yield Fault(keys=(given[1],), message=f"saw {' and '.join(given)}, {wanted}")
    if not given and not meant(written.faults) & set(SOURCES):
        yield Fault(keys=(), message=f"saw nothing that fires it, {wanted}")


def _target_faults(written: Written, around: Around) -> Iterator[Fault]:
    if not written.has("workflow"):
        yield Fault(keys=(), message="saw no workflow, expected workflow = NAME")
    elif written.table.workflow is not None:
        yield from _unknown("workflow", written.table.workflow, around.workflows, "workflow")


def _unknown(thing: str, name: str, known: Collection[str], *keys: str) -> Iterator[Fault]:
    if name not in known:
        hint = did_you_mean(name, known) or _all_of(known)
        yield Fault(keys=keys, message=f"saw {seen(name)}, expected the name of a {thing}{hint}")


def _all_of(known: Collection[str]) -> str:
    return f" (there are: {', '.join(sorted(known)[:10])})" if known else " (there is none)"


def _company_faults(written: Written) -> Iterator[Fault]:
    """Keys that make sense only beside a certain source."""
    for key, source in (("anchor", "every"), ("dedupe", "webhook"), ("rate", "webhook")):
        if key in written.own and not written.has(source):
            yield Fault(keys=(key,), message=f"saw {key} without {source}, expected it only beside {source}")


def _lane_faults(table: TriggerTable) -> Iterator[Fault]:
    keys = [key for key in ("serialize_key", "serialize_by") if getattr(table, key) is not None]
    if len(keys) > 1:
        yield Fault(keys=("serialize_by",), message="saw it beside serialize_key, expected one of them")
    if table.overlap == "allow" and keys:
        yield Fault(
            keys=("overlap",),
            message=f'saw "allow" beside a {keys[0]}, expected "queue", "skip" or "replace", or no {keys[0]}',
        )


def _after_faults(written: Written, after: AfterTable, around: Around) -> Iterator[Fault]:
    if after.workflow is not None:
        yield from _unknown("workflow", after.workflow, around.workflows, "after", "workflow")
    if after.trigger is not None:
        yield from _unknown("trigger", after.trigger, around.triggers, "after", "trigger")
    if after.trigger == written.name:
        yield Fault(keys=("after", "trigger"), message="saw this trigger itself, expected another trigger")
    if after.workflow is not None and after.workflow == written.table.workflow:
        yield Fault(
            keys=("after", "workflow"),
            message=f"saw {seen(after.workflow)}, which this trigger runs itself, expected another workflow",
        )


def _idle_keys(written: Written, around: Around) -> Iterator[Fault]:
    """Keys that change nothing for this kind of trigger: a warning, for someone expected otherwise."""
    component = written.component(around)
    if component is None:
        return
    idle = set(MISFIRE) if component not in SCHEDULES else set()
    idle |= {"tz"} if component != "cron" and written.table.max_usd is None else set()
    idle |= {"budget_period"} if written.table.max_usd is None else set()
    for key in sorted(idle & set(written.own)):
        yield Fault(keys=(key,), message=idle_word(key, component), severity="warning")
    dedupe = written.table.dedupe
    if dedupe is not None and dedupe.strategy == "greatest" and "body_window" in dedupe.model_fields_set:
        message = 'has no effect beside "greatest", which takes no delivery without an id'
        yield Fault(keys=("dedupe", "body_window"), message=message, severity="warning")
