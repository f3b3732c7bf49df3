"""`rebind`: a person confirms that triggers go on with another version of their component."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tocsin.engine import drift
from tocsin.engine.choosing import selected
from tocsin.seams import Clock
from tocsin.store.connection import Store, Tx


class Rebinding:
    """The verb. changed: called after a commit; the loops look at what may fire again."""

    def __init__(self, *, store: Store, clock: Clock, changed: Callable[[], None]) -> None:
        self._store = store
        self._clock = clock
        self._changed = changed

    async def rebind(self, names: Sequence[str], *, tag: str | None) -> list[str]:
        """Names of those that were bound anew; one that had not drifted stays as it is.

        Raises NotFound, and Refused for a component that this tocsin does not have.
        """
        now = self._clock.now()

        def step(tx: Tx) -> list[str]:
            return [row.spec.name for row in selected(tx, names, tag) if drift.confirm(tx, row, now)]

        done = await self._store.write(step)
        self._changed()
        return done
