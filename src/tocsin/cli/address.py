"""`url`: where a webhook listens."""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import quote

import typer

from tocsin.cli import render
from tocsin.cli.link import call, engine_of
from tocsin.cli.options import JsonFlag, Name
from tocsin.cli.reading import read, trigger_called
from tocsin.cli.session import Session, session_of
from tocsin.errors import ConfigInvalid, EngineUnreachable
from tocsin.settings import EngineSettings

ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - an address to listen on is none to post to


def url(
    context: typer.Context,
    name: Name,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Make a new address; the old one is void.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print a webhook's address, which is secret.

    Example: curl -d '{}' "$(tocsin url plain-hook)"
    """
    address = address_of(session_of(context), name, rotate=rotate)
    if as_json:
        render.document({"url": address})
    else:
        render.line(address)
    if rotate:
        render.say(f"the old address of {name} is void")


def address_of(session: Session, name: str, *, rotate: bool = False) -> str:
    """The address as a sender outside sees it. Raises NotFound, Refused, EngineUnreachable."""
    read(session, lambda tx: trigger_called(tx, name))
    base = base_of(session)  # before a new token voids the old address
    token = call(session, "token", {"name": name, "rotate": rotate})["token"]
    return f"{base}/api/triggers/{quote(token)}"


def base_of(session: Session) -> str:
    """`public_url`, else where the engine listens now, else where it will."""
    engine = engine_of(session)
    here = None if engine is None else engine.url
    try:
        settings = session.load().configuration.engine
    except ConfigInvalid:
        if here is None:
            raise
        return here
    return settings.public_url or here or planned(settings)


def planned(settings: EngineSettings) -> str:
    """Where an engine with these settings listens. Raises EngineUnreachable when only it will know."""
    if settings.port == 0:
        raise EngineUnreachable("port = 0: the address is known once an engine runs (`tocsin up`)")
    host = ANY.get(settings.host, settings.host)
    return f"http://{f'[{host}]' if ':' in host else host}:{settings.port}"
