"""Events as they come: each when it is recorded, and again whenever it has moved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tocsin.cli.session import Session
from tocsin.event import UNFINISHED, Event, State

if TYPE_CHECKING:
    from tocsin.store.connection import Tx

LOOK_S: Final = 0.1
AT_ONCE: Final = 500  # rows to a look; the next look takes the rest


class Follower:
    """Remembers what was told. registration_id, state: tell only of these."""

    def __init__(self, *, registration_id: str | None, state: State | None) -> None:
        self._registration_id = registration_id
        self._state = state
        self._seq = 0
        self._open: dict[str, Event] = {}

    def start(self, tx: Tx, limit: int) -> list[Event]:
        """The latest events so far, oldest first; what comes after them is fresh."""
        from tocsin.store import events

        shown = events.listed(tx, registration_id=self._registration_id, state=None, since=None, limit=limit)
        latest = events.listed(tx, registration_id=None, state=None, since=None, limit=1)
        self._seq = latest[0].seq if latest else 0
        return self._told(reversed_list(shown))

    def fresh(self, tx: Tx) -> list[Event]:
        """What moved since the last look, then what is new, each as it is now."""
        from tocsin.store import events

        now = (events.by_id(tx, id_) for id_ in list(self._open))
        moved = [event for event in now if event is not None and event != self._open[event.id]]
        new = events.after(tx, self._seq, registration_id=self._registration_id, state=None, limit=AT_ONCE)
        self._seq = new[-1].seq if new else self._seq
        return self._told(moved + new)

    def _told(self, found: list[Event]) -> list[Event]:
        """Those that are asked for; the unfinished are looked at again."""
        for event in found:
            if event.state in UNFINISHED:
                self._open[event.id] = event
            else:
                self._open.pop(event.id, None)
        return [event for event in found if self._state in (None, event.state)]


def reversed_list(events: list[Event]) -> list[Event]:
    return events[::-1]


async def follow(session: Session, follower: Follower, *, limit: int, tell: Callable[[Event], None]) -> None:
    """Tell of events until cancelled. Raises StoreUnusable."""
    from tocsin.store.connection import open_reader

    async with open_reader(session.paths.database) as store:
        found = await store.read(lambda tx: follower.start(tx, limit))
        while True:
            for event in found:
                tell(event)
            await asyncio.sleep(LOOK_S)
            found = await store.read(follower.fresh)
