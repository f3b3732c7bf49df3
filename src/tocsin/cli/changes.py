"""`add`, `rm`, `enable`, `disable`, `rebind`: changing triggers by hand."""

from __future__ import annotations

import sys
import tomllib
from datetime import date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tocsin.cli import documents, render
from tocsin.cli.address import address_of
from tocsin.cli.link import call
from tocsin.cli.options import JsonFlag, Names, Tag, Yes, bad, names_or_tag, parsed
from tocsin.cli.reading import read, trigger_called
from tocsin.cli.session import Session, now, session_of
from tocsin.cli.triggers import details
from tocsin.components import VERSIONS
from tocsin.errors import EngineUnreachable
from tocsin.registration import Registration, RowOrigin
from tocsin.trigger import Json

if TYPE_CHECKING:
    from tocsin.store.connection import Tx

Table = dict[str, Any]

VALUE: Final = "value"  # the key under which a `--set` value is read as TOML


def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new trigger.")],
    workflow: Annotated[str, typer.Option(metavar="W", help="The workflow it runs.")],
    cron: Annotated[
        str | None, typer.Option(metavar="EXPR", help="Five fields, or @daily and the like.")
    ] = None,
    tz: Annotated[str | None, typer.Option(metavar="ZONE", help="For --cron, like Europe/Berlin.")] = None,
    every: Annotated[str | None, typer.Option(metavar="D", help="Elapsed time, like 10m.")] = None,
    at: Annotated[str | None, typer.Option(metavar="T", help="Once, at an RFC 3339 time.")] = None,
    webhook: Annotated[bool, typer.Option("--webhook", help="When something is posted.")] = False,
    files: Annotated[list[str] | None, typer.Option(metavar="PATH", help="When files change there.")] = None,
    config: Annotated[str | None, typer.Option(metavar="JSON", help="Values for the command.")] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="T", help="May be repeated.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key of a trigger, like files.recursive=true."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a trigger by hand; without a source it fires only by hand.

    Example: tocsin add nightly --workflow backup --cron '0 3 * * *'
    """
    session = session_of(context)
    given = {"workflow": workflow, "cron": cron, "tz": tz, "every": every, "at": at, "tags": tag}
    table: Table = {key: value for key, value in given.items() if value is not None}
    if webhook:
        table["webhook"] = {}
    if files:
        table["files"] = {"path": files}
    if config is not None:
        table["config"] = parsed("--config", config)
    for setting in settings or ():
        put(table, setting)
    if not table.keys() & VERSIONS.keys():
        table["manual"] = True
    made = call(session, "add", {"name": name, "table": table, "base": str(Path.cwd())})
    for warning in made["warnings"]:
        render.say(warning)
    show_added(session, name, as_json=as_json)


def put(table: Table, setting: str) -> None:
    """One `--set`: a dotted key, and a value in TOML, or just text."""
    key, equals, text = setting.partition("=")
    if not key or not equals:
        bad("--set", f"{setting!r} is no KEY=VALUE")
    *outer, last = key.split(".")
    for part in outer:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            bad("--set", f"{key}: {part} has a value already")
    table[last] = value_of(text)


def value_of(text: str) -> Json:
    """`3`, `true`, `["a"]`, `{ a = 1 }`, `2026-01-01T00:00:00Z` as TOML has them; else the text itself."""
    try:
        found = tomllib.loads(f"{VALUE} = {text}")
    except ValueError:
        return text
    return jsonable(found[VALUE]) if found.keys() == {VALUE} else text


def jsonable(value: Any) -> Json:
    """Times as text: the way to the engine is JSON."""
    if isinstance(value, dict):
        return {key: jsonable(below) for key, below in value.items()}
    if isinstance(value, list):
        return [jsonable(below) for below in value]
    found: Json = value.isoformat() if isinstance(value, datetime | date | time) else value
    return found


def show_added(session: Session, name: str, *, as_json: bool) -> None:
    row, moment = read(session, lambda tx: trigger_called(tx, name)), now()
    address = address_or_why(session, name) if row.spec.component == "webhook" else None
    if as_json:
        render.document(documents.registration(row, moment))
        if address is not None:
            render.say(f"address: {address}")
    else:
        render.facts([*details(row, moment), ("address", address)])


def address_or_why(session: Session, name: str) -> str:
    """The new webhook's address; the trigger is made even where nobody can tell it yet."""
    try:
        return address_of(session, name)
    except EngineUnreachable as error:
        return str(error)


def rm(
    context: typer.Context, names: Names = None, tag: Tag = None, yes: Yes = False, as_json: JsonFlag = False
) -> None:
    """Remove triggers; their history stays.

    Example: tocsin rm nightly
    """
    session, wanted = session_of(context), names_or_tag(names, tag)
    rows = read(session, lambda tx: chosen(tx, wanted, tag))
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Remove {', '.join(row.spec.name for row in rows)}?", abort=True, err=True)
    report(call(session, "remove", {"names": wanted, "tag": tag}), "removed", as_json=as_json)
    for row in rows:
        if row.origin is RowOrigin.FILE:
            render.say(
                f"{row.spec.name} came from {session.paths.config}: while it is there, it will be added "
                "again, armed anew: what had switched it off (its budget, say) and what it has spent are gone"
            )


def chosen(tx: Tx, names: list[str], tag: str | None) -> list[Registration]:
    from tocsin.engine.choosing import selected

    return selected(tx, names, tag)


def enable(
    context: typer.Context,
    names: Names = None,
    tag: Tag = None,
    requeue: Annotated[
        bool, typer.Option("--requeue", help="Bring back the events that the last disarm dropped.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Arm triggers anew: streak, reason and schedule start afresh.

    Example: tocsin enable brief --requeue
    """
    session, wanted = session_of(context), names_or_tag(names, tag)
    back: dict[str, int] = call(session, "enable", {"names": wanted, "tag": tag, "requeue": requeue})
    done = list(back)
    report(done, "enabled", as_json=as_json)
    for name, count in back.items() if requeue else ():
        render.say(f"{name}: {count} dropped {'event comes' if count == 1 else 'events come'} back")
    for name, count in read(session, lambda tx: left_behind(tx, done)) if requeue else ():
        events = "event stays" if count == 1 else "events stay"
        render.say(f"{name}: {count} dropped {events} so, without a payload any more (retention.payloads)")
    say_still_paused(session, done)


def say_still_paused(session: Session, names: list[str]) -> None:
    """Arming lifts no pause."""
    moment = now()
    for row in read(session, lambda tx: chosen(tx, names, None)):
        if row.is_paused(moment):
            render.say(f"{row.spec.name} is still paused: `tocsin resume {row.spec.name}`")


def left_behind(tx: Tx, names: list[str]) -> list[tuple[str, int]]:
    """(name, count) of what cannot come back, where there is such."""
    from tocsin.store.second_thoughts import beyond_recall

    counts = [(name, beyond_recall(tx, trigger_called(tx, name).id)) for name in names]
    return [(name, count) for name, count in counts if count]


def disable(context: typer.Context, names: Names = None, tag: Tag = None, as_json: JsonFlag = False) -> None:
    """Turn triggers off and drop what waits.

    Example: tocsin disable --tag client-acme
    """
    wanted = names_or_tag(names, tag)
    done = call(session_of(context), "disable", {"names": wanted, "tag": tag})
    report(done, "disabled", as_json=as_json)


def rebind(context: typer.Context, names: Names = None, tag: Tag = None, as_json: JsonFlag = False) -> None:
    """Let triggers go on with the present version of their source.

    A trigger halts when tocsin was updated and what its source tells has another shape now: look at
    what its command expects, then confirm.

    Example: tocsin rebind inbox
    """
    wanted = names_or_tag(names, tag)
    done: list[str] = call(session_of(context), "rebind", {"names": wanted, "tag": tag})
    report(done, "bound anew:", as_json=as_json)
    for name in wanted:
        if name not in done:
            render.say(f"{name} is bound to the present version already")


def report(names: list[str], what: str, *, as_json: bool) -> None:
    """The names that were changed: an array, or one to a line."""
    if as_json:
        render.document(names)
        return
    for name in names:
        render.line(f"{what} {name}")
