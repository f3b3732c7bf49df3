"""`simulate`: what the schedules will do, by the engine's own rules, on a clock that runs ahead."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from tocsin.cli import render
from tocsin.cli.idle import nothing
from tocsin.cli.options import JsonFlag, OptionalName, bad, duration, instant
from tocsin.cli.reading import read_if_any, trigger_called, triggers
from tocsin.cli.session import Session, now, session_of
from tocsin.cli.times import local
from tocsin.instants import rfc3339
from tocsin.registration import Registration
from tocsin.runs import RunState
from tocsin.trigger import Json

if TYPE_CHECKING:
    from tocsin.nights import Nights
    from tocsin.simulation import Step
    from tocsin.store.connection import Tx

Tell: TypeAlias = Callable[[datetime], str]

AHEAD: Final = "7d"
LATELY: Final = 20  # runs that tell how long the next one takes
MOST: Final = 1000  # lines for people; --json prints all
NIGHT: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


def simulate(
    context: typer.Context,
    name: OptionalName = None,
    from_: Annotated[str | None, typer.Option("--from", metavar="T", help="Default: now.")] = None,
    length: Annotated[str, typer.Option("--for", metavar="D", help="How far ahead.")] = AHEAD,
    sleep: Annotated[
        str | None,
        typer.Option(metavar="HH:MM-HH:MM", help="When it sleeps each day, in the machine's time zone."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what schedules will do: fires, what is missed in a sleep and made up for, overlaps.

    Runs are taken to last as long as they did lately, and to succeed.

    Example: tocsin simulate --for 7d --sleep 23:00-07:30
    """
    session = session_of(context)
    start = now() if from_ is None else instant("--from", from_)
    until, nights = start + duration("--for", length), nights_of(session, sleep)
    found = read_if_any(session, lambda tx: known(tx, name, start if from_ is None else None)) or Known()
    tell = None if as_json else partial(local, tz=session.zone)
    steps = simulated(found, start, until, nights, tell)
    if as_json:
        render.document([document(step) for step in steps])
    elif steps:
        show(session, steps)
    else:
        render.say(nothing(found.rows[0] if name and found.rows else None, start, length))


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The triggers, how long their runs took lately, until when lanes are taken; None: not from now on."""

    rows: Sequence[Registration] = ()
    lengths: Mapping[str, timedelta] = field(default_factory=dict)
    busy: Mapping[str, datetime] | None = None


def simulated(
    found: Known, start: datetime, until: datetime, nights: Nights | None, tell: Tell | None
) -> list[Step]:
    from tocsin.simulation import Simulation, clock

    ahead = Simulation(
        start=start,
        until=until,
        lengths=found.lengths,
        nights=nights,
        is_present=found.busy is not None,
        busy=found.busy or {},
        tell=tell or clock,
    )
    return list(ahead.steps(found.rows))


def nights_of(session: Session, text: str | None) -> Nights | None:
    """`--sleep`, in the machine's zone."""
    if text is None:
        return None
    from tocsin.nights import Nights
    from tocsin.zones import zone

    found = NIGHT.fullmatch(text)
    if found is None:
        bad("--sleep", f"{text!r} is no time of day to another, like 23:00-07:30")
    hours = [int(part) for part in found.groups()]
    begins, ends = time(hours[0], hours[1]), time(hours[2], hours[3])
    if begins == ends:
        bad("--sleep", f"{text!r} has no length")
    return Nights(start=begins, end=ends, tz=zone(session.zone))


def known(tx: Tx, name: str | None, moment: datetime | None) -> Known:
    """moment: now, when what runs and waits is reckoned with; None when it begins at another time."""
    rows = triggers(tx) if name is None else [trigger_called(tx, name)]
    lengths = {row.id: lately(tx, row.id) for row in rows if row.spec.schedule or row.next_fire_at}
    return Known(rows=rows, lengths=lengths, busy=None if moment is None else taken(tx, lengths, moment))


def taken(tx: Tx, lengths: Mapping[str, timedelta], moment: datetime) -> dict[str, datetime]:
    """Until when each lane is taken, when all that runs and waits in it takes as long as lately."""
    from tocsin.store import lanes

    found: dict[str, datetime] = {}
    length_of = dict(lengths)
    for member in lanes.under_way(tx):
        id_ = member.registration_id
        if id_ not in length_of:
            length_of[id_] = lately(tx, id_)
        begins = max(found.get(member.lane, moment), member.not_before or moment)
        found[member.lane] = max((member.claimed_at or begins) + length_of[id_], moment)
    return found


def lately(tx: Tx, registration_id: str) -> timedelta:
    """The median of the last successful runs; nothing where there are none."""
    from tocsin.store import runs

    state = RunState.SUCCEEDED
    found = runs.listed(tx, registration_id=registration_id, state=state, since=None, limit=LATELY)
    took = [run.finished_at - run.started_at for run in found if run.finished_at and not run.test]
    return timedelta(seconds=median(length.total_seconds() for length in took)) if took else timedelta()


def document(step: Step) -> dict[str, Json]:
    return {
        "at": rfc3339(step.at),
        "registration": step.registration,
        "what": step.what,
        "note": step.note,
    }


def show(session: Session, steps: Sequence[Step]) -> None:
    """On one clock, so that it reads in order."""
    table = [
        [local(step.at, session.zone), step.registration, step.what, step.note or ""] for step in steps[:MOST]
    ]
    render.table(("AT", "NAME", "WHAT", "NOTE"), table)
    if len(steps) > MOST:
        render.say(f"and {len(steps) - MOST} more: --json prints all, a shorter --for fewer")
