"""A real engine without its loops behind a real server: database, door, verbs, sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fakes import FakeClock, Notices
from tocsin.engine.accept import Acceptor
from tocsin.engine.applying import Applier, secret_name
from tocsin.engine.claims import Claims
from tocsin.engine.controls import Controls
from tocsin.engine.retention import Keeper
from tocsin.engine.secret_refs import SecretRefs
from tocsin.engine.secret_store import FileSecrets
from tocsin.event import Answer, Event, Limited, Occurrence
from tocsin.quarantine import Kept
from tocsin.registration import RowOrigin
from tocsin.seams import Accept
from tocsin.settings import MIB, EngineSettings, Workflow
from tocsin.store import events, ledger, quarantine, registrations, workflows
from tocsin.store.connection import Store, Tx, open_store
from tocsin.trigger import Json, Kind, Overlap, Rate, TriggerSpec
from tocsin.web.app import Limits, WebContext
from tocsin.web.serve import Server

API_TOKEN = "the-token-of-the-api"
DEADLINE_S = 10.0  # for what takes milliseconds
PROPS = (
    *("mode", "auth", "scheme", "secrets", "events", "body_limit", "rate"),
    *("provider", "connections", "normalize"),
)
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """An answer as it came over the wire. Header names in lower case."""

    status: int
    headers: Mapping[str, str]
    document: dict[str, Any]

    @property
    def error(self) -> tuple[int, Any]:
        """Status and code of a refusal, whose body has exactly the two keys."""
        assert set(self.document) == {"error", "message"}, self.document
        return self.status, self.document["error"]


@dataclass(kw_only=True)
class Rig:
    """What a test holds of the engine and its server."""

    home: Path
    store: Store
    clock: FakeClock
    notices: Notices
    secrets: FileSecrets
    controls: Controls
    is_accepting: bool = True
    stops: list[bool] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    url: str | None = None

    @property
    def references(self) -> SecretRefs:
        """Secrets by reference; `environ` stands for the engine's own."""
        return SecretRefs(store=self.secrets, environ=self.environ, monotonic=self.clock.monotonic)

    @property
    def port(self) -> int:
        assert self.url is not None
        return int(self.url.rpartition(":")[2])

    @property
    def socket(self) -> Path:
        return self.home / "run" / "tocsin.sock"

    async def signed(self, scheme: Json, secrets: list[str], **props: Any) -> str:
        """A signed webhook trigger's path."""
        return await self.hook(auth="signed", scheme=scheme, secrets=secrets, **props)

    async def hook(self, name: str = "hook", **changes: Any) -> str:
        """A webhook trigger's path. changes: props (`PROPS`, dedupe) and fields of the spec."""
        id_ = await self.add(webhook_spec(name, changes))
        return f"/api/triggers/{self.secrets.get(secret_name(id_))}"

    async def instance(self, source: str = "partner", *names: str, **changes: Any) -> str:
        """The path of a source that feeds triggers of these names, all alike."""
        for name in names or ("hook",):
            id_ = await self.add(webhook_spec(name, {"mode": "instance", "source": source} | changes))
        row = await self.store.read(lambda tx: registrations.by_id(tx, id_))
        assert row is not None
        return f"/trigger/instance/{row.installation_id}"

    async def shared(self, provider: str, *names: str, source: str = "shop", **changes: Any) -> str:
        """The path of a provider whose source feeds triggers of these names, all alike."""
        for name in names or ("hook",):
            fields = {"mode": "shared", "auth": "signed", "source": source, "provider": provider}
            await self.add(webhook_spec(name, fields | changes))
        return f"/app-webhook/{provider}"

    async def add(self, spec: TriggerSpec) -> str:
        """A new trigger's id."""
        applier = Applier(announce=self.notices, secrets=self.secrets)

        def step(tx: Tx) -> str:
            versions = {"w": workflows.put(tx, Workflow(name="w", command=("true",)), self.clock.now())}
            return applier.add(tx, spec, versions, origin=RowOrigin.CLI, now=self.clock.now())

        return await self.store.write(step)

    async def post(self, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Reply:
        """POST with a Content-Length."""
        return await self.send(request("POST", path, body, headers))

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> Reply:
        """GET."""
        return await self.send(request("GET", path, None, headers))

    async def send(self, *parts: bytes, over: Path | None = None) -> Reply:
        """Bytes over a connection of their own, and the one answer to them."""
        return parsed(await self.exchange(*parts, over=over))

    async def exchange(self, *parts: bytes, over: Path | None = None, ends: bool = False) -> bytes:
        """Send the parts, each by itself; read until the server closes. ends: close our side first."""
        reader, writer = await self.connect(over)
        try:
            async with asyncio.timeout(DEADLINE_S):
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                if ends:
                    writer.write_eof()
                return await reader.read()
        finally:
            await closed(writer)

    async def connect(self, over: Path | None = None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection of one's own."""
        if over is not None:
            return await asyncio.open_unix_connection(over)
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def events(self) -> list[Event]:
        """All events, newest first."""
        return await self.store.read(
            lambda tx: events.listed(tx, registration_id=None, state=None, since=None, limit=1000)
        )

    async def strays(self) -> list[Kept]:
        """What is in the quarantine, newest first."""
        return await self.store.read(lambda tx: quarantine.listed(tx, standing=None, reason=None, limit=1000))

    async def envelope(self, event_id: str) -> dict[str, Any]:
        """What is stored of an event's delivery."""
        return dict(await self.store.read(lambda tx: ledger.envelope_of(tx, event_id)))

    async def payload(self, reply: Reply) -> Any:
        """The payload stored for what was just accepted."""
        assert reply.status == 202, reply
        return (await self.envelope(reply.document["event_id"]))["raw_payload"]

    async def body(self, reply: Reply) -> bytes | None:
        """The exact bytes stored for what was just accepted."""
        query = (
            "SELECT body FROM deliveries JOIN events ON events.delivery = deliveries.id WHERE events.id = ?"
        )
        id_ = reply.document["event_id"]
        row = await self.store.read(lambda tx: tx._connection.execute(query, (id_,)).fetchone())
        stored: bytes | None = row["body"]
        return stored


class OpenedLater:
    """A real door whose clock and notices are the rig's."""

    def __init__(self, claims: Claims) -> None:
        self.claims = claims
        self.acceptor: Acceptor | None = None

    async def accept(self, occurrence: Occurrence) -> Answer:
        assert self.acceptor is not None
        return await self.acceptor.accept(occurrence)

    async def accept_all(
        self, occurrences: Sequence[Occurrence], *, rate: Rate | None = None
    ) -> Sequence[Answer] | Limited:
        assert self.acceptor is not None
        return await self.acceptor.accept_all(occurrences, rate=rate)


def webhook_spec(name: str, changes: Mapping[str, Any]) -> TriggerSpec:
    """A webhook trigger as `config` would write it."""
    fields = dict(changes)
    dedupe = {"header": None, "payload": None, "body_window_ms": 10_000} | fields.pop("dedupe", {})
    props = {"auth": "token", "body_limit": MIB, "dedupe": dedupe}
    props |= {key: fields.pop(key) for key in PROPS if key in fields}
    plain: dict[str, Any] = {"kind": Kind.WEBHOOK, "component": "webhook", "overlap": Overlap.ALLOW}
    return TriggerSpec(name=name, workflow="w", props=props, **(plain | fields))


def request(method: str, path: str, body: bytes | None, headers: Mapping[str, str] | None = None) -> bytes:
    """An HTTP/1.1 request; a header given as "" is left out."""
    own = {"Host": "127.0.0.1", "Connection": "close"}
    if body is not None:
        own["Content-Length"] = str(len(body))
    lines = [f"{name}: {value}" for name, value in (own | dict(headers or {})).items() if value != ""]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""]).encode("latin-1") + (body or b"")


def parsed(answer: bytes) -> Reply:
    """The one answer in what the server sent."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Reply(status=int(first.split()[1]), headers=headers, document=json.loads(body) if body else {})


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close our side; that the other one was first is no news."""
    writer.close()
    try:
        await writer.wait_closed()
    except ConnectionError:
        return


@asynccontextmanager
async def open_rig(
    home: Path,
    *,
    limits: Limits | None = None,
    settings: EngineSettings | None = None,
    api_token: str = API_TOKEN,
    accept: Accept | None = None,
) -> AsyncIterator[Rig]:
    """An engine's parts and a server on a free port, all closed afterwards. accept: another door."""
    settings = settings or EngineSettings()
    async with open_store(home / "tocsin.db") as store:
        rig, acceptor = furnished(home, store, settings)
        context = WebContext(
            store=store,
            accept=accept or acceptor,
            controls=rig.controls,
            clock=rig.clock,
            settings=settings,
            api_token=api_token,
            is_accepting=lambda: rig.is_accepting,
            request_stop=rig.stops.append,
            secrets=rig.references,
            health=health,
            listen=rig.notices.listeners.append,
        )
        server = Server(context, limits)
        try:
            rig.url = await server.start("127.0.0.1", 0, rig.socket, http=True)
            yield rig
        finally:
            await server.stop()


def health() -> Mapping[str, Json]:
    return {"version": "0"}


def furnished(home: Path, store: Store, settings: EngineSettings) -> tuple[Rig, Acceptor]:
    clock, notices, secrets = FakeClock(), Notices(), FileSecrets(home / "secrets.toml")
    claims = Claims(owner="own_test", settings=settings, logs=home, announce=notices)
    acceptor = Acceptor(store=store, clock=clock, announce=notices, claims=claims)
    controls = Controls(
        store=store,
        clock=clock,
        announce=notices,
        acceptor=acceptor,
        secrets=secrets,
        config=home / "tocsin.toml",
        home=home,
        system_tz=lambda: "UTC",
        changed=lambda _: None,
        keeper=Keeper(store=store, clock=clock, announce=notices, logs=home / "logs"),
    )
    rig = Rig(home=home, store=store, clock=clock, notices=notices, secrets=secrets, controls=controls)
    return rig, acceptor


async def registration_id(rig: Rig, name: str = "hook") -> str:
    """The id of a present trigger."""
    rows = await rig.store.read(registrations.present)
    return next(row.id for row in rows if row.spec.name == name)
