"""Verbs of `deliveries` (what arrived) and `seen` (what counts as arrived), inside a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tocsin.event import Occurrence
from tocsin.instants import microseconds
from tocsin.registration import Json
from tocsin.store.connection import Tx
from tocsin.store.rows import dump, load


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the ledger knows of a hash. event_id: None when it never became an event."""

    event_id: str | None
    verdict: str


def find(tx: Tx, hash_: str) -> Seen | None:
    """None for a hash that was never seen."""
    row = tx.one("seen.find", hash=hash_)
    return None if row is None else Seen(event_id=row["event_id"], verdict=row["verdict"])


def remember(
    tx: Tx, hash_: str, *, registration_id: str, event_id: str | None, verdict: str, now: datetime
) -> None:
    """A hash seen for the first time. Raises sqlite3.IntegrityError when it was there."""
    tx.run(
        "seen.insert",
        hash=hash_,
        registration_id=registration_id,
        event_id=event_id,
        verdict=verdict,
        now=microseconds(now),
    )


def touch(tx: Tx, hash_: str, now: datetime) -> None:
    """Seen again: its age starts anew."""
    tx.run("seen.touch", hash=hash_, now=microseconds(now))


def deliver(
    tx: Tx,
    id_: str,
    occurrence: Occurrence,
    *,
    installation_id: str,
    envelope: Mapping[str, Json],
    now: datetime,
) -> None:
    """Record one thing that arrived, with its exact bytes."""
    tx.run(
        "deliveries.insert",
        id=id_,
        installation_id=installation_id,
        kind=occurrence.kind,
        delivery_id=occurrence.delivery_id,
        body=occurrence.body,
        envelope=dump(envelope),
        received_at=microseconds(now),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What arrived, as it was recorded. body: the exact bytes, None when there were none."""

    envelope: Mapping[str, Any]
    body: bytes | None


def delivery_of(tx: Tx, event_id: str) -> Delivered:
    """What an event was made from. Raises LookupError when it is not there."""
    row = tx.one("deliveries.of_event", event_id=event_id)
    if row is None:
        raise LookupError(event_id)
    return Delivered(envelope=load(row["envelope"]), body=row["body"])


def envelope_of(tx: Tx, event_id: str) -> dict[str, Json]:
    """The envelope of the delivery that an event was made from."""
    row = tx.one("deliveries.of_event", event_id=event_id)
    found: dict[str, Json] = {} if row is None else load(row["envelope"])
    return found
