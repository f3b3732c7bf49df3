"""What a trigger wants, judged outside the transaction that takes it in.

A step that meets something unjudged notes the question and goes on; at its end `Batch.require` undoes
it by raising `Unjudged`. Then the answer is found in a thread, and the step is run again: so nothing
slow runs on the database's thread, and triggers without a filter or a schema pay nothing. A rule that
was edited in between is simply another question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Final, TypeAlias, TypeVar

from tocsin import filters, schemas
from tocsin.envelope import envelope
from tocsin.event import Occurrence, Origin
from tocsin.registration import Registration
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Json

T = TypeVar("T")

JUDGED: Final = frozenset({Origin.LIVE, Origin.CATCH_UP, Origin.SELF})  # a person and a replay want it anyway
ROUNDS: Final = 4  # a rule that is edited in each of them is judged where it stands
SECONDS: Final = 2.0  # for one payload; one that takes longer does not fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """It may become an event. schema_status: `valid`, or `unchecked` without a schema."""

    schema_status: str = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwanted:
    """The filter, or the list of event types, does not let it through."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    """The payload has not the shape that the trigger's schema asks for."""

    reason: str


Verdict: TypeAlias = Wanted | Unwanted | Invalid
Known: TypeAlias = dict[str, list[tuple["Question", Verdict]]]
"""What was judged, by the trigger that it is for."""


def schema_status(verdict: Verdict) -> str:
    """As the envelope says it."""
    return verdict.schema_status if isinstance(verdict, Wanted) else "invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An occurrence and the rule that it is to be judged by, as it stood."""

    occurrence: Occurrence
    filter: str | None
    schema: Mapping[str, Json] | None
    config: Mapping[str, Json]


class Unjudged(Exception):
    """A step met these; all that it did is undone."""

    def __init__(self, questions: list[Question]) -> None:
        super().__init__(f"{len(questions)} to be judged")
        self.questions = questions


class Batch:
    """What the occurrences of one transaction have in common: verdicts, and deliveries that are recorded."""

    def __init__(self, verdicts: Known | None = None, *, at_once: datetime | None = None) -> None:
        """at_once: judge what is missing here and now."""
        self._verdicts = verdicts or {}
        self._at_once = at_once
        self._missing: list[Question] = []
        self._deliveries: dict[tuple[str, str, str], str] = {}

    def verdict(self, registration: Registration, occurrence: Occurrence) -> Verdict:
        """Whether it is wanted; `Wanted` for the time being where that is still to be found out."""
        if occurrence.origin not in JUDGED:
            return Wanted()
        types = unwanted_type(registration.spec.props, occurrence)
        if types is not None:
            return types
        spec = registration.spec
        if spec.filter is None and spec.schema is None:
            return Wanted()
        question = Question(occurrence=occurrence, filter=spec.filter, schema=spec.schema, config=spec.config)
        for asked, found in self._verdicts.get(occurrence.registration_id, ()):
            if asked == question:
                return found
        if self._at_once is not None:
            return judge(question, self._at_once)
        self._missing.append(question)
        return Wanted()

    def require(self) -> None:
        """Raises Unjudged when anything was met that is still to be judged."""
        if self._missing:
            raise Unjudged(self._missing)

    def delivery(self, installation_id: str, occurrence: Occurrence) -> str | None:
        """The row of this delivery, which is one however many it feeds; None when it has none yet."""
        return self._deliveries.get((installation_id, occurrence.kind, occurrence.delivery_id))

    def delivered(self, installation_id: str, occurrence: Occurrence, id_: str) -> None:
        """It has one now."""
        self._deliveries[installation_id, occurrence.kind, occurrence.delivery_id] = id_


async def write_judged(store: Store, step: Callable[[Tx, Batch], T], now: datetime) -> T:
    """Run a step in a transaction, as often as it takes until all that it meets is judged.

    The step calls `batch.require()` before it does anything that cannot be undone.
    """
    known: Known = {}
    for _ in range(ROUNDS):
        try:
            return await store.write(lambda tx: in_batch(tx, step, Batch(known)))
        except Unjudged as met:
            for question, verdict in await asyncio.to_thread(judge_all, met.questions, now):
                known.setdefault(question.occurrence.registration_id, []).append((question, verdict))
    return await store.write(lambda tx: in_batch(tx, step, Batch(known, at_once=now)))


def in_batch(tx: Tx, step: Callable[[Tx, Batch], T], batch: Batch) -> T:
    """A step that nothing unjudged is left of."""
    result = step(tx, batch)
    batch.require()
    return result


def judge_all(questions: list[Question], now: datetime) -> list[tuple[Question, Verdict]]:
    """In a thread: each with its verdict."""
    return [(question, judge(question, now)) for question in questions]


def judge(question: Question, now: datetime) -> Verdict:
    """The filter first: what is not wanted need not have any shape."""
    if question.filter is not None:
        told = envelope(question.occurrence, now)
        refusal = filters.refusal(question.filter, told, question.config)
        if refusal is not None:
            return Unwanted(reason=refusal)
    if question.schema is None:
        return Wanted()
    end = monotonic() + SECONDS
    wrong = schemas.violation(
        question.schema, question.occurrence.payload, is_time_left=lambda: monotonic() < end
    )
    return Wanted(schema_status="valid") if wrong is None else Invalid(reason=wrong)


def unwanted_type(props: Mapping[str, Json], occurrence: Occurrence) -> Unwanted | None:
    """Another type of event than those its source is asked for."""
    wanted, given = props.get("events"), occurrence.event_type
    if not isinstance(wanted, list) or not wanted or given in wanted:
        return None
    what = "no event type" if given is None else f"event type {given[:100]!r}"
    return Unwanted(reason=f"{what}, which is not among `events`")
