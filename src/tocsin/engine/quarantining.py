"""What was kept instead of becoming an event, and what a person decides about it."""

from __future__ import annotations

from functools import partial

from tocsin.notices import DeliveryQuarantined
from tocsin.quarantine import Stray
from tocsin.seams import Announce, Clock
from tocsin.store import quarantine
from tocsin.store.connection import Store, Tx


class Quarantine:
    """The verbs."""

    def __init__(self, *, store: Store, clock: Clock, announce: Announce) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce

    async def keep(self, stray: Stray) -> str:
        """Keep what cannot become an event; its id, after the commit.

        Bounded: a body beyond the cap is cut off, and the oldest of the same reason gives way.
        """
        now = self._clock.now()

        def step(tx: Tx) -> str:
            id_ = quarantine.put(tx, stray, now)
            notice = DeliveryQuarantined(quarantine_id=id_, reason=stray.reason, route=stray.route)
            tx.after_commit(partial(self._announce, notice))
            return id_

        return await self._store.write(step)
