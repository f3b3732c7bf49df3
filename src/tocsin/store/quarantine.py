"""Verbs of the `quarantine` table. Each runs inside a transaction.

What is kept is bounded in size, count and room, so that a stranger cannot fill the disk: the oldest
of the same reason gives way. How often that happened is a fact of the home (`GIVEN_WAY`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from tocsin.identity import QUARANTINE, new_id
from tocsin.instants import instant, microseconds
from tocsin.quarantine import Kept, Reason, Standing, Stray
from tocsin.store import journal
from tocsin.store.columns import at, dump, load
from tocsin.store.connection import Row, Tx
from tocsin.store.events import HIGHEST
from tocsin.trigger import Json, Kind

KIB: Final = 1024
UNVERIFIED_BYTES: Final = 64 * KIB  # of a body that anybody may have sent
WHOLE_BYTES: Final = 1024 * KIB  # of any other
UNVERIFIED: Final = 1_000  # of one source
ALL: Final = 10_000
ALL_BYTES: Final = 256 * 1024 * KIB  # a home's disk has room for that, and a person for no more
GIVEN_WAY: Final = "quarantine_given_way"


def put(tx: Tx, stray: Stray, now: datetime) -> str:
    """Keep it, as far as the caps go. The id; that of the one which waits already for the same delivery."""
    same = found_again(tx, stray)
    if same is not None:
        return same
    id_ = new_id(QUARANTINE, now)
    tx.run("quarantine.insert", id=id_, **columns(stray, id_, now))
    make_room(tx, stray)
    return id_


def found_again(tx: Tx, stray: Stray) -> str | None:
    """Only for what is known to be one trigger's: who cannot be verified may lie about an id."""
    if stray.registration_id is None or stray.reason is Reason.FAILED_VERIFICATION:
        return None
    row = tx.one(
        "quarantine.same",
        registration_id=stray.registration_id,
        delivery_id=stray.delivery_id,
        reason=stray.reason,
    )
    return None if row is None else str(row["id"])


def columns(stray: Stray, id_: str, now: datetime) -> dict[str, Any]:
    """Body and payload up to the cap of the reason; of a longer body its beginning."""
    cap = UNVERIFIED_BYTES if stray.reason is Reason.FAILED_VERIFICATION else WHOLE_BYTES
    payload = None if stray.payload is None else dump(stray.payload)
    size = max(len(stray.body or b""), len(payload or ""))
    truncated = size > cap
    body = None if stray.body is None else stray.body[:cap]
    payload = None if truncated else payload
    return {
        "received_at": microseconds(now),
        "route": stray.route,
        "reason": stray.reason,
        "detail": stray.detail,
        "provider": stray.provider,
        "connection": stray.connection,
        "installation_id": stray.installation_id,
        "registration_id": stray.registration_id,
        "kind": stray.kind,
        "event_type": stray.event_type,
        "delivery_id": stray.delivery_id or id_,
        "given_id": stray.given_id,
        "occurred_at": microseconds(stray.occurred_at or now),
        "safe_headers": dump(dict(stray.headers)),
        "safe_query": dump(dict(stray.query)),
        "payload": payload,
        "body": body,
        "size": size,
        "stored": len(body or b"") + len(payload or ""),
        "truncated": int(truncated),
    }


def make_room(tx: Tx, stray: Stray) -> None:
    """What came before gives way."""
    reason, source = stray.reason, stray.installation_id
    gone: list[Row] = []
    if reason is Reason.FAILED_VERIFICATION and of_reason(tx, stray) > UNVERIFIED:
        gone += tx.all("quarantine.give_way_for_source", reason=reason, installation_id=source)
    while is_full(tx):
        gone += tx.all("quarantine.give_way", reason=reason)
    for row in gone:
        note_given_way(tx, row["reason"])


def of_reason(tx: Tx, stray: Stray) -> int:
    row = tx.one("quarantine.of_reason", reason=stray.reason, installation_id=stray.installation_id)
    return 0 if row is None else int(row["kept"])


def is_full(tx: Tx) -> bool:
    """Whether there are too many, or they take too much room."""
    row = tx.one("quarantine.sizes")
    return row is not None and (int(row["kept"]) > ALL or int(row["stored"]) > ALL_BYTES)


def note_given_way(tx: Tx, reason: str) -> None:
    """One number for each reason: a line for each would be what a stranger could fill the disk with."""
    told = given_way(tx)
    journal.put_fact(tx, GIVEN_WAY, {**told, reason: told.get(reason, 0) + 1})


def given_way(tx: Tx) -> dict[str, int]:
    """How many of each reason gave way to later ones, ever."""
    found: Any = journal.fact(tx, GIVEN_WAY)
    return found or {}


def by_id(tx: Tx, id_: str) -> Kept | None:
    """One of them, whole."""
    row = tx.one("quarantine.by_id", id=id_)
    return None if row is None else kept_of(row)


def by_prefix(tx: Tx, prefix: str) -> list[Kept]:
    """None, one, or two that the prefix fits; two mean it is ambiguous."""
    return [kept_of(row) for row in tx.all("quarantine.by_prefix", prefix=prefix, beyond=prefix + HIGHEST)]


def listed(tx: Tx, *, standing: Standing | None, reason: Reason | None, limit: int) -> list[Kept]:
    """Newest first, without body and payload."""
    return [kept_of(row) for row in tx.all("quarantine.listed", state=standing, reason=reason, limit=limit)]


def waiting(tx: Tx) -> int:
    """How many wait for a person."""
    row = tx.one("quarantine.waiting")
    return 0 if row is None else int(row["waiting"])


def waiting_ids(tx: Tx) -> list[str]:
    """Those that wait, the oldest first."""
    return [row["id"] for row in tx.all("quarantine.waiting_ids")]


def settle(tx: Tx, id_: str, standing: Standing, now: datetime, *, events: tuple[str, ...] = ()) -> bool:
    """Replayed or dropped; False when it does not wait any more."""
    made = dump(list(events))
    return tx.run("quarantine.settle", id=id_, state=standing, events=made, now=microseconds(now)) == 1


def kept_of(row: Row) -> Kept:
    """A row with the name of its trigger."""
    payload: Json = load(row["payload"])
    stray = Stray(
        route=row["route"],
        reason=Reason(row["reason"]),
        detail=row["detail"],
        provider=row["provider"],
        connection=row["connection"],
        installation_id=row["installation_id"],
        registration_id=row["registration_id"],
        kind=Kind(row["kind"]),
        event_type=row["event_type"],
        delivery_id=row["delivery_id"],
        given_id=row["given_id"],
        occurred_at=instant(row["occurred_at"]),
        headers=load(row["safe_headers"]),
        query=load(row["safe_query"]),
        payload=payload,
        body=row["body"],
    )
    return Kept(
        id=row["id"],
        received_at=instant(row["received_at"]),
        stray=stray,
        registration=row["registration"],
        size=row["size"],
        truncated=bool(row["truncated"]),
        standing=Standing(row["state"]),
        events=tuple(load(row["events"])),
        settled_at=at(row["settled_at"]),
    )
