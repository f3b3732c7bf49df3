"""The one door: every event comes into being here, or through ``admission`` in a neighbour's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from tocsin import ratelimit
from tocsin.engine.admission import MAX_DEPTH, admit, chain_cut
from tocsin.engine.binding import Mismatch, registration_for
from tocsin.engine.claims import Claims
from tocsin.engine.judging import Batch, Unwanted, write_judged
from tocsin.errors import Refused
from tocsin.event import Accepted, Answer, Declined, Limited, Occurrence
from tocsin.seams import Announce, Clock
from tocsin.store import installations
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Rate

BINDING = "binding"  # why an occurrence is declined that claims somebody else's


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
        answers = await self._take([occurrence], None)
        assert not isinstance(answers, Limited)  # noqa: S101 - no rate was given
        answer = answers[0]
        if isinstance(answer, Mismatch):
            raise answer.error()
        return answer

    async def accept_all(
        self, occurrences: Sequence[Occurrence], *, rate: Rate | None = None
    ) -> Sequence[Answer] | Limited:
        """Take one delivery for each trigger that it is told to; answers in their order, after the commit.

        Those of one installation share the row of what arrived. rate: how often their source may tell of
        something; the delivery counts once, unless nobody wants it, and a limited one leaves no trace. One
        that claims a wrong binding is Declined(`binding`): a journal row says which part.
        """
        answers = await self._take(occurrences, rate)
        if isinstance(answers, Limited):
            return answers
        return [Declined(reason=BINDING) if isinstance(one, Mismatch) else one for one in answers]

    async def _take(
        self, occurrences: Sequence[Occurrence], rate: Rate | None
    ) -> Sequence[Answer | Mismatch] | Limited:
        now = self._clock.now()
        step = partial(self._step, occurrences=occurrences, rate=rate, now=now)
        return await write_judged(self._store, step, now)

    def _step(
        self, tx: Tx, batch: Batch, *, occurrences: Sequence[Occurrence], rate: Rate | None, now: datetime
    ) -> Sequence[Answer | Mismatch] | Limited:
        limited = None if rate is None else let_pass(tx, occurrences, rate, batch, now)
        if limited is not None:
            return limited
        answers = [admit(tx, one, now=now, announce=self._announce, batch=batch) for one in occurrences]
        batch.require()
        if not any(isinstance(answer, Accepted) for answer in answers):
            return answers
        taken = [(claim.event.id, claim.ref.run_id) for claim in self._claims.take(tx, now)]
        return [with_run(answer, taken) if isinstance(answer, Accepted) else answer for answer in answers]


def let_pass(
    tx: Tx, occurrences: Sequence[Occurrence], rate: Rate, batch: Batch, now: datetime
) -> Limited | None:
    """Count the delivery, once, for the source of those that want it. Limited when it is one too many."""
    for source in sources(tx, occurrences, batch, now)[:1]:  # a delivery has one
        tat, wait = ratelimit.step(rate, installations.rate_at(tx, source), now)
        if tat is None:
            return Limited(retry_after=wait)
        installations.move_rate(tx, source, tat)
    return None


def sources(tx: Tx, occurrences: Sequence[Occurrence], batch: Batch, now: datetime) -> list[str]:
    """The installations of the triggers that would take it in and want it."""
    found = []
    for occurrence in occurrences:
        row = registration_for(tx, occurrence, now)
        if row is not None and not isinstance(batch.verdict(row, occurrence), Unwanted):
            found.append(row.installation_id)
    batch.require()
    return found


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
