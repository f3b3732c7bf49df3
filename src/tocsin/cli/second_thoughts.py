"""`cancel`, `retry`, `replay`: a person decides anew about single events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from tocsin.cli import documents, exits, render
from tocsin.cli.firing import cause
from tocsin.cli.link import call, engine_of
from tocsin.cli.options import JsonFlag
from tocsin.cli.reading import event_called, read
from tocsin.cli.session import Session, session_of
from tocsin.cli.waiting import until_stopped
from tocsin.event import Event, State
from tocsin.trigger import Json

if TYPE_CHECKING:
    from tocsin.store.connection import Tx

Events: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="EVENT…", help="Events, or beginnings of their ids.")
]


def cancel(context: typer.Context, given: Events, as_json: JsonFlag = False) -> None:
    """Drop events that wait, stop the runs of those that run, and wait until they are stopped.

    Nothing of them is tried again, nothing counts as a failure, no chain is fired. Exits 6 when one
    has ended already; then none is changed. Exits 5 when the engine is gone before it has stopped one.

    Example: tocsin cancel evt_0198c2
    """
    session = session_of(context)
    ids = ids_of(session, given)
    running = [one["event_id"] for one in ask(session, "cancel", ids) if one["state"] == State.CLAIMED]
    found = stopped(session, ids, running) if running else rows(session, ids)
    if as_json:
        render.document(one_or_all([documents.event(event) for event in found]))
    for event in found:
        tell_cancelled(event, as_json=as_json)
    if any(event.state is State.CLAIMED for event in found):
        raise typer.Exit(exits.UNREACHABLE)
    if any(event.state is not State.DROPPED for event in found):
        raise typer.Exit(exits.REFUSED)


def stopped(session: Session, ids: Sequence[str], running: Sequence[str]) -> list[Event]:
    """The events once nothing of them runs. An impatient person leaves the rest to the engine."""
    try:
        render.say(f"stopping {', '.join(running)}")
        return asyncio.run(until_stopped(session, ids))
    except KeyboardInterrupt:
        render.say(f"it is being stopped all the same: `tocsin event {running[0]}`")
        raise typer.Exit(exits.INTERRUPTED) from None


def tell_cancelled(event: Event, *, as_json: bool) -> None:
    """What came of it: cancelled, or too late, or left to the next engine."""
    if event.state is State.DROPPED:
        if not as_json:
            render.line(f"cancelled {event.id}")
    elif event.state is State.CLAIMED:
        render.say(
            f"{event.id}: the engine that ran it is gone; `tocsin up` stops what is left of it and drops it"
        )
    else:
        render.say(f"{event.id}: too late, it is {event.state}")


def retry(context: typer.Context, given: Events, as_json: JsonFlag = False) -> None:
    """Try events again: at once if they wait for their next attempt, once more if they failed.

    The idempotency key stays the same. Exits 6 for an event in another state or when its trigger is
    off; then none is changed.

    Example: tocsin retry evt_0198c2
    """
    session = session_of(context)
    ids = ids_of(session, given)
    ask(session, "retry", ids)
    if as_json:
        render.document(one_or_all([documents.event(event) for event in rows(session, ids)]))
    else:
        for id_ in ids:
            render.line(f"retrying {id_}")
    say_who_runs_it(session)


def replay(context: typer.Context, given: Events, as_json: JsonFlag = False) -> None:
    """Make a new event with the payload of an old one, whatever became of that.

    It has an id and an idempotency key of its own. Exits 6 when the trigger is off; then none is made.

    Example: tocsin replay evt_0198c2
    """
    session = session_of(context)
    made = ask(session, "replay", ids_of(session, given), cause=cause(session))
    if as_json:
        render.document(one_or_all(made))
    else:
        for one in made:
            render.line(f"{one['event_id']} replays {one['replay_of']}")
    say_who_runs_it(session)


def ids_of(session: Session, given: Sequence[str]) -> list[str]:
    """The whole ids, each once, in the order given. Raises NotFound, Ambiguous."""
    found = read(session, lambda tx: [event_called(tx, text).id for text in given])
    return list(dict.fromkeys(found))


def ask(session: Session, verb: str, ids: Sequence[str], **more: Json) -> list[dict[str, Any]]:
    """The verb's answer, one object for each event."""
    answer: list[dict[str, Any]] = call(session, verb, {"events": list(ids), **more})
    return answer


def rows(session: Session, ids: Sequence[str]) -> list[Event]:
    """The events as they stand."""

    def step(tx: Tx) -> list[Event]:
        return [event_called(tx, id_) for id_ in ids]

    return read(session, step)


def one_or_all(found: Sequence[Json]) -> Json:
    """An object for one event, an array for several."""
    return found[0] if len(found) == 1 else list(found)


def say_who_runs_it(session: Session) -> None:
    """With no engine up nothing runs yet."""
    if engine_of(session) is None:
        render.say("no engine is running: the next `tocsin up` runs what waits")
