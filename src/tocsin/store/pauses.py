"""Verbs of `registrations` and `events` about pauses. Each runs inside a transaction.

Called by ``engine.pausing`` and ``engine.clockwork``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tocsin.instants import instant, microseconds
from tocsin.registration import Registration
from tocsin.store.columns import at_us
from tocsin.store.connection import Tx
from tocsin.store.rows import registration_of


def begin(tx: Tx, registration_id: str, *, until: datetime | None, now: datetime) -> None:
    """Pause a trigger, or move the end of its pause; None means until it is resumed."""
    tx.run("pauses.begin", id=registration_id, until=at_us(until), now=microseconds(now))


def end(tx: Tx, registration_id: str) -> bool:
    """End a trigger's pause; False when there was none."""
    return tx.run("pauses.end", id=registration_id) == 1


def next_end(tx: Tx) -> datetime | None:
    """The earliest end of all pauses; None when none ends by itself."""
    row = tx.one("pauses.next_end")
    return None if row is None or row["paused_until"] is None else instant(row["paused_until"])


def over(tx: Tx, now: datetime) -> Sequence[Registration]:
    """Triggers whose pause is over by itself and that nobody has resumed yet, the first to end first."""
    return [registration_of(row) for row in tx.all("pauses.over", now=microseconds(now))]


def hold(tx: Tx, registration_id: str) -> Sequence[tuple[str, str | None]]:
    """Hold a trigger's waiting events; (id, lane) of each. Waits of their own go on."""
    return [(row["id"], row["lane"]) for row in tx.all("pauses.hold", registration_id=registration_id)]


def release(tx: Tx, registration_id: str, now: datetime) -> Sequence[tuple[str, str | None]]:
    """Let go what a pause held; (id, lane) of each. Those with a lane wait in it to be promoted."""
    rows = tx.all("pauses.release", registration_id=registration_id, now=microseconds(now))
    return [(row["id"], row["lane"]) for row in rows]


def held(tx: Tx, now: datetime) -> int:
    """How many events wait for the end of a pause that goes on."""
    row = tx.one("pauses.held", now=microseconds(now))
    return 0 if row is None else int(row["events"])
