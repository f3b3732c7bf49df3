"""Verbs of `journal` (why things are as they are), `meta` and `tokens`. Each runs inside a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tocsin.instants import instant, microseconds
from tocsin.store.columns import dump, load
from tocsin.store.connection import Row, Tx
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing worth explaining."""

    at: datetime
    what: str
    reason: str | None
    detail: Json


def write(
    tx: Tx,
    what: str,
    *,
    now: datetime,
    registration_id: str | None = None,
    event_id: str | None = None,
    reason: str | None = None,
    detail: Json = None,
) -> None:
    """Add an entry."""
    tx.run(
        "journal.insert",
        at=microseconds(now),
        registration_id=registration_id,
        event_id=event_id,
        what=what,
        reason=reason,
        detail=None if detail is None else dump(detail),
    )


def of_event(tx: Tx, event_id: str) -> list[Entry]:
    """An event's entries, oldest first."""
    return [entry_of(row) for row in tx.all("journal.of_event", event_id=event_id)]


def last_disarmed(tx: Tx, registration_id: str) -> Entry | None:
    """When and why a trigger was last turned off; None when it never was, or too long ago."""
    row = tx.one("journal.last_disarmed", registration_id=registration_id)
    return None if row is None else entry_of(row)


def entry_of(row: Row) -> Entry:
    return Entry(at=instant(row["at"]), what=row["what"], reason=row["reason"], detail=load(row["detail"]))


def put_fact(tx: Tx, key: str, value: Json) -> None:
    """Remember one fact about this home."""
    tx.run("meta.put", key=key, value=dump(value))


def fact(tx: Tx, key: str) -> Json:
    """A fact about this home; None when it was never put."""
    row = tx.one("meta.get", key=key)
    found: Json = None if row is None else load(row["value"])
    return found


def put_token(tx: Tx, hash_: str, *, registration_id: str, now: datetime) -> None:
    """The one token of a trigger; an earlier one is void."""
    tx.run("tokens.put", hash=hash_, registration_id=registration_id, now=microseconds(now))


def token_of(tx: Tx, registration_id: str) -> str | None:
    """The hash of a trigger's token."""
    row = tx.one("tokens.of_registration", registration_id=registration_id)
    return None if row is None else str(row["hash"])
