"""What applying a configuration would change: rows there are against triggers wanted. Pure.

Called by `tocsin plan`, by `apply`, by `up` and by the reload; the engine does what a plan says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tocsin import schedule as schedules
from tocsin.config.contracts import Place, broken
from tocsin.config.differences import Difference, differences
from tocsin.config.problems import dotted
from tocsin.errors import Problem
from tocsin.registration import DisabledReason, Registration, RowOrigin
from tocsin.settings import Configuration, Workflow
from tocsin.trigger import TriggerSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A trigger without a row, or one that comes back. first: its first planned instant, if any."""

    name: str
    first: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A row whose trigger is written differently now.

    schedule_changed: `next_fire_at` starts anew. first_before, first_after: the next planned instant
    as things stand, and once this is applied; None when only an event can start it, or nothing.
    """

    name: str
    what: tuple[Difference, ...]
    schedule_changed: bool
    first_before: datetime | None
    first_after: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do. Triggers in file order, rows in the order they were given.

    removed: enabled rows that left the file; applying disables them (`config`). returned: rows that
    were disabled so and are in the file again; one of them may be in `changed` too. gone: every row
    that left the file, disabled ones included; pruning removes them. unchanged: how many triggers
    stay as they are. conflicts: names that a row not from the file owns; nothing else is done then.
    broken: warnings about workflows that take back what triggers rely on.
    """

    added: tuple[Addition, ...]
    changed: tuple[Change, ...]
    removed: tuple[str, ...]
    returned: tuple[Addition, ...]
    gone: tuple[str, ...]
    unchanged: int
    workflows_added: tuple[str, ...]
    workflows_changed: tuple[str, ...]
    conflicts: tuple[Problem, ...]
    broken: tuple[Problem, ...]

    @property
    def empty(self) -> bool:
        """Whether applying it would change nothing."""
        rows = self.added or self.changed or self.removed or self.returned
        return not (rows or self.workflows_added or self.workflows_changed)


def plan(
    present: Sequence[Registration],
    present_workflows: Mapping[str, Workflow],
    wanted: Configuration,
    now: datetime,
    *,
    place: Place | None = None,
) -> Plan:
    """Compare rows (removed ones are looked past) and workflows with a configuration.

    place: gives conflicts their file and line; without it they name the file alone.
    """
    rows = {row.spec.name: row for row in present if row.removed_at is None}
    pairs = [(rows[name], spec) for name, spec in wanted.triggers.items() if name in rows]
    ours = [(row, spec) for row, spec in pairs if row.origin is RowOrigin.FILE]
    left = [row for row in rows.values() if _left(row, wanted)]
    changed = tuple(change for row, spec in ours if (change := _change(row, spec, now)).what)
    returned = tuple(_addition(spec, now) for row, spec in ours if _returns(row, spec))
    touched = {change.name for change in changed} | {addition.name for addition in returned}
    return Plan(
        added=tuple(_addition(spec, now) for name, spec in wanted.triggers.items() if name not in rows),
        changed=changed,
        removed=tuple(row.spec.name for row in left if row.enabled),
        returned=returned,
        gone=tuple(row.spec.name for row in left),
        unchanged=len(ours) - len(touched),
        workflows_added=tuple(name for name in wanted.workflows if name not in present_workflows),
        workflows_changed=tuple(_workflows_changed(present_workflows, wanted.workflows)),
        broken=tuple(broken(list(rows.values()), present_workflows, wanted, place)),
        conflicts=tuple(
            _conflict(row, wanted, place) for row, _ in pairs if row.origin is not RowOrigin.FILE
        ),
    )


def _addition(spec: TriggerSpec, now: datetime) -> Addition:
    return Addition(name=spec.name, first=_first(spec, now) if spec.enabled else None)


def _first(spec: TriggerSpec, now: datetime) -> datetime | None:
    return schedules.next_after(spec.schedule, after=now, anchor=now)


def _change(row: Registration, spec: TriggerSpec, now: datetime) -> Change:
    rescheduled = row.spec.schedule != spec.schedule
    return Change(
        name=spec.name,
        what=tuple(differences(row.spec, spec)),
        schedule_changed=rescheduled,
        first_before=row.next_fire_at if row.enabled else None,
        first_after=_first_after(row, spec, now, rescheduled=rescheduled),
    )


def _first_after(
    row: Registration, spec: TriggerSpec, now: datetime, *, rescheduled: bool
) -> datetime | None:
    """A disarm stays: only a row that is on, or that the file alone had switched off, fires again."""
    if not spec.enabled or not (row.enabled or row.disabled_reason is DisabledReason.CONFIG):
        return None
    return row.next_fire_at if row.enabled and not rescheduled else _first(spec, now)


def _returns(row: Registration, spec: TriggerSpec) -> bool:
    return spec.enabled and not row.enabled and row.disabled_reason is DisabledReason.CONFIG


def _left(row: Registration, wanted: Configuration) -> bool:
    return row.origin is RowOrigin.FILE and row.spec.name not in wanted.triggers


def _workflows_changed(present: Mapping[str, Workflow], wanted: Mapping[str, Workflow]) -> Iterator[str]:
    for name, workflow in wanted.items():
        if name in present and present[name].document() != workflow.document():
            yield name


def _conflict(row: Registration, wanted: Configuration, place: Place | None) -> Problem:
    path, line = place("triggers", row.spec.name) if place else (str(wanted.path), None)
    return Problem(
        path=path,
        line=line,
        key=dotted(("triggers", row.spec.name)),
        message=f"a trigger of this name was made by {row.origin.value}, expected another name, "
        f"or `tocsin rm {row.spec.name}` first",
    )
