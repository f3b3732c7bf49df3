"""What a person decides about single events: `cancel`, `retry` and `replay`.

A run is not stopped from here: that it is to be stopped is written into its event's row, and whoever
runs it (this engine, a `tocsin fire` elsewhere) sees it at the next look at the queue; if that dies
first, whoever recovers the claim drops the event. So a cancel that was answered for holds.

Several events of one call change together or, when one of them is refused, not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from tocsin.engine.accept import refuse_loop
from tocsin.engine.admission import admit
from tocsin.engine.choosing import event_with_id, payload_of, refuse_off
from tocsin.envelope import normalized_of
from tocsin.errors import Refused
from tocsin.event import UNFINISHED, Accepted, Cause, Event, Occurrence, Origin, State
from tocsin.identity import EVENT, new_id
from tocsin.notices import EventDropped
from tocsin.registration import PAUSED, Registration
from tocsin.seams import Announce, Clock
from tocsin.store import events, journal, lanes, ledger, registrations, second_thoughts
from tocsin.store.connection import Store, Tx

BY_HAND = "by hand"


class SecondThoughts:
    """The verbs. changed: called after a commit; whoever runs events looks at the queue then."""

    def __init__(
        self, *, store: Store, clock: Clock, announce: Announce, changed: Callable[[], None]
    ) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._changed = changed

    async def cancel(self, ids: Sequence[str]) -> list[Event]:
        """Drop what waits, have stopped what runs; the events as they stand then, in the order given.

        One whose run has to be stopped is still `claimed`: it ends with its run, dropped unless that
        succeeds before it is stopped. Raises NotFound, and Refused for an event that has ended.
        """
        now = self._clock.now()

        def step(tx: Tx) -> list[Event]:
            for id_ in ids:
                self._cancel(tx, event_with_id(tx, id_), now)
            return [event_with_id(tx, id_) for id_ in ids]

        return await self._write(step)

    async def retry(self, ids: Sequence[str]) -> list[Event]:
        """Make due what waits for its next attempt, give what failed one attempt more.

        Returns the events as they stand then, in the order given. Raises NotFound, and Refused for an
        event in another state and for one whose trigger is off.
        """
        now = self._clock.now()

        def step(tx: Tx) -> list[Event]:
            found = [event_with_id(tx, id_) for id_ in ids]
            for event in sorted(found, key=lambda event: event.seq):
                retry(tx, event, now)
            return [event_with_id(tx, id_) for id_ in ids]

        return await self._write(step)

    async def replay(self, ids: Sequence[str], *, cause: Cause | None) -> list[Event]:
        """Make a new event with the payload of each; the new ones, in the order given.

        cause: the run that asks for it. Raises NotFound, and Refused for a trigger that is off, is of
        another kind by now, or would be fired by itself.
        """
        now = self._clock.now()
        return await self._write(
            lambda tx: [self._replay(tx, event_with_id(tx, id_), cause, now) for id_ in ids]
        )

    async def _write(self, step: Callable[[Tx], list[Event]]) -> list[Event]:
        done = await self._store.write(step)
        self._changed()
        return done

    def _cancel(self, tx: Tx, event: Event, now: datetime) -> None:
        if event.state not in UNFINISHED:
            raise Refused(f"{event.id} has ended: {described(event)}")
        if event.state is State.CLAIMED:
            if second_thoughts.request_cancel(tx, event.id, "cancelled", now):
                note(tx, event, "cancel asked for", BY_HAND, now)
            return
        events.drop(tx, event.id, "cancelled", now)
        note(tx, event, "cancelled", BY_HAND, now)
        lanes.promote(tx, event.lane, now)
        notice = EventDropped(event_id=event.id, registration=event.registration, reason="cancelled")
        tx.after_commit(partial(self._announce, notice))

    def _replay(self, tx: Tx, event: Event, cause: Cause | None, now: datetime) -> Event:
        registration = registration_of(tx, event)
        refuse_off(registration, now)
        refuse_other_kind(registration, event)
        occurrence = again(event, registration, payload_of(tx, event.id), cause, now)
        refuse_loop(registration.spec.name, occurrence)
        answer = admit(tx, occurrence, now=now, announce=self._announce)
        assert isinstance(answer, Accepted), answer  # noqa: S101 - active, bound, its id new, and it queues
        note(tx, event, "replayed", answer.event_id, now)
        return event_with_id(tx, answer.event_id)


def retry(tx: Tx, event: Event, now: datetime) -> None:
    """Raises Refused."""
    if event.state not in (State.PENDING, State.FAILED):
        raise Refused(f"{event.id} cannot be retried, it is {described(event)}: {instead(event)}")
    refuse_off(registration_of(tx, event), now)
    payload_of(tx, event.id)
    if event.state is State.FAILED:
        busy = event.lane is not None and lanes.head(tx, event.lane) is not None
        second_thoughts.revive(tx, event.id, busy=busy, now=now)
        note(tx, event, "retried", f"{BY_HAND}: one more attempt", now)
        return
    if event.next_fire_at is None or event.next_fire_at <= now:
        raise Refused(f"{event.id} is due already: it runs when an engine has a free seat for it")
    second_thoughts.hurry(tx, event.id, now)
    note(tx, event, "retried", f"{BY_HAND}: without waiting", now)


def instead(event: Event) -> str:
    """What a person can do about an event that cannot be retried."""
    if event.state is State.HELD and event.reason == PAUSED:
        return f"`tocsin resume {event.registration}` lets it go on"
    if event.state is State.HELD:
        return "it runs when its turn comes"
    if event.state is State.CLAIMED:
        return f"`tocsin cancel {event.id}` stops it"
    return f"`tocsin replay {event.id}` makes a new event of it"


def described(event: Event) -> str:
    """How an event stands: `failed (attempts)`, `succeeded`."""
    return event.state if event.reason is None else f"{event.state} ({event.reason})"


def refuse_other_kind(registration: Registration, event: Event) -> None:
    """Raises Refused when the trigger has become one of another kind: its payloads have another shape."""
    name, kind = registration.spec.name, registration.spec.kind
    if kind is not event.kind:
        raise Refused(f"{name} is a {kind} trigger now, {event.id} was of kind {event.kind}")


def again(
    event: Event, registration: Registration, delivered: ledger.Delivered, cause: Cause | None, now: datetime
) -> Occurrence:
    """An event's occurrence once more, under a delivery id of its own."""
    id_, arrived = new_id(EVENT, now), delivered.envelope
    return Occurrence(
        registration_id=registration.id,
        component=registration.spec.component,
        component_version=registration.spec.component_version,
        kind=event.kind,
        delivery_id=f"replay:{id_}",
        occurred_at=event.occurred_at,
        payload=arrived["raw_payload"],
        origin=Origin.REPLAY,
        planned_at=event.planned_at,
        missed=event.missed,
        body=delivered.body,
        event_type=arrived["event_type"],
        safe_headers=arrived["safe_headers"],
        safe_query=arrived["safe_query"],
        connection=arrived["connection_id"],
        provider=arrived["provider"],
        mode=arrived["mode"],
        normalized=normalized_of(arrived),
        cause=cause,
        event_id=id_,
        replay_of=event.id,
    )


def registration_of(tx: Tx, event: Event) -> Registration:
    """The event's trigger, also a removed one. Raises LookupError when it is not there."""
    found = registrations.by_id(tx, event.registration_id)
    if found is None:
        raise LookupError(event.registration_id)
    return found


def note(tx: Tx, event: Event, what: str, reason: str, now: datetime) -> None:
    """A line of the event's story."""
    journal.write(tx, what, registration_id=event.registration_id, event_id=event.id, reason=reason, now=now)
