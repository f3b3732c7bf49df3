"""The one door: every event comes into being here, or through ``admission`` in a neighbour's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tocsin.engine.admission import MAX_DEPTH, Mismatch, admit, chain_cut
from tocsin.engine.claims import Claims
from tocsin.errors import Refused
from tocsin.event import Accepted, Answer, Occurrence
from tocsin.seams import Announce, Clock
from tocsin.store.connection import Store, Tx


class Acceptor:
    """Implements `seams.Accept` on the store.

    claims: this engine's hand in the queue; a free seat is taken in the accepting transaction.
    """

    def __init__(self, *, store: Store, clock: Clock, announce: Announce, claims: Claims) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._claims = claims

    @property
    def is_running(self) -> bool:
        """Whether this process runs what it accepts; else whoever holds the lock does."""
        return self._claims.is_open

    async def accept(self, occurrence: Occurrence) -> Answer:
        """Check, deduplicate, record, claim; returns after the commit. Raises BindingMismatch."""
        now = self._clock.now()
        answer = await self._store.write(lambda tx: self._step(tx, occurrence, now))
        if isinstance(answer, Mismatch):
            raise answer.error()
        return answer

    def _step(self, tx: Tx, occurrence: Occurrence, now: datetime) -> Answer | Mismatch:
        answer = admit(tx, occurrence, now=now, announce=self._announce)
        if not isinstance(answer, Accepted):
            return answer
        return with_run(answer, [(claim.event.id, claim.ref.run_id) for claim in self._claims.take(tx, now)])


def with_run(answer: Accepted, taken: Sequence[tuple[str, str]]) -> Accepted:
    """The answer with its run id, if its event is among those taken."""
    return Accepted(event_id=answer.event_id, run_id=dict(taken).get(answer.event_id))


def refuse_loop(name: str, occurrence: Occurrence) -> None:
    """Raises Refused for a trigger that would be fired, by way of a run, by itself."""
    cut = chain_cut(occurrence)
    if cut == "cycle":
        raise Refused(f"{name} is part of the chain that fires it: a cycle")
    if cut is not None:
        raise Refused(f"{name} would stand at the end of more than {MAX_DEPTH} triggers that fire each other")
