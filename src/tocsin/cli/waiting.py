"""Waits for an event's end, and lends it a hand when nobody runs it.

With an engine up the event's row tells. Without one, whoever gets the home's lock first runs what was
fired; the others look again and again, so that neither an engine that dies nor a `fire` that ends just
before our event was recorded leaves it lying.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tocsin.cli.exits import TimedOut
from tocsin.cli.session import Session
from tocsin.clock import SystemClock
from tocsin.daemon.lock import read_holder
from tocsin.errors import LockHeld, NotFound
from tocsin.event import UNFINISHED, Event, State
from tocsin.runs import Run

if TYPE_CHECKING:
    from tocsin.store.connection import Store, Tx

LOOK_S: Final = 0.02  # a row is read in microseconds; a person waits
LOOKS_PER_LOCK: Final = 25  # looking at the lock touches it, so it is done twice a second


class Waiter:
    """Waits for one event. limit_s: None for as long as it takes."""

    def __init__(self, session: Session, store: Store, event_id: str, *, limit_s: float | None) -> None:
        self._session = session
        self._store = store
        self._event_id = event_id
        self._clock = SystemClock()
        self._deadline = None if limit_s is None else self._clock.monotonic() + limit_s

    async def ended(self) -> Event:
        """The event once it has ended. Raises TimedOut; the event goes on then."""
        looks = 0
        while (event := await self._event()).state in UNFINISHED:
            if self._left() == 0:
                raise TimedOut(f"{event.id} has not ended in time, it is {event.state}")
            if looks % LOOKS_PER_LOCK == 0 and read_holder(self._session.paths.lock) is None:
                await self._run()
            else:
                await asyncio.sleep(LOOK_S)
            looks += 1
        return event

    async def _event(self) -> Event:
        from tocsin.store import events

        found = await self._store.read(lambda tx: events.by_id(tx, self._event_id))
        if found is None:
            raise NotFound(thing="event", name=self._event_id)
        return found

    def _left(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return None if self._deadline is None else max(0.0, self._deadline - self._clock.monotonic())

    async def _run(self) -> None:
        """Be the one who runs what was fired, no longer than there is time."""
        from tocsin.daemon.local import run_fired

        work = asyncio.create_task(
            run_fired(self._session.paths, self._event_id, environ=self._session.environ), name="fired"
        )
        try:
            await asyncio.wait({work}, timeout=self._left())
            if work.done():
                await work
        except LockHeld:
            return
        finally:
            work.cancel()
            await asyncio.wait({work})


async def until_stopped(session: Session, ids: Sequence[str]) -> list[Event]:
    """Events whose runs are being stopped, once that is done or nobody is left to do it. In this order.

    Raises NotFound, StoreUnusable.
    """
    from tocsin.store.connection import open_reader

    async with open_reader(session.paths.database) as store:
        while True:
            is_alone = read_holder(session.paths.lock) is None
            for _ in range(LOOKS_PER_LOCK):
                found = await store.read(lambda tx: [event_and_run(tx, id_)[0] for id_ in ids])
                if is_alone or all(event.state is not State.CLAIMED for event in found):
                    return found
                await asyncio.sleep(LOOK_S)


async def wait_for(session: Session, event_id: str, *, limit_s: float | None) -> tuple[Event, Run | None]:
    """An event's end and its last run. Raises TimedOut, StoreUnusable."""
    from tocsin.store.connection import open_reader

    async with open_reader(session.paths.database) as store:
        event = await Waiter(session, store, event_id, limit_s=limit_s).ended()
        return event, await store.read(lambda tx: last_run(tx, event))


def last_run(tx: Tx, event: Event) -> Run | None:
    """The run that an event names."""
    from tocsin.store import runs

    return None if event.run_id is None else runs.by_id(tx, event.run_id)


def event_and_run(tx: Tx, event_id: str) -> tuple[Event, Run | None]:
    """The event as it stands and its last run. Raises NotFound."""
    from tocsin.store import events

    event = events.by_id(tx, event_id)
    if event is None:
        raise NotFound(thing="event", name=event_id)
    return event, last_run(tx, event)
