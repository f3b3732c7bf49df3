"""`runs`, `logs`: attempts, and what they printed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli import documents, render
from tocsin.cli.history import LIMIT
from tocsin.cli.options import JsonFlag, Limit, OptionalName, Since, one_of
from tocsin.cli.options import since as since_
from tocsin.cli.output import follow_log, print_log
from tocsin.cli.reading import id_of, read, read_if_any, run_called
from tocsin.cli.session import now, session_of
from tocsin.cli.times import relative
from tocsin.duration import format_duration
from tocsin.errors import NotFound
from tocsin.runs import Run, RunState

if TYPE_CHECKING:
    from tocsin.store.connection import Tx


def runs(
    context: typer.Context,
    name: OptionalName = None,
    state: Annotated[
        str | None, typer.Option(metavar="S", help=f"Only in this state: {', '.join(RunState)}.")
    ] = None,
    since: Since = None,
    limit: Limit = LIMIT,
    as_json: JsonFlag = False,
) -> None:
    """List runs, newest first.

    Example: tocsin runs brief --state failed
    """
    session, moment = session_of(context), now()
    wanted = None if state is None else RunState(one_of("--state", state, RunState))
    cutoff = since_(since, moment)
    rows = read_if_any(session, lambda tx: listed(tx, name, wanted, cutoff, limit)) or []
    if as_json:
        render.document([documents.run(row) for row in rows])
    elif rows:
        headers = ("STARTED", "RUN", "TRIGGER", "WORKFLOW", "ATTEMPT", "STATE", "TOOK", "ERROR")
        render.table(headers, [list(cells(row, moment)) for row in rows])
    else:
        render.say("no runs" + (" fit" if name or state or since else " yet: `tocsin fire NAME` starts one"))


def listed(tx: Tx, name: str | None, state: RunState | None, since: datetime | None, limit: int) -> list[Run]:
    """Runs that fit, newest first."""
    from tocsin.store import runs as table

    id_ = id_of(tx, name)
    return table.listed(tx, registration_id=id_, state=state, since=since, limit=limit)


def cells(row: Run, moment: datetime) -> Iterator[str]:
    took = documents.duration_ms(row)
    yield relative(row.started_at, moment)
    yield row.id
    yield row.registration
    yield row.workflow
    yield "test" if row.test else str(row.attempt)
    yield row.state
    yield "-" if took is None else format_duration(timedelta(milliseconds=took))
    yield row.error or "-"


def logs(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run, or an event for its last run.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends.")] = False,
    stderr: Annotated[bool, typer.Option("--stderr", help="Only what went to stderr.")] = False,
    tail: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only so many of the last lines.")
    ] = None,
) -> None:
    """Print what a run printed.

    Example: tocsin logs run_0198c2 --tail 50
    """
    session = session_of(context)
    row = read(session, lambda tx: run_called(tx, run))
    if follow:
        asyncio.run(follow_log(session, row, stderr=stderr, tail=tail))
    elif not print_log(Path(row.log), stderr=stderr, tail=tail) and row.state is not RunState.RUNNING:
        raise NotFound(thing="log of run", name=row.id)
