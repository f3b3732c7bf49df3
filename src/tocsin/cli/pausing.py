"""`pause`, `resume`, `panic`: nothing happens for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

import typer

from tocsin.cli import exits, render
from tocsin.cli.changes import report
from tocsin.cli.link import call, direct, engine_of
from tocsin.cli.options import JsonFlag, Names, Tag, bad, duration, instant, names_tag_or_all
from tocsin.cli.session import Session, now, session_of
from tocsin.cli.times import until as until_
from tocsin.cli.waiting import until_stopped
from tocsin.errors import EngineUnreachable, LockHeld, StoreUnusable
from tocsin.event import Event, State
from tocsin.instants import rfc3339

SHORTEST: Final = timedelta(seconds=1)  # of a pause: a shorter one may be past before the engine hears of it

HURRY_S: Final = 5.0  # for the engine to answer a panic: a busy one takes less, and a person waits

All = Annotated[bool, typer.Option("--all", help="Every trigger, also what is switched off.")]


def pause(
    context: typer.Context,
    names: Names = None,
    tag: Tag = None,
    everything: All = False,
    length: Annotated[
        str | None, typer.Option("--for", metavar="D", help="As long as this, like 30m or 2d.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="T", help="To this RFC 3339 time; else until it is resumed.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Let nothing of these triggers happen for a while; runs under way go on.

    What waits is kept, what is planned meanwhile is skipped and not missed. Again: another end.

    Example: tocsin pause --tag client-acme --for 2h
    """
    session, wanted, moment = session_of(context), names_tag_or_all(names, tag, everything), now()
    end = end_of(length, until, moment)
    arguments = {"names": wanted, "tag": tag, "all": everything}
    done = call(session, "pause", {**arguments, "until": None if end is None else rfc3339(end)})
    report(done, "paused", as_json=as_json)
    if done and not as_json:
        render.say(until_(end, moment) or "until they are resumed")


def end_of(length: str | None, until: str | None, moment: datetime) -> datetime | None:
    """When the pause ends by itself; None when it does not."""
    if length is not None and until is not None:
        bad("--for", "give --for or --until, not both")
    try:
        if until is not None:
            end = instant("--until", until).astimezone(moment.tzinfo)
        elif length is not None:
            end = moment + duration("--for", length)
        else:
            return None
    except OverflowError:
        bad("--for" if until is None else "--until", "that is beyond the end of the calendar")
    if until is None and end - moment < SHORTEST:
        bad("--for", f"{length} is over before it begins: give 1s or more")
    if end <= moment:
        bad("--until", f"{until!r} ends nothing: it is not in the future")
    return end


def resume(
    context: typer.Context,
    names: Names = None,
    tag: Tag = None,
    everything: All = False,
    as_json: JsonFlag = False,
) -> None:
    """Let paused triggers go on: what was kept runs, folders are looked through once.

    Schedules go on with their next time; what was planned for the pause is not made up for.

    Example: tocsin resume --all
    """
    wanted = names_tag_or_all(names, tag, everything)
    done = call(session_of(context), "resume", {"names": wanted, "tag": tag, "all": everything})
    report(done, "resumed", as_json=as_json)
    for name in wanted:
        if name not in done:
            render.say(f"{name} was not paused")
    if not wanted and not done:
        render.say("none was paused")


def panic(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Stop everything: pause every trigger, stop every run, and wait until nothing runs.

    What waits is kept: `tocsin resume --all` brings it back. What ran is dropped.

    Example: tocsin panic
    """
    session = session_of(context)
    render.say("pausing every trigger and stopping every run")
    done, hanging = panicked(session)
    if not as_json:
        render.line(f"paused {done['paused']} trigger{'' if done['paused'] == 1 else 's'}")
    if hanging is not None:
        if as_json:
            render.document(done)
        raise hanging
    found = stopped(session, done["stopping"]) if done["stopping"] else []
    if as_json:
        render.document(done)
    for event in found:
        tell(event, as_json=as_json)
    render.say("`tocsin resume --all` lets all of it go on")
    if any(event.state is State.CLAIMED for event in found):
        raise typer.Exit(exits.FAILED)


def panicked(session: Session) -> tuple[dict[str, Any], EngineUnreachable | None]:
    """What was done, by the engine or in spite of it; what to say of one that hangs.

    Raises EngineUnreachable when such a one is in the middle of writing.
    """
    try:
        return call(session, "panic", {}, within_s=HURRY_S), None
    except EngineUnreachable as error:
        render.say(f"{error}; writing it into the database")
    try:
        done: Any = asyncio.run(direct(session, "panic", {}))
    except StoreUnusable as error:
        pid = "" if (engine := engine_of(session)) is None else f"`kill -9 {engine.pid}`, then "
        raise EngineUnreachable(
            f"nothing is paused or stopped: {error}; {pid}`tocsin panic` again"
        ) from error
    engine = engine_of(session)
    return done, None if engine is None else EngineUnreachable(
        f"every trigger is paused and every run is to be stopped, but the engine (process {engine.pid}) does "
        f"not answer: `kill -9 {engine.pid}` and then `tocsin panic` stop what runs"
    )


def stopped(session: Session, ids: Sequence[str]) -> list[Event]:
    """The events once nothing of them runs, whoever had started it. Ctrl-C leaves the rest to the engine."""
    render.say(f"stopping {', '.join(ids)}")
    try:
        found = asyncio.run(until_stopped(session, ids))
        if any(event.state is State.CLAIMED for event in found) and engine_of(session) is None:
            asyncio.run(stop_leftovers(session))
            found = asyncio.run(until_stopped(session, ids))
    except KeyboardInterrupt:
        render.say(f"they are being stopped all the same: `tocsin event {ids[0]}`")
        raise typer.Exit(exits.INTERRUPTED) from None
    return found


async def stop_leftovers(session: Session) -> None:
    """Stop what a dead engine left running."""
    from tocsin.cli.link import hushed
    from tocsin.daemon.local import recover

    try:
        with hushed():
            await recover(session.paths, environ=session.environ)
    except LockHeld:  # somebody came first, and does it
        return


def tell(event: Event, *, as_json: bool) -> None:
    """What came of a run."""
    if event.state is State.DROPPED:
        if not as_json:
            render.line(f"stopped {event.id} of {event.registration}")
    elif event.state is State.CLAIMED:
        render.say(f"{event.id} of {event.registration} is not stopped: `tocsin up` stops it and drops it")
    else:
        render.say(f"{event.id} of {event.registration}: too late, it is {event.state}")
