"""Waits with a caller for the end of what it has set off. Nobody who hangs up cancels anything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from tocsin.errors import StoreUnusable
from tocsin.event import UNFINISHED
from tocsin.notices import Notice
from tocsin.store.connection import Store
from tocsin.trigger import Json
from tocsin.web.status import event_document

LOOK_S: Final = 1.0  # for what no notice tells of: a caller that has gone, an engine about to stop


class Waiting:
    """Callers that wait. `hear` every notice."""

    def __init__(self, store: Store, *, is_accepting: Callable[[], bool]) -> None:
        self._store = store
        self._is_accepting = is_accepting
        self._bells: dict[str, set[asyncio.Event]] = {}

    def hear(self, notice: Notice) -> None:
        """Wake who waits for this event."""
        for bell in self._bells.get(str(getattr(notice, "event_id", None)), ()):
            bell.set()

    async def ends(
        self, event_ids: Sequence[str], *, seconds: float, is_there: Callable[[], bool]
    ) -> list[dict[str, Json]] | None:
        """How these events ended, in order; None when they have not in time.

        Also when nobody is there any more to be told, and when the engine is about to stop: what runs
        then may go on in the next one.
        """
        bell = asyncio.Event()
        for id_ in event_ids:
            self._bells.setdefault(id_, set()).add(bell)
        try:
            async with asyncio.timeout(seconds):
                return await self._watch(event_ids, bell, is_there)
        except (TimeoutError, StoreUnusable):  # recorded it is, all the same
            return None
        finally:
            for id_ in event_ids:
                self._forget(id_, bell)

    async def _watch(
        self, event_ids: Sequence[str], bell: asyncio.Event, is_there: Callable[[], bool]
    ) -> list[dict[str, Json]] | None:
        while True:
            bell.clear()
            found = await self._look(event_ids)
            if found is not None or not is_there() or not self._is_accepting():
                return found
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await bell.wait()

    async def _look(self, event_ids: Sequence[str]) -> list[dict[str, Json]] | None:
        found = await self._store.read(lambda tx: [event_document(tx, id_) for id_ in event_ids])
        ended = [one for one in found if one is not None and one["state"] not in UNFINISHED]
        return ended if len(ended) == len(event_ids) else None

    def _forget(self, id_: str, bell: asyncio.Event) -> None:
        bells = self._bells.get(id_, set())
        bells.discard(bell)
        if not bells:
            self._bells.pop(id_, None)
