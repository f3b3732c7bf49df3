"""Whether a clock may be believed that says that months have gone by.

A clock that was set forward by accident must not erase a history. A laptop that lay in a drawer looks
the same from inside; so a leap is believed when the clock still says so a day later, across restarts.
Asked by ``retention`` before each look, inside a transaction.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final

from tocsin.instants import instant, microseconds
from tocsin.store import journal
from tocsin.store.connection import Tx

JUMP: Final = timedelta(days=7)  # shorter ones erase at most what had a week to live
DOUBT: Final = timedelta(days=1)  # somebody notices a wrong clock within a day
FACT: Final = "retention clock"


def believes(tx: Tx, now: datetime) -> bool:
    """Whether `now` is to be acted on; what was seen is remembered for the next time."""
    seen: Any = journal.fact(tx, FACT) or {}
    looked, doubted = seen.get("looked_at"), seen.get("doubted_at")
    if looked is None or now - instant(looked) < JUMP or is_borne_out(doubted, now):
        journal.put_fact(tx, FACT, {"looked_at": microseconds(now)})
        return True
    if doubted is None or instant(doubted) > now:
        doubted = microseconds(now)
    journal.put_fact(tx, FACT, {"looked_at": looked, "doubted_at": doubted})
    return False


def is_borne_out(doubted: int | None, now: datetime) -> bool:
    """Whether a day has gone by since the leap was first seen."""
    return doubted is not None and now - instant(doubted) >= DOUBT
