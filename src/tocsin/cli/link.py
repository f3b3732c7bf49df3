"""Changes things: through the running engine's socket, or straight on the database when none is up.

The one client of the engine's control routes. Standard library only: `tocsin fire` in a script must
not wait for an HTTP library to load.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from typing import Any, Final
from urllib.parse import urlsplit

from tocsin.cli.render import say
from tocsin.cli.session import Session
from tocsin.daemon.lock import Holder, read_holder
from tocsin.errors import EngineUnreachable, TocsinError
from tocsin.trigger import Json

TIMEOUT_S: Final = 60.0  # a verb is one short transaction; a machine under load may take its time
STARTING_S: Final = 10.0  # between taking the lock and opening the socket an engine applies its configuration
PATIENCE_S: Final = 3.0  # a person who sees nothing for longer wonders
LOOK_S: Final = 0.05
ANSWERED: Final = (200, 400)  # a result, or an error that a verb raised

Arguments = Mapping[str, Any]


class NoAnswer(EngineUnreachable):
    """The engine was asked and is silent: it may still do it."""


def call(session: Session, verb: str, arguments: Arguments, *, within_s: float = TIMEOUT_S) -> Any:
    """A verb's result, wherever it is done. within_s: seconds that an engine has to answer.

    Raises what the verb raises, EngineUnreachable, and NoAnswer, which is one.
    """
    engine = engine_of(session)
    if engine is None:
        return asyncio.run(direct(session, verb, arguments))
    return ask(session, engine, verb, arguments, within_s=within_s)


def engine_of(session: Session) -> Holder | None:
    """The engine that runs on this home, or None. A `fire` that holds the lock is none."""
    holder = read_holder(session.paths.lock)
    return holder if holder is not None and holder.role == "engine" else None


async def direct(session: Session, verb: str, arguments: Arguments) -> Json:
    """Do it here: the same verb on the database itself."""
    from tocsin.daemon.local import open_controls
    from tocsin.engine.verbs import VERBS

    with hushed():
        async with open_controls(session.paths, environ=session.environ) as controls:
            return await VERBS[verb](controls, arguments)


@contextmanager
def hushed() -> Iterator[None]:
    """Keep the engine's log to itself: the command says what it did in its own words."""
    logger, nowhere = logging.getLogger("tocsin"), logging.NullHandler()
    logger.addHandler(nowhere)
    try:
        yield
    finally:
        logger.removeHandler(nowhere)


def ask(
    session: Session, engine: Holder, verb: str, arguments: Arguments, *, within_s: float = TIMEOUT_S
) -> Any:
    """Let the running engine do it."""
    body = json.dumps(arguments).encode()
    with saying_why(engine):
        connection, headers = asyncio.run(door(session, engine, within_s))
        headers |= {"Content-Type": "application/json"}
        try:
            connection.request("POST", f"/control/{verb}", body, headers)
            response = connection.getresponse()
            status, answer = response.status, json.loads(response.read())
        except TimeoutError as error:
            raise silent(engine, within_s) from error
        except (OSError, HTTPException, ValueError) as error:
            raise unreachable(engine, error) from error
        finally:
            connection.close()
    return result_of(engine, status, answer)


@contextmanager
def saying_why(engine: Holder) -> Iterator[None]:
    """Tell a person what takes so long, once."""
    timer = threading.Timer(PATIENCE_S, say, [f"waiting for the engine (process {engine.pid})…"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


async def door(session: Session, engine: Holder, within_s: float) -> tuple[HTTPConnection, dict[str, str]]:
    """Where it listens, with what it wants to see. Waits for one that is just starting."""
    for _ in range(round(min(STARTING_S, within_s) / LOOK_S)):
        if engine.socket is not None:
            return SocketConnection(engine.socket, within_s), {}
        if engine.url is not None:
            return connection_to(engine.url, within_s), bearer(session, engine)
        await asyncio.sleep(LOOK_S)
        engine = engine_of(session) or engine
    raise NoAnswer(f"the engine (process {engine.pid}) holds the lock but opens no door; {ADVICE}")


def connection_to(url: str, within_s: float) -> HTTPConnection:
    address = urlsplit(url)
    return HTTPConnection(address.hostname or "", address.port, timeout=within_s)


def bearer(session: Session, engine: Holder) -> dict[str, str]:
    try:
        token = session.paths.api_token.read_text("utf-8").strip()
    except OSError as error:
        raise unreachable(engine, error) from error
    return {"Authorization": f"Bearer {token}"}


def result_of(engine: Holder, status: int, answer: Any) -> Any:
    """What the engine answered. Raises the error that it names."""
    if status not in ANSWERED or not isinstance(answer, dict):
        raise unreachable(engine, f"HTTP {status}")
    if "ok" in answer:
        return answer["ok"]
    from tocsin.engine.verbs import error_of

    raise error_of(answer)


ADVICE: Final = "see its log, or stop it with `tocsin down`"


def unreachable(engine: Holder, why: object) -> TocsinError:
    return EngineUnreachable(f"the engine (process {engine.pid}) does not answer: {why}; {ADVICE}")


def silent(engine: Holder, within_s: float) -> TocsinError:
    return NoAnswer(
        f"the engine (process {engine.pid}) has not answered within {within_s:g}s; if it hangs, "
        f"`kill -9 {engine.pid}` ends it and `tocsin up` goes on"
    )


class SocketConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, within_s: float) -> None:
        super().__init__("localhost", timeout=within_s)
        self._path = path
        self._within_s = within_s

    def connect(self) -> None:
        """Open the socket instead of a TCP connection."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self._within_s)
        self.sock.connect(self._path)
