"""`fire`, `test`: a trigger by hand, for real and for show."""

from __future__ import annotations

import asyncio
import shlex
import time
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tocsin.cli import documents, exits, render
from tocsin.cli.link import TIMEOUT_S, NoAnswer, call, engine_of
from tocsin.cli.options import JsonFlag, Name, Payload, bad, duration, payload
from tocsin.cli.output import print_log
from tocsin.cli.reading import event_called, read, read_if_any
from tocsin.cli.session import Session, session_of
from tocsin.cli.waiting import event_and_run, wait_for
from tocsin.errors import ConfigInvalid, TocsinError
from tocsin.event import UNFINISHED, State
from tocsin.runs import RunState
from tocsin.trigger import Json

if TYPE_CHECKING:
    from tocsin.store.connection import Tx


SHORTEST_S: Final = 1.0  # for the engine to record it: a shorter limit is one on the run


def fire(
    context: typer.Context,
    name: Name,
    given: Payload = None,
    key: Annotated[
        str | None, typer.Option(metavar="K", help="The same key again gives the first answer again.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for the end.")] = True,
    timeout: Annotated[
        str | None, typer.Option(metavar="D", help="Wait no longer than this, like 30s.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Fire a trigger by hand and wait for its end, with or without an engine.

    Exits 0 when the run succeeded, 1 when it failed, 6 when it was refused, 7 when the wait timed out.

    Example: tocsin fire brief --payload '{"day": "mon"}' --timeout 5m
    """
    session = session_of(context)
    limit_s = None if timeout is None else duration("--timeout", timeout).total_seconds()
    arguments = {"name": name, "payload": payload(given), "key": key, "cause": cause(session)}
    take_over_once(session)
    asked_at = time.monotonic()
    fired = fired_by(session, arguments, limit_s)
    if wait:
        left_s = None if limit_s is None else max(0.0, limit_s - (time.monotonic() - asked_at))
        finish(session, fired, left_s, as_json=as_json)
    else:
        show(standing(session, fired), as_json=as_json)


def fired_by(session: Session, arguments: dict[str, Any], limit_s: float | None) -> dict[str, Any]:
    """The verb's answer. For a trigger that nobody knows it is said when the file has it.

    Raises TimedOut when the engine does not answer in time.
    """
    within_s = TIMEOUT_S if limit_s is None else max(limit_s, SHORTEST_S)
    try:
        answer: dict[str, Any] = call(session, "fire", arguments, within_s=within_s)
    except NoAnswer as error:
        render.say(f"it may still record the event: `tocsin events {arguments['name']}`")
        if limit_s is None:
            raise
        raise exits.TimedOut(str(error)) from error
    except TocsinError as error:
        if exits.code_of(error) == exits.NOT_FOUND and is_in_file(session, arguments["name"]):
            render.say(f"{session.paths.config} has it, but it is not applied yet: `tocsin apply`")
        raise
    return answer


def is_in_file(session: Session, name: str) -> bool:
    """Whether the configuration as it stands has such a trigger."""
    try:
        return name in session.load().configuration.triggers
    except ConfigInvalid:
        return False


def cause(session: Session) -> Json:
    """The run that this command is part of, if any, as the verb wants it."""
    from tocsin.engine.runners.environment import CAUSE, decode_cause

    found = decode_cause(session.environ.get(CAUSE))
    return None if found is None else {"run_id": found.run_id, "lineage": list(found.lineage)}


def take_over_once(session: Session) -> None:
    """On a home that never saw an engine the triggers of the file have no rows yet."""
    if engine_of(session) is None and read_if_any(session, applied) is None:
        session.load()  # raises ConfigInvalid before anything is made on a home that has no configuration
        call(session, "apply", {"prune": False})


def applied(tx: Tx) -> Json:
    """What was applied last; None when nothing ever was."""
    from tocsin.store import journal

    return journal.fact(tx, "config")


def finish(session: Session, fired: dict[str, Any], limit_s: float | None, *, as_json: bool) -> None:
    """Wait for the end, show it, exit by it."""
    id_, duplicate = fired["event_id"], fired["duplicate"]
    try:
        if not as_json and fired["state"] in UNFINISHED:
            render.say(f"{id_}: waiting for its end")
        event, run = asyncio.run(wait_for(session, id_, limit_s=limit_s))
    except TocsinError as error:
        if isinstance(error, exits.TimedOut):
            show(standing(session, fired), as_json=as_json)
        say_unfinished(session, id_)
        raise
    except KeyboardInterrupt:
        say_unfinished(session, id_)
        raise typer.Exit(exits.INTERRUPTED) from None
    show(documents.outcome(event, run, duplicate=duplicate), as_json=as_json)
    if event.state in (State.DROPPED, State.SKIPPED) and not as_json:
        render.say(f"{event.id} was {event.state}: {event.reason}")
    if run is not None and run.state is not RunState.SUCCEEDED and not as_json:
        render.say(f"`tocsin logs {run.id}` shows what it printed")
    raise typer.Exit(exits.code_of_state(event.state))


def say_unfinished(session: Session, event_id: str) -> None:
    """That nobody waits does not end an event; with no engine up, whoever comes next takes it."""
    when = "" if engine_of(session) else " with the next `tocsin up` or `tocsin fire`"
    render.say(f"{event_id} goes on{when}: `tocsin event {event_id}`")


def standing(session: Session, fired: dict[str, Any]) -> dict[str, Json]:
    """The event as it is now. What the verb said first still holds for the ids."""
    event, run = read(session, lambda tx: event_and_run(tx, fired["event_id"]))
    return documents.outcome(event, run, duplicate=fired["duplicate"])


def show(outcome: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        render.document(outcome)
        return
    texts = {key: value for key, value in outcome.items() if key not in ("duplicate", "result", "would")}
    render.facts((key, None if value is None else str(value)) for key, value in texts.items())
    if outcome["duplicate"]:
        render.say("this key was fired before; shown is what came of it")
    if outcome.get("result"):
        render.document(outcome["result"])


def try_out(
    context: typer.Context,
    name: Name,
    given: Payload = None,
    sample: Annotated[bool, typer.Option("--sample", help="With a payload of its kind (default).")] = False,
    event: Annotated[str | None, typer.Option(metavar="ID", help="With what that event was given.")] = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Only show what would run.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run a trigger's command once without touching the trigger: no state, streak or ledger moves.

    Example: tocsin test inbox --no-run --json
    """
    from tocsin.daemon.testing import TestWish, test_run

    session = session_of(context)
    if (given is not None) + sample + (event is not None) > 1:
        bad("--payload", "give one of --payload, --sample and --event")
    event_id = None if event is None else read(session, lambda tx: event_called(tx, event)).id
    wish = TestWish(name=name, payload=payload(given), event_id=event_id, run=not no_run)
    tested = asyncio.run(test_run(session.paths, wish, environ=session.environ))
    if as_json:
        render.document(tested)
    else:
        show_test(session, tested)
    raise typer.Exit(exits.FAILED if tested["state"] == State.FAILED else exits.OK)


def show_matches(found: dict[str, Any] | None) -> None:
    """The files that match, if it is about files."""
    if found is None:
        return
    if not found["count"]:
        render.say("no file matches now; tested with a made-up one")
        return
    render.line("1 file matches now" if found["count"] == 1 else f"{found['count']} files match now")
    for path in found["paths"]:
        render.line(f"  {path}")


def show_test(session: Session, tested: dict[str, Any]) -> None:
    """What a folder holds for it, the command as it was started, how it ended, and what it printed."""
    show_matches(tested.get("matches"))
    if tested["would"] is not None:
        render.facts([("command", shlex.join(tested["would"]["argv"]))])
    show(tested, as_json=False)
    if tested["run_id"] is not None:
        print_log(session.paths.logs / f"{tested['run_id']}.log")
    else:
        render.say("nothing was run; --json shows the environment and the params too")
