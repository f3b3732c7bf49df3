"""`check`, `plan`, `apply`: the configuration file against its rules, and against the rows there are."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli import exits, render
from tocsin.cli.link import call
from tocsin.cli.options import JsonFlag, Yes
from tocsin.cli.reading import read_if_any
from tocsin.cli.session import Session, now, session_of
from tocsin.cli.times import local
from tocsin.errors import ConfigInvalid, Problem
from tocsin.trigger import Json

if TYPE_CHECKING:
    from tocsin.config.load import Loaded
    from tocsin.config.plan import Addition, Change, Plan

Prune = Annotated[bool, typer.Option("--prune", help="Remove triggers that left the file.")]


def check(
    context: typer.Context,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Default: the home's own.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what is wrong in a configuration. Exits 4 for errors, 8 for warnings only.

    Example: tocsin check ./tocsin.toml
    """
    session = session_of(context)
    if file is not None:
        session = replace(session, paths=replace(session.paths, config=file, conf_d=file.parent / "conf.d"))
    loaded, problems = examined(session)
    if as_json:
        show_report(loaded, problems)
    else:
        show_problems(session, loaded, problems)
    raise typer.Exit(verdict(loaded, problems))


def examined(session: Session) -> tuple[Loaded | None, Sequence[Problem]]:
    """The configuration unless it has errors, and everything wrong or odd with it."""
    try:
        loaded = session.load()
    except ConfigInvalid as error:
        return None, error.problems
    return loaded, loaded.warnings


def verdict(loaded: Loaded | None, problems: Sequence[Problem]) -> int:
    if loaded is None:
        return exits.CONFIG
    return exits.WARNINGS if problems else exits.OK


def show_report(loaded: Loaded | None, problems: Sequence[Problem]) -> None:
    from tocsin.engine.verbs import problem_document

    report = [problem_document(problem) for problem in problems]
    render.document({"ok": loaded is not None, "problems": report})


def show_problems(session: Session, loaded: Loaded | None, problems: Sequence[Problem]) -> None:
    for problem in problems:
        render.line(problem_line(problem))
    if loaded is None:
        render.say(f"{counted(len(problems), 'error')}; nothing of the file takes effect")
    else:
        held = loaded.configuration
        contents = f"{counted(len(held.workflows), 'workflow')}, {counted(len(held.triggers), 'trigger')}"
        render.line(f"{session.paths.config}: ok: {contents}")


def problem_line(problem: Problem) -> str:
    """`FILE:LINE: KEY: …`; without a place for what came from flags."""
    return str(problem).removeprefix(": ")


def counted(number: int, thing: str) -> str:
    """`1 trigger`, `2 triggers`."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def plan(context: typer.Context, prune: Prune = False, as_json: JsonFlag = False) -> None:
    """Show what `apply` would change, and when triggers would fire then.

    Example: tocsin plan --prune
    """
    session = session_of(context)
    made = planned(session)
    if as_json:
        render.document(document(made, prune=prune))
    else:
        show_plan(made, prune=prune)


def planned(session: Session) -> Plan:
    """The file against the rows. Raises ConfigInvalid, also for names that are taken."""
    from tocsin.config.plan import plan as compare
    from tocsin.engine.applying import make_plan

    loaded, moment = session.load(), now()
    made = read_if_any(session, lambda tx: make_plan(tx, loaded, moment, by_hand=True))
    if made is None:
        made = compare([], {}, loaded.configuration, moment, place=loaded.place)
    if made.conflicts:
        raise ConfigInvalid(made.conflicts)
    for warning in (*loaded.warnings, *made.broken):
        render.say(str(warning))
    return made


def document(made: Plan, *, prune: bool) -> dict[str, Json]:
    return {
        "added": [addition.name for addition in (*made.added, *made.returned)],
        "changed": [change.name for change in made.changed],
        "removed": list(made.gone if prune else made.removed),
        "unchanged": made.unchanged,
    }


def show_plan(made: Plan, *, prune: bool) -> None:
    """A line for each thing that would change, with the fires that go with it."""
    for text in plan_lines(made, prune=prune):
        render.line(text)
    render.say(f"{made.unchanged} unchanged")


def plan_lines(made: Plan, *, prune: bool) -> Iterator[str]:
    for name in made.workflows_added:
        yield f"+ workflow {name}"
    for name in made.workflows_changed:
        yield f"~ workflow {name}"
    for addition in made.added:
        yield f"+ {addition.name}{first(addition)}"
    for addition in made.returned:
        yield f"+ {addition.name} (is in the file again){first(addition)}"
    for change in made.changed:
        yield from change_lines(change)
    for name in made.gone if prune else made.removed:
        yield f"- {name} ({'removed' if prune else 'disabled; --prune removes it'})"


def first(addition: Addition) -> str:
    return "" if addition.first is None else f": first fire {local(addition.first)}"


def change_lines(change: Change) -> Iterator[str]:
    """What is written differently, and what that does to the next fire."""
    yield f"~ {change.name}"
    for difference in change.what:
        before, after = (
            render.json_text(side, indent=None) for side in (difference.before, difference.after)
        )
        yield f"    {difference.key}: {before} -> {after}"
    if change.first_before != change.first_after:
        before, after = (never(side) for side in (change.first_before, change.first_after))
        yield f"    next fire: {before} -> {after}"


def never(at: datetime | None) -> str:
    return "none" if at is None else local(at)


def apply(context: typer.Context, prune: Prune = False, yes: Yes = False, as_json: JsonFlag = False) -> None:
    """Make the triggers what the file says.

    Example: tocsin apply --prune --yes
    """
    session = session_of(context)
    made = planned(session)
    leaving = made.gone if prune else made.removed
    if not as_json:
        show_plan(made, prune=prune)
    if leaving and not yes and sys.stdin.isatty():
        typer.confirm(f"{'Remove' if prune else 'Disable'} {', '.join(leaving)}?", abort=True, err=True)
    done = call(session, "apply", {"prune": prune})
    if as_json:
        removed = list(leaving) if prune else done["removed"]  # the verb names only what it would disable
        shown = {key: done[key] for key in ("added", "changed", "removed", "unchanged")}
        render.document(shown | {"removed": removed})
    else:
        render.say("applied")
