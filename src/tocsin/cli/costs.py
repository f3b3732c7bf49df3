"""`costs`: what runs have cost, as they reported it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tocsin.cli import render
from tocsin.cli.options import JsonFlag, Since, one_of
from tocsin.cli.options import since as since_
from tocsin.cli.reading import read_if_any
from tocsin.cli.session import now, session_of

if TYPE_CHECKING:
    from tocsin.store.connection import Tx
    from tocsin.store.costs import Total

BY: Final = ("trigger", "tag", "workflow")
NO_TAG: Final = "(no tag)"


def costs(
    context: typer.Context,
    by: Annotated[str, typer.Option(metavar="WHAT", help=f"One line for each {', '.join(BY)}.")] = BY[0],
    since: Since = None,
    as_json: JsonFlag = False,
) -> None:
    """Show what runs have cost, the highest first: the sums of the `cost_usd` that they reported.

    Triggers that were removed count under their names. A run counts under each tag that its trigger had then.

    Example: tocsin costs --by tag --since 30d
    """
    session, key = session_of(context), one_of("--by", by, BY)
    cutoff = since_(since, now())
    found = read_if_any(session, lambda tx: totals(tx, key, cutoff)) or []
    if as_json:
        render.write(array(found))
    elif found:
        show_table(key, found)
    else:
        render.say(
            "no run has reported a cost" + (" since then" if since else " yet: `cost_usd` in its output")
        )


def totals(tx: Tx, by: str, since: datetime | None) -> Sequence[Total]:
    from tocsin.store import costs as table

    return {"trigger": table.by_trigger, "tag": table.by_tag, "workflow": table.by_workflow}[by](tx, since)


def array(found: Sequence[Total]) -> str:
    """JSON whose amounts are exact: a float would round large ones."""
    from tocsin.budget import exact

    rows = [
        f'  {{\n    "key": {render.json_text(total.key, indent=None)},\n'
        f'    "usd": {exact(total.nanos)},\n    "runs": {total.runs}\n  }}'
        for total in found
    ]
    return "[\n" + ",\n".join(rows) + "\n]\n" if rows else "[]\n"


def show_table(by: str, found: Sequence[Total]) -> None:
    """Money and counts end at the right of their columns, so that they compare at a glance."""
    from tocsin.budget import dollars

    money = flush_right("COST", [dollars(total.nanos) for total in found])
    runs = flush_right("RUNS", [str(total.runs) for total in found])
    keys = [NO_TAG if total.key is None else total.key for total in found]
    render.table((money[0], runs[0], by.upper()), list(zip(money[1:], runs[1:], keys, strict=True)))


def flush_right(header: str, cells: Sequence[str]) -> list[str]:
    """The header and the cells, all of one width."""
    column = [header, *cells]
    widest = max(map(len, column))
    return [cell.rjust(widest) for cell in column]
