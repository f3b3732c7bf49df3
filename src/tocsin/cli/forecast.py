"""`next`: when triggers fire, or any cron expression."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Annotated, Final

import typer

from tocsin.cli import documents, render
from tocsin.cli.idle import nothing
from tocsin.cli.options import JsonFlag, OptionalName, bad, duration, instant
from tocsin.cli.reading import read, read_if_any, trigger_called, triggers
from tocsin.cli.session import Session, now, session_of
from tocsin.cli.times import local, local_rfc3339, relative
from tocsin.instants import MICROSECOND, rfc3339
from tocsin.registration import Registration
from tocsin.trigger import Cron, Json, Schedule

COUNT: Final = 10  # rows unless told
MOST: Final = 1000  # rows with --within alone: a trigger may fire each second


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Forecast:
    """One planned instant. registration: None for a bare expression."""

    at: datetime
    registration: str | None
    tz: str
    note: str | None = None


def next_(
    context: typer.Context,
    name: OptionalName = None,
    within: Annotated[str | None, typer.Option(metavar="D", help="No later than this, like 2d.")] = None,
    count: Annotated[int | None, typer.Option("-n", min=1, metavar="N", help="How many.")] = None,
    cron: Annotated[str | None, typer.Option(metavar="EXPR", help="This expression; no database.")] = None,
    tz: Annotated[str | None, typer.Option(metavar="Z", help="For --cron; default: the system's.")] = None,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="T", help="For --cron; default: now.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show when triggers fire next, and what a change of the clock does to it.

    Example: tocsin next --cron '30 2 * * *' --tz Europe/Berlin --from 2026-10-24T00:00:00Z -n 3
    """
    session, moment = session_of(context), now()
    if cron is None and (tz or from_):
        bad("--tz" if tz else "--from", "goes with --cron")
    if cron is not None and name is not None:
        bad("--cron", "give an expression or a trigger, not both")
    start = moment if from_ is None else instant("--from", from_)
    until = None if within is None else start + duration("--within", within)
    row = None if name is None else read(session, lambda tx: trigger_called(tx, name))
    if cron is not None:
        found = of_expression(Cron(expr=cron, tz=tz or session.zone), start)
    else:
        found = of_triggers(session, row, moment)
    limit = count or (COUNT if until is None else MOST)
    chosen = list(islice(until_(found, until), limit))
    if as_json:
        render.document([document(one) for one in chosen])
    elif chosen:
        show(chosen, None if from_ else moment)
    else:
        render.say(nothing(row, moment, within, is_bare=cron is not None))


def until_(found: Iterator[Forecast], until: datetime | None) -> Iterator[Forecast]:
    for one in found:
        if until is not None and one.at > until:
            return
        yield one


def of_expression(schedule: Cron, start: datetime) -> Iterator[Forecast]:
    """A bare expression's instants. Raises InvalidSchedule at once, also for one that never fires."""
    from tocsin.schedule import validate

    validate(schedule, start)
    return planned(None, schedule, after=start, anchor=start, tz=schedule.tz)


def of_triggers(session: Session, one: Registration | None, moment: datetime) -> Iterator[Forecast]:
    """One trigger's instants, or those of all in the order of time."""
    rows = [one] if one is not None else read_if_any(session, triggers) or []
    zone = session.zone
    return heapq.merge(*(of_row(row, moment, zone) for row in rows))


def of_row(row: Registration, moment: datetime, zone: str) -> Iterator[Forecast]:
    """A row's instants from now on: what a run named first, then the schedule's own, to its end."""
    first = documents.next_fire(row, moment)
    if first is None:
        return
    tz = documents.zone_of(row.spec.schedule) or zone
    if row.next_fire_run is not None and first == row.next_fire_at and first > moment:
        yield Forecast(at=first, registration=row.spec.name, tz=tz, note=f"named by {row.next_fire_run}")
        moment = first
    if row.is_paused(moment):
        moment = first - MICROSECOND  # the first that is left when the pause has ended
    following = planned(row.spec.name, row.spec.schedule, after=moment, anchor=row.armed_at, tz=tz)
    yield from until_(following, row.spec.expires_at)


def planned(
    name: str | None, schedule: Schedule | None, *, after: datetime, anchor: datetime, tz: str
) -> Iterator[Forecast]:
    """A schedule's own instants, each with what a change of the clock does to it."""
    from tocsin.schedule import next_after

    while (at := next_after(schedule, after=after, anchor=anchor)) is not None:
        yield Forecast(at=at, registration=name, tz=tz, note=note(schedule, at))
        after = at


def note(schedule: Schedule | None, at: datetime) -> str | None:
    from tocsin import cron

    if not isinstance(schedule, Cron):
        return None
    return cron.dst_note(cron.parse(schedule.expr), cron.zone(schedule.tz), at)


def document(one: Forecast) -> dict[str, Json]:
    return {
        "registration": one.registration,
        "at": rfc3339(one.at),
        "local": local_rfc3339(one.at, one.tz),
        "tz": one.tz,
        "note": one.note,
    }


def show(chosen: list[Forecast], moment: datetime | None) -> None:
    """moment: now; None where how far away from now says nothing."""
    away = () if moment is None else ("IN",)
    rows = [
        [
            one.registration or "-",
            *(() if moment is None else (relative(one.at, moment),)),
            local(one.at, one.tz),
            rfc3339(one.at),
            one.note or "",
        ]
        for one in chosen
    ]
    render.table(("NAME", *away, "LOCAL", "UTC", "NOTE"), rows)
