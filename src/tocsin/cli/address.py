"""`url`: where a webhook listens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import quote

import typer

from tocsin.cli import render
from tocsin.cli.link import call, engine_of
from tocsin.cli.options import JsonFlag, Name, bad
from tocsin.cli.reading import read, trigger_called
from tocsin.cli.session import Session, session_of
from tocsin.errors import ConfigInvalid, EngineUnreachable
from tocsin.settings import EngineSettings

if TYPE_CHECKING:
    from tocsin.store.connection import Tx

ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - an address to listen on is none to post to


def url(
    context: typer.Context,
    name: Name,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Make a new address; the old one is void.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Print the address of a webhook, which is secret, or of a source that several triggers share.

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
    path = read(session, lambda tx: source_path(tx, name))
    if path is not None and not rotate:
        return base_of(session) + path
    if path is not None:
        bad("--rotate", f"{name} is a source: its secrets are what is rotated, its address stays")
    read(session, lambda tx: trigger_called(tx, name))
    base = base_of(session)  # before a new token voids the old address
    token = call(session, "token", {"name": name, "rotate": rotate})["token"]
    return f"{base}/api/triggers/{quote(token)}"


def source_path(tx: Tx, name: str) -> str | None:
    """Where a `[sources]` table's deliveries come in; None for what is no webhook source."""
    from tocsin.store import installations, registrations

    if registrations.by_name(tx, name) is not None:
        return None  # a trigger of that name goes first
    id_ = installations.shared(tx, name, "webhook")
    props = None if id_ is None else installations.props_of(tx, id_, "webhook")
    if props is None:
        return None
    if props.get("mode") == "shared":
        return f"/app-webhook/{props.get('provider')}"
    return f"/trigger/instance/{id_}"


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
