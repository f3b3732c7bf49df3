"""`send`: a signed test delivery, as its sender would make it, to the running engine."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tocsin.cli import exits, render
from tocsin.cli.address import address_of
from tocsin.cli.link import engine_of
from tocsin.cli.options import JsonFlag, Name, Payload, bad, one_of, payload
from tocsin.cli.reading import read
from tocsin.cli.session import Session, now, session_of
from tocsin.errors import EngineUnreachable, NotFound
from tocsin.identity import new_id
from tocsin.trigger import Json

if TYPE_CHECKING:
    from tocsin.signature import Scheme
    from tocsin.store.connection import Tx

PATIENCE_S: Final = 30.0  # a locked database can hold an answer that long
TAKEN: Final = 300  # statuses below it
REFUSED: Final = frozenset({400, 401, 403, 404, 405, 410, 413, 421, 429})


def send(
    context: typer.Context,
    name: Name,
    given: Payload = None,
    preset: Annotated[
        str | None, typer.Option(metavar="P", help="Sign as this sender does; default: the webhook's own.")
    ] = None,
    event: Annotated[str | None, typer.Option(metavar="TYPE", help="The type of event.")] = None,
    id_: Annotated[str | None, typer.Option("--id", metavar="ID", help="The delivery's id.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Sign a test delivery with the webhook's own secret, post it to the engine and print the answer.

    Example: tocsin send pull-requests --event push --payload '{"ref": "main"}'
    """
    session, moment = session_of(context), now()
    props = read(session, lambda tx: props_of(tx, name))
    scheme = scheme_of(props, preset)
    body = json.dumps({} if given is None else payload(given), ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json"}
    if scheme is not None:
        headers |= signed(session, scheme, props, body, id_ or new_id("test", moment), moment)
        headers |= placed(scheme.delivery_id, id_) | placed(scheme.event_type, event)
    status, answer = post(session, name, body, headers)
    tell(status, answer, as_json=as_json)
    raise typer.Exit(exits.OK if status < TAKEN else exits.REFUSED if status in REFUSED else exits.FAILED)


def props_of(tx: Tx, name: str) -> Mapping[str, Any]:
    """The settings of a webhook trigger, or of a source. Raises NotFound."""
    from tocsin.store import installations, registrations

    row = registrations.by_name(tx, name)
    if row is not None and row.spec.component == "webhook":
        return row.spec.props
    id_ = installations.shared(tx, name, "webhook")
    found = None if id_ is None else installations.props_of(tx, id_, "webhook")
    if found is None:
        raise NotFound(thing="webhook", name=name)
    return found


def scheme_of(props: Mapping[str, Any], preset: str | None) -> Scheme | None:
    """How to sign; None for a webhook that wants no signature."""
    from tocsin.presets import PRESETS
    from tocsin.signature import Scheme

    if preset is not None:
        return PRESETS[one_of("--preset", preset, PRESETS)]
    return None if props.get("scheme") is None else Scheme.of(props["scheme"])


def signed(
    session: Session, scheme: Scheme, props: Mapping[str, Any], body: bytes, id_: str, moment: datetime
) -> dict[str, str]:
    """The sender's headers, by the first secret. Raises SecretMissing."""
    from tocsin.clock import SystemClock
    from tocsin.engine.secret_refs import SecretRefs
    from tocsin.engine.secret_store import FileSecrets
    from tocsin.signature import sign

    connections = props.get("connections") or [{}]
    references = list(props.get("secrets") or connections[0].get("secrets") or ())
    if not references:
        bad("NAME", "it has no secret to sign with")
    refs = SecretRefs(
        store=FileSecrets(session.paths.secrets),
        environ=session.environ,
        monotonic=SystemClock().monotonic,
    )
    return sign(scheme, body, refs.values(references[:1])[0], delivery_id=id_, now=moment)


def placed(places: tuple[str, ...], value: str | None) -> dict[str, str]:
    """The header that the sender puts it in; a place in the payload is the payload's business."""
    headers = [place.removeprefix("header:") for place in places if place.startswith("header:")]
    return {headers[0]: value} if value is not None and headers else {}


def post(session: Session, name: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, Json]:
    """Status and answer of the running engine. Raises EngineUnreachable."""
    engine = engine_of(session)
    if engine is None or not engine.url:
        raise EngineUnreachable(f"no engine serves HTTP on {session.paths.home}: `tocsin up` starts one")
    path = address_of(session, name).partition("://")[2].partition("/")[2]
    url = f"{engine.url}/{path}"  # always http:, as the engine's lock tells it
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:  # noqa: S310
            return int(answer.status), json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except urllib.error.URLError as error:
        raise EngineUnreachable(f"{engine.url} does not answer: {error.reason}") from error


def tell(status: int, answer: Json, *, as_json: bool) -> None:
    if as_json:
        render.document({"status": status, "answer": answer})
        return
    render.say(f"answered {status}")
    render.document(answer)
