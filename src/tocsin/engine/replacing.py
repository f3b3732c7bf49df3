"""`overlap = "replace"`: the newest event takes the place of what its trigger still has in the lane.

Others that share the lane (a `serialize_key` of several triggers) keep their places.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Final

from tocsin.event import State
from tocsin.notices import EventDropped, StopAsked
from tocsin.registration import Registration
from tocsin.seams import Announce
from tocsin.store import events, journal, lanes, second_thoughts
from tocsin.store.connection import Tx

REPLACED: Final = "replaced"


def make_way(
    tx: Tx, registration: Registration, lane: str, *, stop: bool, now: datetime, announce: Announce
) -> None:
    """Drop what waits in the lane of this trigger, and have stopped what runs; that ends before the next.

    stop: False lets what runs go on, for nothing follows it yet.
    """
    name = registration.spec.name
    for id_, state in lanes.members(tx, lane, registration.id):
        if state is not State.CLAIMED:
            events.drop(tx, id_, REPLACED, now)
            tx.after_commit(partial(announce, EventDropped(event_id=id_, registration=name, reason=REPLACED)))
        elif stop and second_thoughts.request_cancel(tx, id_, REPLACED, now):
            tx.after_commit(partial(announce, StopAsked(event_id=id_, registration=name, reason=REPLACED)))
        else:
            continue
        journal.write(
            tx, REPLACED, registration_id=registration.id, event_id=id_, reason="a newer one came", now=now
        )
    lanes.promote(tx, lane, now)
