"""The verbs `pause`, `resume` and `panic`.

Nothing is stopped from here, as in ``second_thoughts``: that a run is to be stopped is written into its
event's row, for whoever runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from tocsin.engine.choosing import selected
from tocsin.engine.pausing import pause, resume, resume_over
from tocsin.errors import BadRequest
from tocsin.instants import rfc3339
from tocsin.notices import StopAsked
from tocsin.registration import Registration
from tocsin.seams import Announce, Clock
from tocsin.store import events, journal, pauses, registrations, second_thoughts
from tocsin.store.connection import Store, Tx

BY_HAND: Final = "by hand"
PANIC: Final = "panic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panicked:
    """What a panic did. paused: how many triggers. stopping: events whose runs are being stopped."""

    paused: int
    stopping: Sequence[str]


class Pauses:
    """The verbs. changed: called after a commit; whoever watches, plans and runs looks again then."""

    def __init__(
        self, *, store: Store, clock: Clock, announce: Announce, changed: Callable[[], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._changed = changed

    async def pause(
        self, names: Sequence[str], *, tag: str | None, everything: bool, until: datetime | None
    ) -> list[str]:
        """Pause triggers, switched off ones too. Returns their names.

        until: None until they are resumed. Raises NotFound, and BadRequest for an end that is past.
        """
        now = self._clock.now()
        if until is not None and until <= now:
            raise BadRequest(f"until: {rfc3339(until)} is past; expected a time to come")

        def step(tx: Tx) -> list[str]:
            rows = chosen(tx, names, tag, everything=everything)
            for row in rows:
                pause(tx, row, until=until, why=BY_HAND, now=now, announce=self._announce)
            return [row.spec.name for row in rows]

        done = await self._store.write(step)
        self._changed()
        return done

    async def resume(self, names: Sequence[str], *, tag: str | None, everything: bool) -> list[str]:
        """Let triggers go on. Returns the names of those that were paused. Raises NotFound."""
        now = self._clock.now()

        def step(tx: Tx) -> list[str]:
            rows = chosen(tx, names, tag, everything=everything)
            return [
                row.spec.name
                for row in rows
                if resume(tx, row, why=BY_HAND, now=now, announce=self._announce)
            ]

        done = await self._store.write(step)
        self._changed()
        return done

    async def panic(self) -> Panicked:
        """Pause every trigger until it is resumed, and have every run stopped."""
        now = self._clock.now()

        def step(tx: Tx) -> Panicked:
            rows = registrations.present(tx)
            for row in rows:
                pause(tx, row, until=None, why=PANIC, now=now, announce=self._announce)
            return Panicked(paused=len(rows), stopping=self._stop_all(tx, now))

        done = await self._store.write(step)
        self._changed()
        return done

    async def end_over(self) -> None:
        """Let go on whose pause has ended by itself: with no engine nobody else sees to that."""
        now = self._clock.now()
        if await self._store.read(lambda tx: pauses.over(tx, now)):
            await self._store.write(lambda tx: resume_over(tx, now, announce=self._announce))

    def _stop_all(self, tx: Tx, now: datetime) -> list[str]:
        """Every event with a run under way; each is asked to stop once."""
        claims = events.claims(tx)
        for claim in claims:
            if second_thoughts.request_cancel(tx, claim.event_id, PANIC, now):
                self._note_stop(tx, claim, now)
        return [claim.event_id for claim in claims]

    def _note_stop(self, tx: Tx, claim: events.ClaimRow, now: datetime) -> None:
        journal.write(
            tx,
            "cancel asked for",
            registration_id=claim.registration_id,
            event_id=claim.event_id,
            reason=PANIC,
            now=now,
        )
        row = registrations.by_id(tx, claim.registration_id)
        name = claim.registration_id if row is None else row.spec.name
        notice = StopAsked(event_id=claim.event_id, registration=name, reason=PANIC)
        tx.after_commit(partial(self._announce, notice))


def chosen(tx: Tx, names: Sequence[str], tag: str | None, *, everything: bool) -> Sequence[Registration]:
    """Rows by name, with a tag, or all. Raises NotFound."""
    return registrations.present(tx) if everything else selected(tx, names, tag)
