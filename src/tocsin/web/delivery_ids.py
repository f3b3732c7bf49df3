"""What counts as the same delivery: the sender's id where it gives one, else the body and a window.

Called by ``ingress`` for what has passed all other checks. What was accepted is in the ledger; the
memory here only remembers when a body's window began.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from tocsin.dedupe import BY_BODY, BY_HASH
from tocsin.instants import microseconds
from tocsin.keysource import value_at
from tocsin.seams import Clock
from tocsin.store import events
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Json
from tocsin.web.addresses import Source
from tocsin.web.arrival import Arrival
from tocsin.web.body import WordedFloat

MAX_ID: Final = 255  # characters; a longer id is known by its hash, so that rows and logs stay readable
MAX_BODIES: Final = 20_000  # 2000 different bodies a second for the default window, some 5 MB
MAX_RECALLED: Final = 1_000  # events of one trigger looked at after a restart
OWN_IDS: Final = frozenset({"generic", "gitlab", "standard-webhooks"})  # each sender makes its own
BODY_WINDOW_MS: Final = 10_000  # the default of `dedupe.body_window`


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryId:
    """given: the sender's id as it was; None when it gave none, so that its body stands for it."""

    id: str
    given: str | None = None

    @property
    def by_body(self) -> bool:
        """Whether the body stood for an id."""
        return self.given is None


class DeliveryIds:
    """Gives each delivery its id."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._began = clock.monotonic()
        self._windows: OrderedDict[tuple[str, str], tuple[int, float]] = OrderedDict()

    async def of(
        self, source: Source, arrival: Arrival, payload: Json, *, offered: str | None, connection: str | None
    ) -> DeliveryId:
        """offered, connection: as `given_id` takes them."""
        given = given_id(source.props, arrival, payload, offered=offered, connection=connection)
        if given is not None:
            return DeliveryId(id=shown(given), given=given)
        window = timedelta(milliseconds=settings(source.props).get("body_window_ms", BODY_WINDOW_MS))
        digest = digest_of(arrival.body, connection)
        if not window:
            return DeliveryId(id=f"{prefix(digest)}{self._now_us()}:{secrets.token_hex(4)}")
        await self._recall(source, digest, window)
        return DeliveryId(id=f"{prefix(digest)}{self._first_seen((source.installation_id, digest), window)}")

    async def _recall(self, source: Source, digest: str, window: timedelta) -> None:
        """After a restart the database remembers: a sender whose answer was lost sends again."""
        key = (source.installation_id, digest)
        is_young = self._clock.monotonic() - self._began < window.total_seconds()
        if not is_young or key in self._windows:
            return
        since = self._clock.now() - window
        first_us = await self._store.read(lambda tx: recalled(tx, source, prefix(digest), since))
        if first_us is not None:
            left = window.total_seconds() - (self._now_us() - first_us) / 1_000_000
            self._windows.setdefault(key, (first_us, self._clock.monotonic() + left))

    def _first_seen(self, key: tuple[str, str], window: timedelta) -> int:
        """When this body's window began, in µs; it begins now when there is none. Never awaits."""
        now = self._clock.monotonic()
        first_us, end = self._windows.get(key, (0, now))
        if now < end:
            return first_us
        first_us = self._now_us()
        self._windows[key] = (first_us, now + window.total_seconds())
        self._windows.move_to_end(key)
        self._forget(now)
        return first_us

    def _forget(self, now: float) -> None:
        while self._windows:
            key, (_, end) = next(iter(self._windows.items()))
            if now < end and len(self._windows) <= MAX_BODIES:
                return
            del self._windows[key]

    def _now_us(self) -> int:
        return microseconds(self._clock.now())


def recalled(tx: Tx, source: Source, start: str, since: datetime) -> int | None:
    """When the window of a body began, by the events that its triggers have of it."""
    for row in source.rows:
        for event in events.listed(tx, registration_id=row.id, state=None, since=since, limit=MAX_RECALLED):
            if event.delivery_id.startswith(start):
                return int(event.delivery_id.removeprefix(start).split(":")[0])
    return None


def settings(props: Mapping[str, Json]) -> dict[str, Any]:
    """The source's `dedupe` table, as ``config.specs`` wrote it."""
    found = props.get("dedupe")
    return dict(found) if isinstance(found, dict) else {}


def prefix(digest: str) -> str:
    """The fixed part of a body's ids."""
    return f"{BY_BODY}{digest}:"


def digest_of(body: bytes, connection: str | None) -> str:
    """Lower-case hex; the same body from another account is another thing."""
    whose = b"" if connection is None else connection.encode() + b"\0"
    return hashlib.sha256(whose + body).hexdigest()


def given_id(
    props: Mapping[str, Json],
    arrival: Arrival,
    payload: Json,
    *,
    offered: str | None,
    connection: str | None,
) -> str | None:
    """The sender's id, from the place that the source names, or else the one that is offered.

    offered: by the sender's own habit. connection: the account whose ids these are, where others that
    share the source may give the same.
    """
    header, path = settings(props).get("header"), settings(props).get("payload")
    if isinstance(header, str) and header:
        values = set(arrival.header(header))
        text = values.pop().strip() if len(values) == 1 else ""  # two different ones name nothing
    elif isinstance(path, str):
        text = id_text(value_at(payload, path))
    else:
        text = (offered or "").strip()
    if not text:
        return None
    return text if connection is None else f"{connection}:{text}"


def scope(provider: str | None, connection: str | None) -> str | None:
    """The connection, where its ids may be those of another one too."""
    return connection if provider in OWN_IDS else None


def shown(given: str) -> str:
    """The id as rows and logs have it."""
    return given if len(given) <= MAX_ID and given.isprintable() else hashed(given)


def hashed(text: str) -> str:
    return f"{BY_HASH}{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()}"


def id_text(value: Json) -> str:
    """A string as it is, a number as it is written; nothing else is an id."""
    if isinstance(value, str):
        return value
    if isinstance(value, WordedFloat):
        return value.text
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
