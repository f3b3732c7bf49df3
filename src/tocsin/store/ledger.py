"""Verbs of `deliveries` (what arrived) and `seen` (what counts as arrived), inside a transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tocsin.event import Occurrence
from tocsin.instants import microseconds
from tocsin.store.columns import at, dump, load
from tocsin.store.connection import Row, Tx
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the ledger knows of a hash.

    event_id: None when it never became an event. generation: how often it has counted as new.
    turn: rises with each sighting; None when its trigger did not take turns then.
    """

    event_id: str | None
    verdict: str
    generation: int
    turn: int | None


def find(tx: Tx, hash_: str) -> Seen | None:
    """None for a hash that was never seen."""
    row = tx.one("seen.find", hash=hash_)
    if row is None:
        return None
    return Seen(
        event_id=row["event_id"], verdict=row["verdict"], generation=row["generation"], turn=row["turn"]
    )


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


def forget_filtered(tx: Tx, hash_: str) -> None:
    """What was turned away counts as never seen: a person wants it after all."""
    tx.run("seen.forget_filtered", hash=hash_)


def renew(tx: Tx, hash_: str, *, event_id: str, generation: int, now: datetime) -> None:
    """A hash that was forgotten counts as new once more."""
    tx.run("seen.renew", hash=hash_, event_id=event_id, generation=generation, now=microseconds(now))


def take_turn(tx: Tx, hash_: str, *, registration_id: str) -> None:
    """From now on the most recently seen of its trigger."""
    tx.run("seen.take_turn", hash=hash_, registration_id=registration_id)


def newer(tx: Tx, turn: int, *, registration_id: str, limit: int) -> int:
    """How many of a trigger's ids were seen after this turn, at most `limit`."""
    row = tx.one("seen.newer", registration_id=registration_id, turn=turn, limit=limit)
    return 0 if row is None else int(row["newer"])


def give_turns(tx: Tx, registration_id: str, *, limit: int) -> None:
    """The most recently seen of a trigger take the highest turns, in the order in which they were seen."""
    tx.run("seen.give_turns", registration_id=registration_id, limit=limit)


def sent(tx: Tx, registration_id: str, *, limit: int) -> list[tuple[str, str]]:
    """(id, delivery id) of a trigger's last events that nobody made by hand, the latest first."""
    rows = tx.all("events.sent", registration_id=registration_id, limit=limit)
    return [(row["id"], row["delivery_id"]) for row in rows]


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
    """What arrived, as it was recorded. body: the exact bytes, None when there were none.

    pruned_at: since when both are given up, the envelope empty; None while they are there.
    """

    envelope: Mapping[str, Any]
    body: bytes | None
    pruned_at: datetime | None


def delivery_of(tx: Tx, event_id: str) -> Delivered:
    """What an event was made from. Raises LookupError when it is not there."""
    row = tx.one("deliveries.of_event", event_id=event_id)
    if row is None:
        raise LookupError(event_id)
    return Delivered(envelope=told(row), body=row["body"], pruned_at=at(row["pruned_at"]))


def envelope_of(tx: Tx, event_id: str) -> dict[str, Json]:
    """The envelope of the delivery that an event was made from; empty once it was given up."""
    row = tx.one("deliveries.of_event", event_id=event_id)
    return {} if row is None else told(row)


def told(row: Row) -> dict[str, Json]:
    """An envelope with what its event's trigger found of it; empty once it was given up."""
    found: dict[str, Json] = load(row["envelope"])
    return found | {"schema_status": row["schema_status"]} if found else found
