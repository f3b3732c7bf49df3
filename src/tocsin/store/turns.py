"""Verbs of `turns` and `served`: whose turn it is. Each runs inside a transaction.

Start-time fair queueing (Goyal, Vin and Cheng, 1996) with one turn as the length of every event: a
trigger's next event stands one turn behind its last, and a trigger that had nothing to do starts at
the turn that is being served. So a burst of one trigger never stands before another's first event.
Only what is served counts: a burst that was dropped does not push its trigger back.
"""

from __future__ import annotations

from datetime import datetime

from tocsin.instants import microseconds
from tocsin.store.connection import Tx


def next_turn(tx: Tx, registration_id: str) -> int | None:
    """The turn of an event of this trigger that is claimable now; None while nobody serves its scope."""
    row = tx.one("turns.next", registration_id=registration_id)
    assert row is not None  # noqa: S101 - one row of three numbers
    return None if row["turn"] is None else int(row["turn"])


def give(tx: Tx, now: datetime) -> None:
    """Give a turn to every pending event whose time has come."""
    for row in tx.all("turns.due", now=microseconds(now)):
        tx.run("turns.give", id=row["id"], turn=next_turn(tx, row["registration_id"]))


def take_back(tx: Tx) -> None:
    """Events whose scope is not served any more are not claimable."""
    tx.run("turns.take_back")


def unserved(tx: Tx) -> int:
    """How many events wait for an engine that serves their scope; none that a pause holds."""
    row = tx.one("turns.unserved")
    return 0 if row is None else int(row["events"])


def serve(tx: Tx, registration_id: str, turn: int) -> None:
    """An event of this trigger, with this turn, is claimed."""
    tx.run("turns.serve", turn=turn)
    tx.run("turns.served", registration_id=registration_id, turn=turn)
