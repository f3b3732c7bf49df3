"""Writes a settlement down: one transaction, every update bound to the claim that earned it.

What it means was decided by ``settlement``; here it becomes rows, chains, the next claims and
notices.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from tocsin.engine.admission import admit, chain_cut
from tocsin.engine.claims import ClaimRef, Claims
from tocsin.engine.disarming import disarm
from tocsin.engine.judging import Batch, write_judged
from tocsin.engine.sources.run_ended import COMPONENT, Ended, occurrences
from tocsin.event import Event, Occurrence, State
from tocsin.notices import RunEnded, Trouble
from tocsin.registration import PAUSED, Registration
from tocsin.runs import Outcome
from tocsin.seams import Announce, Clock
from tocsin.settlement import (
    Done,
    Dropped,
    GaveUp,
    Released,
    RetryAt,
    Settlement,
    Standing,
    Streak,
    settle,
)
from tocsin.store import costs, events, journal, lanes, registrations, runs
from tocsin.store.connection import Store, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One run's end, with the rows as they stand in the settling transaction."""

    ref: ClaimRef
    event: Event
    registration: Registration
    outcome: Outcome
    settlement: Settlement
    now: datetime

    @property
    def is_paused(self) -> bool:
        """Whether its trigger was paused meanwhile: another attempt waits for the end of that."""
        return self.registration.is_paused(self.now)


class Settler:
    """Settles claims; the freed seat is taken again in the same transaction."""

    def __init__(self, *, store: Store, clock: Clock, announce: Announce, claims: Claims) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._claims = claims

    async def settle(self, ref: ClaimRef, outcome: Outcome) -> bool:
        """Write the run's end down. False when the claim was no longer this one; then only the run ends."""
        now = self._clock.now()
        return await write_judged(
            self._store, lambda tx, batch: self._step(tx, batch, ref, outcome, now), now
        )

    def _step(self, tx: Tx, batch: Batch, ref: ClaimRef, outcome: Outcome, now: datetime) -> bool:
        registration, event = registrations.by_id(tx, ref.registration_id), events.by_id(tx, ref.event_id)
        if registration is None or event is None:
            return False
        if outcome.outputs.cost_usd is not None:
            costs.charge(tx, ref.run_id, registration, event.workflow, outcome.outputs.cost_usd, now)
        spent = costs.spent(tx, registration, now)
        settlement = settle(registration, standing_of(tx, event, spent), outcome, now=now)
        runs.finish(tx, ref.run_id, settlement.run_state, outcome, error=settlement.error, now=now)
        end = End(
            ref=ref, event=event, registration=registration, outcome=outcome, settlement=settlement, now=now
        )
        if not end_event(tx, end):
            return False
        tx.after_commit(partial(self._claims.live.discard, ref.claim_id))
        count(tx, end)
        self._follow(tx, batch, end)
        batch.require()
        tx.after_commit(partial(self._announce, notice(end, events.by_id(tx, event.id) or event)))
        self._claims.take(tx, now)
        return True

    def _follow(self, tx: Tx, batch: Batch, end: End) -> None:
        """Disarm, promote the lane, fire the chain."""
        stop = end.settlement.disarm
        if stop is not None:
            disarm(tx, end.registration, stop.reason, stop.detail, now=end.now, announce=self._announce)
        if end.is_paused or isinstance(end.settlement.ending, Done | GaveUp | Dropped):
            lanes.promote(tx, end.event.lane, end.now)
        if isinstance(end.settlement.ending, Done | GaveUp):
            for occurrence in occurrences(ended(end), registrations.active(tx, COMPONENT)):
                self._chain(tx, batch, occurrence, end)

    def _chain(self, tx: Tx, batch: Batch, occurrence: Occurrence, end: End) -> None:
        cut = chain_cut(occurrence)
        if cut is None:
            admit(tx, occurrence, now=end.now, announce=self._announce, batch=batch)
            return
        follower = registrations.by_id(tx, occurrence.registration_id)
        name = occurrence.registration_id if follower is None else follower.spec.name
        reason, event_id = f"{cut}, before {name}", end.event.id
        journal.write(
            tx,
            "chain cut",
            registration_id=occurrence.registration_id,
            event_id=event_id,
            reason=reason,
            detail={"lineage": list(occurrence.cause.lineage)} if occurrence.cause else None,
            now=end.now,
        )
        tx.after_commit(partial(self._announce, Trouble(where=f"chain to {name}", error=f"cut: {cut}")))


def standing_of(tx: Tx, event: Event, spent: int) -> Standing:
    """What settling has to know of the event's row."""
    return Standing(
        attempts=event.attempts,
        limit=event.attempt_limit,
        cancelled=event.cancel_reason,
        spent=spent,
        others=events.has_others(tx, event.registration_id, event.id),
    )


def end_event(tx: Tx, end: End) -> bool:
    """Move the event on, if it is still this claim's."""
    id_, claim_id, ending = end.ref.event_id, end.ref.claim_id, end.settlement.ending
    if not isinstance(ending, RetryAt | Released):
        state, why = ended_state(ending)
        return events.settle(tx, id_, claim_id=claim_id, state=state, reason=why, now=end.now)
    return events.retry(
        tx,
        id_,
        claim_id=claim_id,
        state=State.HELD if end.is_paused else State.PENDING,
        at=ending.at,
        reason=PAUSED if end.is_paused else ending.reason,
        given_back=isinstance(ending, Released),
    )


def ended_state(ending: Done | GaveUp | Dropped) -> tuple[State, str | None]:
    """The event's last state and its reason."""
    match ending:
        case Done():
            return State.SUCCEEDED, None
        case GaveUp(reason=reason):
            return State.FAILED, reason
        case Dropped(reason=reason):
            return State.DROPPED, reason


def count(tx: Tx, end: End) -> None:
    """The registration's own columns: streak, successes, state, next fire."""
    id_, settlement = end.registration.id, end.settlement
    if settlement.streak is Streak.RESET:
        registrations.succeeded(tx, id_, end.ref.claimed_at)
    elif settlement.streak is Streak.ADD:
        registrations.failed(tx, id_, settlement.error or "failed")
    if "state" in end.outcome.outputs.present:
        registrations.write_state(tx, id_, end.outcome.outputs.state)
    plan(tx, end)


def plan(tx: Tx, end: End) -> None:
    """What the run said about its next fire."""
    wish = end.settlement.next_fire
    if wish is None:
        return
    if wish.note is not None:
        journal.write(
            tx,
            "next fire clamped",
            registration_id=end.registration.id,
            event_id=end.event.id,
            reason=wish.note,
            now=end.now,
        )
    if wish.at is None:
        registrations.hold(tx, end.registration.id)
    else:
        registrations.plan_by_run(tx, end.registration.id, wish.at, run_id=end.ref.run_id)


def ended(end: End) -> Ended:
    """The facts a chain is told."""
    cause = end.event.cause
    return Ended(
        event_id=end.event.id,
        event_state=State.SUCCEEDED if isinstance(end.settlement.ending, Done) else State.FAILED,
        registration=end.registration,
        run_id=end.ref.run_id,
        run_state=end.settlement.run_state,
        outcome=end.outcome,
        lineage=() if cause is None else cause.lineage,
        at=end.now,
    )


def notice(end: End, after: Event) -> RunEnded:
    """What the world is told. after: the event as this transaction leaves it; a disarm may drop it."""
    return RunEnded(
        run_id=end.ref.run_id,
        event_id=end.event.id,
        registration=end.registration.spec.name,
        run_state=end.settlement.run_state,
        event_state=after.state,
        error=end.settlement.error,
        retry_at=after.next_fire_at,
        duration_s=(end.now - end.ref.claimed_at).total_seconds(),
    )
