"""Verbs about events that a trigger's own run may have brought about. Each runs inside a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tocsin.instants import instant, microseconds
from tocsin.store.connection import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """The run during which the event's file changed, and when."""

    run_id: str
    changed_at: datetime


def put(tx: Tx, event_id: str, run_id: str, changed_at: datetime) -> None:
    """Remember the suspicion."""
    tx.run("suspects.put", event_id=event_id, run_id=run_id, changed_at=microseconds(changed_at))


def of_event(tx: Tx, event_id: str) -> Suspect | None:
    """None for an event beyond suspicion."""
    row = tx.one("suspects.of_event", event_id=event_id)
    if row is None or row["suspect_run"] is None:
        return None
    return Suspect(run_id=row["suspect_run"], changed_at=instant(row["changed_at"]))
