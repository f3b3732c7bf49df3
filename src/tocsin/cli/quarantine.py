"""`quarantine`: what arrived and became no event, and what a person decides about it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from tocsin.cli import exits, render
from tocsin.cli.link import call
from tocsin.cli.options import JsonFlag, Limit, Yes, one_of
from tocsin.cli.reading import quarantined_called, read, read_if_any
from tocsin.cli.second_thoughts import say_who_runs_it
from tocsin.cli.session import Session, now, session_of
from tocsin.cli.strays import document, facts, shown_payload, summary
from tocsin.cli.times import relative
from tocsin.quarantine import Kept, Reason, Standing
from tocsin.trigger import Json

if TYPE_CHECKING:
    from tocsin.store.connection import Tx

LIMIT: Final = 20  # rows unless told: one screen
SHOWN: Final = 2_000  # characters of a payload on a terminal; --json tells all

HELP: Final = """Look at what arrived and could not be verified, attributed or taken; replay it or drop it.

    Example: tocsin quarantine list --state waiting
"""

app: Final = typer.Typer(help=HELP, no_args_is_help=True, rich_markup_mode=None)

Ids: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="ID…", help="Quarantined deliveries, or beginnings of their ids.")
]
SomeIds: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID…", help="Quarantined deliveries, or beginnings of their ids."),
]


@app.command("list")
def list_(
    context: typer.Context,
    state: Annotated[
        str | None, typer.Option(metavar="S", help=f"Only in this state: {', '.join(Standing)}.")
    ] = None,
    reason: Annotated[str | None, typer.Option(metavar="R", help="Only for this reason.")] = None,
    limit: Limit = LIMIT,
    as_json: JsonFlag = False,
) -> None:
    """List what was kept, newest first.

    Example: tocsin quarantine list --reason schema_invalid
    """
    standing = None if state is None else Standing(one_of("--state", state, Standing))
    why = None if reason is None else Reason(one_of("--reason", reason, Reason))
    found = read_if_any(session_of(context), lambda tx: listed(tx, standing, why, limit))
    rows, given_way = found or ([], {})
    if as_json:
        render.document([summary(row) for row in rows])
    elif rows:
        table(rows)
    else:
        render.say("nothing fits" if state or reason else "nothing is quarantined")
    for gone, count in given_way.items():
        render.say(f"{gone}: {count} older ones gave way to later ones")


def listed(
    tx: Tx, standing: Standing | None, reason: Reason | None, limit: int
) -> tuple[list[Kept], dict[str, int]]:
    """Rows, newest first, and how many of each reason gave way."""
    from tocsin.store import quarantine

    return quarantine.listed(tx, standing=standing, reason=reason, limit=limit), quarantine.given_way(tx)


def table(rows: Sequence[Kept]) -> None:
    headers, moment = ("WHEN", "ID", "REASON", "ROUTE", "TRIGGER", "STATE", "DETAIL"), now()
    cells = [
        [
            relative(row.received_at, moment),
            row.id,
            row.stray.reason,
            row.stray.route,
            row.registration or "-",
            row.standing,
            row.stray.detail or "-",
        ]
        for row in rows
    ]
    render.table(headers, cells)


@app.command()
def show(
    context: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="One of them, or a beginning of its id.")],
    as_json: JsonFlag = False,
) -> None:
    """Show one: why it was kept, and what arrived.

    Example: tocsin quarantine show qua_0198c2
    """
    row = read(session_of(context), lambda tx: quarantined_called(tx, id_))
    if as_json:
        render.document(document(row))
        return
    render.facts(facts(row))
    if row.standing is not Standing.WAITING:
        return
    text = shown_payload(row)
    render.line("\npayload")
    render.line(text if len(text) <= SHOWN else f"{text[:SHOWN]}… (--json tells all)")


@app.command()
def replay(
    context: typer.Context,
    given: Ids,
    diff: Annotated[
        bool, typer.Option("--diff", help="Only show what each trigger would say now; change nothing.")
    ] = False,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Hand it to the triggers it is for, by today's configuration and under its own delivery id.

    What could not be verified is replayed only if a person answers for it: `--yes`, or a terminal's
    yes. Exits 6 when one cannot be replayed (then none is), and when no trigger takes one.

    Example: tocsin quarantine replay qua_0198c2 --diff
    """
    session = session_of(context)
    rows = read(session, lambda tx: [quarantined_called(tx, text) for text in given])
    ids: list[Json] = list(dict.fromkeys(row.id for row in rows))
    if diff:
        tell(call(session, "quarantine_rehearse", {"ids": ids}), as_json=as_json)
        return
    vouched = yes or vouches(rows)
    done = call(session, "quarantine_replay", {"ids": ids, "vouched": vouched})
    tell(done, as_json=as_json)
    if any(one["state"] == Standing.WAITING for one in done):
        raise typer.Exit(exits.REFUSED)
    say_who_runs_it(session)


def vouches(rows: Sequence[Kept]) -> bool:
    """Whether a person at a terminal answers for what could not be verified."""
    doubtful = [row.id for row in rows if row.stray.reason is Reason.FAILED_VERIFICATION]
    if not doubtful or not sys.stdin.isatty():
        return False
    return typer.confirm(
        f"{', '.join(doubtful)}: nobody knows who sent it. Replay it all the same?", err=True
    )


def tell(found: list[dict[str, Any]], *, as_json: bool) -> None:
    """What each trigger says, a line each."""
    if as_json:
        render.document(found[0] if len(found) == 1 else list(found))
        return
    for one in found:
        for decision in one["decisions"]:
            event = f" {decision['event_id']}" if decision["event_id"] else ""
            reason = f" ({decision['reason']})" if decision["reason"] else ""
            render.line(
                f"{one['quarantine_id']}  {decision['registration']}: {decision['answer']}{event}{reason}"
            )


@app.command()
def drop(
    context: typer.Context,
    given: SomeIds = None,
    everything: Annotated[bool, typer.Option("--all", help="All that wait.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Give up what was kept; that it was there stays known until it is old.

    Example: tocsin quarantine drop --all
    """
    if bool(given) == everything:
        raise typer.BadParameter("give either ids or --all", param_hint="ID")
    session = session_of(context)
    ids = [] if everything else whole_ids(session, given or [])
    done = call(session, "quarantine_drop", {"ids": ids, "all": everything})
    if as_json:
        render.document(done)
        return
    for id_ in done:
        render.line(f"dropped {id_}")
    if not done:
        render.say("nothing waits in the quarantine")


def whole_ids(session: Session, given: Sequence[str]) -> list[Json]:
    """Each once, in the order given. Raises NotFound, Ambiguous."""
    found = read(session, lambda tx: [quarantined_called(tx, text).id for text in given])
    return list(dict.fromkeys(found))
