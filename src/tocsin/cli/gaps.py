"""`gaps`: when the engine could not decide, and what that cost."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tocsin.cli import render
from tocsin.cli.options import JsonFlag, since
from tocsin.cli.reading import read_if_any
from tocsin.cli.session import now, session_of
from tocsin.cli.times import local
from tocsin.gaps import signed
from tocsin.instants import rfc3339
from tocsin.trigger import Json

if TYPE_CHECKING:
    from tocsin.store.connection import Tx
    from tocsin.store.gaps import Cost, Recorded

LAST: Final = "30d"
SHOWN: Final = 3  # triggers named in a row of the table


def gaps(
    context: typer.Context,
    last: Annotated[str, typer.Option("--last", metavar="D", help="How far back to look.")] = LAST,
    as_json: JsonFlag = False,
) -> None:
    """Show when no engine could decide (off, asleep, stopped, clock set), and what was planned meanwhile.

    Example: tocsin gaps --last 7d
    """
    cutoff = since(last, now(), option="--last")
    found = read_if_any(session_of(context), lambda tx: recorded(tx, cutoff)) or []
    if as_json:
        render.document([document(one) for one in found])
    elif found:
        headers = ("FROM", "LENGTH", "CAUSE", "PLANNED (FIRES)", "EVIDENCE")
        render.table(headers, [cells(one) for one in found])
    else:
        render.say(f"no gap in the last {last}")


def recorded(tx: Tx, cutoff: datetime | None) -> list[Recorded]:
    from tocsin.instants import EPOCH
    from tocsin.store import gaps as table

    return table.since(tx, cutoff or EPOCH)


def document(one: Recorded) -> Json:
    gap = one.gap
    return {
        "from": rfc3339(gap.from_at),
        "to": rfc3339(gap.to_at),
        "seconds": gap.length.total_seconds(),
        "cause": gap.cause,
        "evidence": gap.evidence,
        "cost": [
            {
                "registration": spent.registration,
                "planned": spent.planned,
                "events": spent.events,
                "skipped": spent.skipped,
            }
            for spent in one.cost
        ],
    }


def cells(one: Recorded) -> list[str]:
    gap = one.gap
    return [local(gap.from_at), signed(gap.length), gap.cause, costs(one.cost), gap.evidence]


def costs(spent: tuple[Cost, ...]) -> str:
    """`brief 1 (1 fire), tick 480 (1 fire)` and how many more."""
    shown = [f"{one.registration} {one.planned} ({made(one)})" for one in spent[:SHOWN]]
    more = len(spent) - SHOWN
    return (", ".join(shown) or "-") + (f" and {more} more" if more > 0 else "")


def made(one: Cost) -> str:
    return f"{one.events} fire{'' if one.events == 1 else 's'}"
