"""What was kept instead of becoming an event, and what a person decides about it: replay or drop.

A replay goes through the one door with the delivery's own id, by today's configuration, so that what
the sender repeats later is a duplicate. To ask what it would do is the same, undone at the end.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from tocsin.components import version_of
from tocsin.engine.admission import admit
from tocsin.engine.binding import Mismatch
from tocsin.engine.judging import Batch, Invalid, Unwanted, Verdict, write_judged
from tocsin.engine.recognition import hash_of
from tocsin.errors import NotFound, Refused
from tocsin.event import Answer, Filtered, Occurrence, Quarantined
from tocsin.normalizing import normalized
from tocsin.notices import DeliveryQuarantined
from tocsin.quarantine import Kept, Reason, Standing, Stray
from tocsin.registration import Registration
from tocsin.seams import Announce, Clock
from tocsin.store import journal, ledger, quarantine, registrations
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a trigger says to a stray. answer: `accepted`, `duplicate`, `filtered` and so on.

    event_id: the event that it became, or had become before. reason: why it became none.
    """

    registration: str
    answer: str
    event_id: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A stray after its replay: `waiting` still when no trigger took it."""

    quarantine_id: str
    standing: Standing
    decisions: Sequence[Decision]


class Undone(Exception):
    """Takes a rehearsal's outcome out of its transaction, which is rolled back."""

    def __init__(self, outcome: list[Replayed]) -> None:
        super().__init__("a rehearsal")
        self.outcome = outcome


class Quarantine:
    """The verbs. changed: called after a commit; whoever runs events looks at the queue then."""

    def __init__(
        self, *, store: Store, clock: Clock, announce: Announce, changed: Callable[[], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._changed = changed

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

    async def replay(self, ids: Sequence[str], *, vouched: bool) -> list[Replayed]:
        """Hand strays to the triggers that they are for; what came of each, in the order given.

        vouched: a person answers for those whose sender could not be verified. Raises NotFound, and
        Refused for one that cannot be replayed; then none is.
        """
        done = await self._decide(ids, self._step, vouched=vouched)
        self._changed()
        return done

    async def rehearse(self, ids: Sequence[str]) -> list[Replayed]:
        """What a replay would do now. Changes nothing. Raises as `replay` does."""

        def step(tx: Tx, batch: Batch, kept: Sequence[Kept], now: datetime) -> list[Replayed]:
            outcome = self._step(tx, batch, kept, now)
            batch.require()
            raise Undone(outcome)

        try:
            return await self._decide(ids, step, vouched=True)
        except Undone as rehearsal:
            return rehearsal.outcome

    async def drop(self, ids: Sequence[str], *, everything: bool) -> list[str]:
        """Give up strays that wait, with what is large in them; their ids. Raises NotFound, Refused."""
        now = self._clock.now()

        def step(tx: Tx) -> list[str]:
            found = quarantine.waiting_ids(tx) if everything else list(ids)
            for id_ in found:
                waiting(tx, id_)
                quarantine.settle(tx, id_, Standing.DROPPED, now)
            return found

        return await self._store.write(step)

    async def _decide(self, ids: Sequence[str], step: ReplayStep, *, vouched: bool) -> list[Replayed]:
        now = self._clock.now()

        def whole(tx: Tx, batch: Batch) -> list[Replayed]:
            kept = [waiting(tx, id_) for id_ in ids]
            for one in kept:
                refuse_unfit(one, vouched=vouched)
            return step(tx, batch, kept, now)

        return await write_judged(self._store, whole, now)

    def _step(self, tx: Tx, batch: Batch, kept: Sequence[Kept], now: datetime) -> list[Replayed]:
        return [self._replay(tx, batch, one, now) for one in kept]

    def _replay(self, tx: Tx, batch: Batch, kept: Kept, now: datetime) -> Replayed:
        rows, payload = targets(tx, kept), payload_of(kept.stray)
        told = [(row, occurrence_of(row, kept.stray, payload)) for row in rows]
        decisions = [self._ask(tx, batch, kept, row, one, now) for row, one in told]
        made = tuple(decision.event_id for decision in decisions if decision.event_id)
        if made:
            quarantine.settle(tx, kept.id, Standing.REPLAYED, now, events=made)
        standing = Standing.REPLAYED if made else Standing.WAITING
        return Replayed(quarantine_id=kept.id, standing=standing, decisions=decisions)

    def _ask(
        self, tx: Tx, batch: Batch, kept: Kept, row: Registration, occurrence: Occurrence, now: datetime
    ) -> Decision:
        ledger.forget_filtered(tx, hash_of(occurrence))
        answer = admit(tx, occurrence, now=now, announce=self._announce, batch=batch)
        decision = decided(row.spec.name, answer)
        if isinstance(answer, Filtered | Quarantined):
            decision = replace(decision, reason=why(batch.verdict(row, occurrence)))
        if decision.answer == "accepted":
            what, id_ = "replayed from the quarantine", decision.event_id
            journal.write(tx, what, registration_id=row.id, event_id=id_, reason=kept.id, now=now)
        return decision


ReplayStep = Callable[[Tx, Batch, Sequence[Kept], datetime], list[Replayed]]


def waiting(tx: Tx, id_: str) -> Kept:
    """A stray that nothing was decided about. Raises NotFound, Refused."""
    kept = quarantine.by_id(tx, id_)
    if kept is None:
        raise NotFound(thing="quarantined delivery", name=id_)
    if kept.standing is not Standing.WAITING:
        raise Refused(f"{id_} was {kept.standing} already")
    return kept


def refuse_unfit(kept: Kept, *, vouched: bool) -> None:
    """Raises Refused for one that was cut off, and for one that nobody answers for."""
    if kept.truncated:
        raise Refused(f"{kept.id} cannot be replayed: of its {kept.size} bytes only the beginning was kept")
    if kept.stray.reason is Reason.FAILED_VERIFICATION and not vouched:
        look = f"`tocsin quarantine show {kept.id}` shows it"
        raise Refused(f"{kept.id} could not be verified: {look}, `--yes` answers for its sender")


def targets(tx: Tx, kept: Kept) -> list[Registration]:
    """The triggers that a stray is for. Raises Refused when there is none."""
    stray = kept.stray
    if stray.registration_id is not None:
        row = registrations.by_id(tx, stray.registration_id)
        return [] if row is None else [row]
    rows = [] if stray.installation_id is None else registrations.of_installation(tx, stray.installation_id)
    if not rows:
        whose = "nobody knows whose it is" if stray.installation_id is None else "its source feeds no trigger"
        raise Refused(f"{kept.id} cannot be replayed: {whose}")
    return rows


def payload_of(stray: Stray) -> Json:
    """What was read of it; a body that was not is read as JSON, or carried in base64."""
    if stray.payload is not None or stray.body is None:
        return stray.payload
    try:
        found: Json = json.loads(stray.body, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return {"raw_base64": base64.b64encode(stray.body).decode()}
    return found


def refuse_constant(name: str) -> Json:
    raise ValueError(name)


def occurrence_of(row: Registration, stray: Stray, payload: Json) -> Occurrence:
    """A stray as one trigger is told of it, under the delivery's own id."""
    return Occurrence(
        registration_id=row.id,
        component=row.spec.component,
        component_version=version_of(row.spec.component) or row.spec.component_version,
        kind=row.spec.kind,
        delivery_id=stray.delivery_id or "",
        given_id=stray.given_id,
        occurred_at=stray.occurred_at or row.created_at,
        payload=payload,
        body=stray.body,
        event_type=stray.event_type,
        safe_headers=stray.headers,
        safe_query=stray.query,
        connection=stray.connection,
        provider=stray.provider,
        mode=mode if isinstance(mode := row.spec.props.get("mode"), str) else None,
        normalized=normalized(row.spec.props, payload),
    )


def why(verdict: Verdict) -> str | None:
    """What a filter or a schema says."""
    return verdict.reason if isinstance(verdict, Unwanted | Invalid) else None


def decided(name: str, answer: Answer | Mismatch) -> Decision:
    """An answer in words."""
    if isinstance(answer, Mismatch):
        return Decision(registration=name, answer="declined", reason=f"{answer.field} is {answer.wanted}")
    word, event_id = type(answer).__name__.lower(), getattr(answer, "event_id", None)
    reason = getattr(answer, "reason", None)
    return Decision(registration=name, answer=word, event_id=event_id or None, reason=reason)
