"""`up`, `down`, `status`: the engine as a process."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tocsin.cli import documents, render
from tocsin.cli.exits import TimedOut
from tocsin.cli.link import ask, engine_of
from tocsin.cli.options import JsonFlag, one_of
from tocsin.cli.reading import read_if_any
from tocsin.cli.session import Session, now, session_of
from tocsin.daemon.lock import Holder, read_holder
from tocsin.errors import ConfigInvalid, EngineUnreachable
from tocsin.event import State
from tocsin.settings import EngineSettings
from tocsin.trigger import Json, Scope

if TYPE_CHECKING:
    from tocsin.store.connection import Tx

BEYOND_GRACE_S: Final = (
    15.0  # a run that ignores TERM has its kill_grace (10 s unless set) after the engine's
)
ANSWER_S: Final = 10.0  # that it is to stop needs no writing: one that is silent for longer hangs
LOOK_S: Final = 0.05


def up(
    context: typer.Context,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help="Listen here; 0: any free port.")
    ] = None,
    until_idle: Annotated[
        bool, typer.Option("--until-idle", help="Return when nothing is left to run.")
    ] = False,
    no_http: Annotated[bool, typer.Option("--no-http", help="No webhooks and no API.")] = False,
    serves: Annotated[
        list[str] | None,
        typer.Option(metavar="SCOPE", help="Serve only this scope: desktop or cloud. Repeatable."),
    ] = None,
) -> None:
    """Run the engine in the foreground; it applies the configuration and logs to stderr.

    Example: tocsin up --port 0
    """
    from tocsin.daemon.run import UpOptions
    from tocsin.daemon.run import up as run

    session = session_of(context)
    scopes = tuple(Scope(one_of("--serves", scope, Scope)) for scope in serves or ())
    options = UpOptions(port=port, until_idle=until_idle, no_http=no_http, serves=scopes)
    asyncio.run(run(session.paths, options, environ=session.environ))


def down(
    context: typer.Context,
    at_once: Annotated[bool, typer.Option("--now", help="Stop running commands instead of waiting.")] = False,
) -> None:
    """Stop the running engine and wait until it is gone.

    Example: tocsin down
    """
    session = session_of(context)
    engine = engine_of(session)
    if engine is None:
        raise EngineUnreachable(f"no engine is running on {session.paths.home}")
    hurry = "`tocsin down --now` hurries it"
    try:
        ask(session, engine, "stop", {"now": at_once}, within_s=ANSWER_S)
    except EngineUnreachable as error:
        render.say(f"{error}; sending TERM")
        terminate(engine.pid)
        hurry = f"`kill -9 {engine.pid}` ends it, and what it runs is stopped by the next `tocsin up`"
    asyncio.run(gone(session, engine, patience_s(session), hurry))
    render.say(f"stopped (process {engine.pid})")


def terminate(pid: int) -> None:
    """Ask a process to end; the lock says that it lives, so the number is nobody else's."""
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return


def patience_s(session: Session) -> float:
    """The longest that a well-behaved engine takes to stop."""
    try:
        settings = session.load().configuration.engine
    except ConfigInvalid:
        settings = EngineSettings()
    return settings.shutdown_grace.total_seconds() + BEYOND_GRACE_S


async def gone(session: Session, engine: Holder, patience: float, hurry: str) -> None:
    """Wait until this engine has let go of the lock. Raises TimedOut."""
    for _ in range(round(patience / LOOK_S)):
        if not holds(session, engine):
            return
        await asyncio.sleep(LOOK_S)
    raise TimedOut(f"the engine (process {engine.pid}) is still stopping after {patience:.0f}s; {hurry}")


def holds(session: Session, engine: Holder) -> bool:
    holder = read_holder(session.paths.lock)
    return holder is not None and holder.owner == engine.owner


def status(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Show whether the engine runs, and how many of what there are.

    Example: tocsin status --json
    """
    session = session_of(context)
    engine = engine_of(session)
    found: dict[str, Any] = {
        "engine": engine_document(engine),
        **(read_if_any(session, counts) or NO_COUNTS),
        "config": config_document(session, engine),
    }
    if as_json:
        render.document(found)
    else:
        show_status(found)


def engine_document(engine: Holder | None) -> dict[str, Json]:
    return {
        "running": engine is not None,
        "pid": engine.pid if engine else None,
        "url": engine.url if engine else None,
        "started_at": engine.started_at if engine else None,
        "version": engine.version if engine else None,
    }


def counts(tx: Tx) -> dict[str, Json]:
    """How many triggers and events there are, of each sort."""
    from tocsin.store import events, quarantine, registrations

    rows, moment = registrations.present(tx), now()
    enabled = sum(row.enabled for row in rows)
    failing = sum(documents.failing(row, moment) for row in rows)
    idle = sum(row.status(moment) == "idle" for row in rows)
    return {
        "registrations": {
            "total": len(rows),
            "enabled": enabled,
            "disabled": len(rows) - enabled,
            "failing": failing,
            "idle": idle,
        },
        "events": dict.fromkeys(map(str, State), 0) | events.states(tx),
        "quarantine": quarantine.waiting(tx),
    }


NO_COUNTS: Final[dict[str, Json]] = {
    "registrations": dict.fromkeys(("total", "enabled", "disabled", "failing", "idle"), 0),
    "events": dict.fromkeys(map(str, State), 0),
    "quarantine": 0,
}


def config_document(session: Session, engine: Holder | None) -> Json:
    """The configuration in force while an engine runs; else the file as it stands."""
    in_force = None if engine is None else read_if_any(session, config_fact)
    return in_force or file_document(session)


def config_fact(tx: Tx) -> Json:
    from tocsin.store import journal

    return journal.fact(tx, "config")


def file_document(session: Session) -> dict[str, Json]:
    path = str(session.paths.config)
    try:
        session.load()
    except ConfigInvalid as error:
        return {"path": path, "ok": False, "error": str(error)}
    return {"path": path, "ok": True, "error": None}


def show_status(found: dict[str, Any]) -> None:
    engine, config = found["engine"], found["config"]
    running = (
        f"running (process {engine['pid']}, {engine['url'] or 'no HTTP'})"
        if engine["running"]
        else "not running"
    )
    render.facts(
        [
            ("engine", running),
            ("since", engine["started_at"]),
            ("triggers", spelled(found["registrations"])),
            ("events", spelled({state: n for state, n in found["events"].items() if n}) or "none"),
            ("quarantine", f"{found['quarantine']} waiting" if found["quarantine"] else None),
            ("config", f"{config['path']}: ok" if config["ok"] else str(config["error"])),
        ]
    )


def spelled(numbers: dict[str, int]) -> str:
    """`3 total, 2 enabled, …`."""
    return ", ".join(f"{number} {word}" for word, number in numbers.items())
