"""What a workflow's new wording takes from the triggers that rely on the old one. Pure.

A workflow declares which keys its command writes (`outputs`) and reads (`inputs`). When a declared
one goes, or a state is asked for that nobody writes, the triggers concerned are named: a warning,
for the command may still do what it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from tocsin.config.problems import dotted
from tocsin.errors import Problem
from tocsin.registration import Registration
from tocsin.settings import Configuration, Workflow

Place = Callable[[str, str], tuple[str, int | None]]
"""File and line of a table and name, as `load.Loaded.place` tells them."""

STATE: Final = "state"
SHOWN: Final = 10  # names in one warning; more would hide what it says


def broken(
    rows: Sequence[Registration],
    present: Mapping[str, Workflow],
    wanted: Configuration,
    place: Place | None = None,
) -> Iterator[Problem]:
    """A warning for each declaration that is taken back, in the order of the file.

    rows: the triggers there are. present: workflows as they were last applied.
    """
    for name, after in wanted.workflows.items():
        before = present.get(name)
        if before is None:
            continue
        path, line = place("workflows", name) if place else (str(wanted.path), None)
        for key, message in complaints(before, after, rows):
            yield Problem(
                path=path,
                line=line,
                key=dotted(("workflows", name, key)),
                message=message,
                severity="warning",
            )


def complaints(before: Workflow, after: Workflow, rows: Iterable[Registration]) -> Iterator[tuple[str, str]]:
    """(key, message) of each contract that does not hold any more and concerns somebody."""
    rows = list(rows)
    bound = [row for row in rows if row.spec.workflow == after.name]
    keepers = [row for row in bound if row.state is not None]
    others = [key for key in before.outputs if key not in after.outputs and key != STATE]
    if STATE in before.outputs and STATE not in after.outputs and keepers:
        yield "outputs", f"state is not declared any more, but kept for {names(keepers)} from earlier runs"
    users = [*bound, *followers(bound, after.name, rows)]
    if others and users:
        yield "outputs", f"no longer declared: {listed(others)}; may be counted on by {names(users)}"
    if STATE in after.inputs and STATE not in before.inputs and STATE not in after.outputs:
        empty = [row for row in bound if row.state is None]
        if empty:
            yield "inputs", f"state is asked for, and nothing writes one for {names(empty)}"


def followers(
    bound: Sequence[Registration], workflow: str, rows: Iterable[Registration]
) -> Iterator[Registration]:
    """Triggers that fire after the workflow, or after one that runs it: they are told its result."""
    followed = {row.spec.name for row in bound}
    for row in rows:
        props = row.spec.props
        if row.spec.component == "after" and (
            props.get("workflow") == workflow or props.get("trigger") in followed
        ):
            yield row


def names(rows: Iterable[Registration]) -> str:
    """The triggers' names, each once."""
    return listed(list(dict.fromkeys(row.spec.name for row in rows)))


def listed(words: Sequence[str]) -> str:
    """`a, b and 3 more`."""
    more = len(words) - SHOWN
    return ", ".join(words[:SHOWN]) + (f" and {more} more" if more > 0 else "")
