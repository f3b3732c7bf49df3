"""Whether a delivery counts as new, by its trigger's dedupe strategy, inside the accepting transaction.

``admission`` asks with `recognise` and writes the verdict down with `remember` or `again`;
``applying`` calls `carry_over` when a strategy is edited. Strategies are for what senders give: a
fire by hand, a catch-up or a chain counts once, whatever its trigger declares.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias

from tocsin.dedupe import (
    MAX_DIGITS,
    Greatest,
    Last,
    Order,
    Strategy,
    Unique,
    is_above,
    is_given,
    place_of,
    strategy_of,
)
from tocsin.event import Duplicate, Occurrence, Origin, Unreadable
from tocsin.identity import dedupe_hash
from tocsin.notices import DuplicateSeen
from tocsin.registration import Mark, Registration
from tocsin.seams import Announce
from tocsin.store import events, journal, ledger, registrations
from tocsin.store.connection import Tx
from tocsin.trigger import TriggerSpec

STALE: Final = "stale"
ACCEPTED: Final = "accepted"
DISCARDED: Final = "discarded"
SEEDED: Final = "seeded"
LOOKED_BACK: Final = 100_000  # events that an edited strategy learns from: about 1 s of the writer at worst
SHOWN: Final = 60  # characters of an id that a message repeats

WORDS: Final = {Order.NUMBER: "a decimal number", Order.TIME: "an RFC 3339 time", Order.TEXT: "text"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """Counts as new. generation: above 1 for an id that was forgotten meanwhile."""

    hash_: str
    strategy: Strategy
    generation: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Seen before."""

    hash_: str
    strategy: Strategy
    seen: ledger.Seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Never seen, but not above the mark."""

    hash_: str
    given_id: str


Recognition: TypeAlias = Fresh | Known | Stale | Unreadable


def recognise(tx: Tx, registration: Registration, occurrence: Occurrence) -> Recognition:
    """The verdict; nothing is written."""
    hash_, strategy = hash_of(occurrence), followed(registration, occurrence)
    seen = ledger.find(tx, hash_)
    if seen is not None and not is_forgotten(tx, registration, strategy, seen):
        return Known(hash_=hash_, strategy=strategy, seen=seen)
    if isinstance(strategy, Greatest):
        return ordered(registration, occurrence, strategy, hash_)
    return Fresh(hash_=hash_, strategy=strategy, generation=1 if seen is None else seen.generation + 1)


def followed(registration: Registration, occurrence: Occurrence) -> Strategy:
    """The trigger's own strategy for what a sender gave, else `Unique`."""
    return strategy_of(registration.spec.props) if occurrence.origin is Origin.LIVE else Unique()


def hash_of(occurrence: Occurrence, generation: int = 1) -> str:
    """The delivery's row in the ledger; a later generation's is nobody's row, but another event's key."""
    return dedupe_hash(
        tenant=occurrence.tenant,
        registration_id=occurrence.registration_id,
        kind=occurrence.kind,
        delivery_id=occurrence.delivery_id,
        generation=generation,
    )


def is_forgotten(tx: Tx, registration: Registration, strategy: Strategy, seen: ledger.Seen) -> bool:
    """Whether `last` has seen n other ids since."""
    if not isinstance(strategy, Last):
        return False
    if seen.turn is None:
        return True
    return ledger.newer(tx, seen.turn, registration_id=registration.id, limit=strategy.n) >= strategy.n


def ordered(
    registration: Registration, occurrence: Occurrence, strategy: Greatest, hash_: str
) -> Fresh | Stale | Unreadable:
    """An unknown id against the mark."""
    given, mark = occurrence.given_id, registration.mark
    if given is None:
        return Unreadable(reason="the delivery has no id, and this trigger takes only ids above the last one")
    above = is_above(strategy.order, given, None if mark is None else mark.delivery_id)
    if above is None:
        return Unreadable(reason=f"the delivery's id {fault(given, strategy.order)}")
    return Fresh(hash_=hash_, strategy=strategy) if above else Stale(hash_=hash_, given_id=given)


def fault(given: str, order: Order) -> str:
    """What keeps an id out of an order."""
    if len(given) > MAX_DIGITS:
        return f"has {len(given)} characters, at most {MAX_DIGITS} can be ordered"
    return f"{shown(given)} is not {WORDS[order]}"


def shown(given: str) -> str:
    """An id as a message repeats it."""
    return repr(given if len(given) <= SHOWN else given[:SHOWN] + "…")


def remember(
    tx: Tx, registration: Registration, occurrence: Occurrence, fresh: Fresh, event_id: str, now: datetime
) -> None:
    """What is new has become this event."""
    id_, hash_ = registration.id, fresh.hash_
    if fresh.generation > 1:
        ledger.renew(tx, hash_, event_id=event_id, generation=fresh.generation, now=now)
    else:
        ledger.remember(tx, hash_, registration_id=id_, event_id=event_id, verdict=ACCEPTED, now=now)
    if isinstance(fresh.strategy, Last):
        ledger.take_turn(tx, hash_, registration_id=id_)
    if isinstance(fresh.strategy, Greatest) and occurrence.given_id is not None:
        registrations.move_mark(tx, id_, Mark(delivery_id=occurrence.given_id, event_id=event_id))


def again(
    tx: Tx, registration: Registration, found: Known | Stale, *, now: datetime, announce: Announce
) -> Duplicate:
    """The original ids, or those of the greatest so far; the ledger's age of the hash starts anew."""
    if isinstance(found, Stale):
        ledger.remember(
            tx, found.hash_, registration_id=registration.id, event_id=None, verdict=DISCARDED, now=now
        )
        note_discarded(tx, registration, found, now)
        return answer(tx, registration, None, STALE, announce)
    ledger.touch(tx, found.hash_, now)
    if isinstance(found.strategy, Last):
        ledger.take_turn(tx, found.hash_, registration_id=registration.id)
    verdict = found.seen.verdict
    reason = {ACCEPTED: None, DISCARDED: STALE}.get(verdict, verdict)
    return answer(tx, registration, found.seen.event_id, reason, announce)


def note_discarded(tx: Tx, registration: Registration, found: Stale, now: datetime) -> None:
    """A line in the story of the event that was not outdone."""
    mark = registration.mark
    if mark is None:
        return
    reason = f"{shown(found.given_id)} is not above {shown(mark.delivery_id)}"
    journal.write(
        tx, "discarded", registration_id=registration.id, event_id=mark.event_id, reason=reason, now=now
    )


def seed(tx: Tx, registration: Registration, occurrence: Occurrence, now: datetime) -> None:
    """Remember what is not to run: it is known from now on."""
    hash_ = hash_of(occurrence)
    if ledger.find(tx, hash_) is not None:
        ledger.touch(tx, hash_, now)
        return
    ledger.remember(tx, hash_, registration_id=registration.id, event_id=None, verdict=SEEDED, now=now)


def answer(
    tx: Tx, registration: Registration, event_id: str | None, reason: str | None, announce: Announce
) -> Duplicate:
    """event_id: None for what never became an event; the mark's stands for what was below it."""
    if reason == STALE and registration.mark is not None:
        event_id = registration.mark.event_id
    event = None if event_id is None else events.by_id(tx, event_id)
    if event is None:
        return Duplicate(event_id=event_id or "", reason=reason)
    notice = DuplicateSeen(event_id=event.id, registration=registration.spec.name, reason=reason)
    tx.after_commit(partial(announce, notice))
    return Duplicate(event_id=event.id, run_id=event.run_id, reason=reason)


def refused(tx: Tx, registration: Registration, found: Unreadable, now: datetime) -> Unreadable:
    """Record nothing but why."""
    detail = {"reason": found.reason}
    journal.write(tx, "refused", registration_id=registration.id, reason="id", detail=detail, now=now)
    return found


def carry_over(tx: Tx, row: Registration, spec: TriggerSpec) -> None:
    """An edited strategy knows what the former one knew, unless ids come from another place now."""
    before, after = strategy_of(row.spec.props), strategy_of(spec.props)
    moved = place_of(row.spec.props) != place_of(spec.props)
    if isinstance(after, Last) and before != after:
        ledger.give_turns(tx, row.id, limit=after.n)
    if moved:
        registrations.move_mark(tx, row.id, None)
    elif isinstance(after, Greatest) and before != after:
        registrations.move_mark(tx, row.id, greatest(tx, row, after.order))


def greatest(tx: Tx, row: Registration, order: Order) -> Mark | None:
    """The mark as it would be if ids had always been ordered so; None when none can be read."""
    found = row.mark if row.mark is not None and is_above(order, row.mark.delivery_id, None) else None
    for event_id, delivery_id in ledger.sent(tx, row.id, limit=LOOKED_BACK):
        if is_given(delivery_id) and is_above(
            order, delivery_id, None if found is None else found.delivery_id
        ):
            found = Mark(delivery_id=delivery_id, event_id=event_id)
    return found
