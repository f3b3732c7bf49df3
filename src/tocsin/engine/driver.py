"""A loop: `once(now)` says in how many seconds it wants to be called again; this calls it.

Wall time is read anew each round and no wait is longer than a second, so a suspended machine or a
moved clock is noticed within one (DESIGN section 7: no long timers).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

from tocsin.errors import StoreUnusable
from tocsin.notices import Trouble
from tocsin.seams import Announce, Clock

TICK_S: Final = 1.0

Once = Callable[[datetime], Awaitable[float]]


class Driver:
    """Drives one loop until cancelled. `wake` makes it look at once."""

    def __init__(self, name: str, once: Once, *, clock: Clock, announce: Announce) -> None:
        self.name = name
        self._once = once
        self._clock = clock
        self._announce = announce
        self._woken = asyncio.Event()
        self._ailing = False

    def wake(self) -> None:
        """Call `once` as soon as the loop is free."""
        self._woken.set()

    async def run(self) -> None:
        """The loop. A store that cannot be written is told once and tried again each tick."""
        while True:
            await pause(self._woken, await self._round())
            self._woken.clear()

    async def _round(self) -> float:
        try:
            delay = await self._once(self._clock.now())
        except StoreUnusable as error:
            if not self._ailing:
                self._announce(Trouble(where=self.name, error=str(error)))
            self._ailing = True
            return TICK_S
        self._ailing = False
        return delay


async def pause(woken: asyncio.Event, seconds: float) -> None:
    """Wait for the event, at most this long and at most one tick."""
    try:
        async with asyncio.timeout(max(0.0, min(seconds, TICK_S))):
            await woken.wait()
    except TimeoutError:
        return
