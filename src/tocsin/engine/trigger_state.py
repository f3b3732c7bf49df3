"""A trigger's state in a person's hands: what its next run is given, without a run having said so."""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.engine.choosing import named
from tocsin.engine.runners.jsontext import compact
from tocsin.engine.runners.outputs import read_state
from tocsin.seams import Clock
from tocsin.store import events, journal, registrations
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSet:
    """state: as it is kept now. under_way: a run is not settled yet, and a state of its own replaces this."""

    state: Json
    under_way: bool


class TriggerStates:
    """Writes states."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def put(self, name: str, text: str) -> StateSet:
        """Keep this JSON for the next run; `null` clears it. By the rules for the state of a run.

        Raises NotFound, BadRequest for what is no JSON, Refused for what is over the cap.
        """
        state, now = read_state(text.encode()), self._clock.now()

        def step(tx: Tx) -> StateSet:
            row = named(tx, name)
            registrations.write_state(tx, row.id, state)
            what = "state cleared" if state is None else "state set"
            detail = {"bytes": len(compact(state).encode())}
            journal.write(tx, what, registration_id=row.id, reason="by hand", detail=detail, now=now)
            return StateSet(state=state, under_way=events.claims_of(tx, row.id) > 0)

        return await self._store.write(step)
