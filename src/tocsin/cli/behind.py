"""What an event that waits its turn in a lane waits behind: looked up when it is shown, kept nowhere."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tocsin.event import Event, State
from tocsin.instants import rfc3339

if TYPE_CHECKING:
    from tocsin.store.connection import Tx


def ahead_of(tx: Tx, event: Event) -> Event | None:
    """The event that heads its lane; None for one that does not wait behind another."""
    from tocsin.store import events, lanes

    if event.lane is None or event.state is not State.HELD or event.reason != "lane":
        return None
    head = lanes.head(tx, event.lane)
    return None if head is None else events.by_id(tx, head)


def told(head: Event, moment: datetime) -> str:
    """`evt_… of r1: pending (max_runs_per_hour) until 2026-01-31T09:00:00Z`."""
    reason = f" ({head.reason})" if head.reason else ""
    due = head.next_fire_at
    until = f" until {rfc3339(due)}" if head.state is State.PENDING and due and due > moment else ""
    return f"{head.id} of {head.registration}: {head.state}{reason}{until}"
