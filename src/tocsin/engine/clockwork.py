"""Turns due schedules into events.

A due instant becomes an event in the same transaction that moves `next_fire_at`, so no crash can
lose or double it; its delivery id is the planned instant, so the ledger stops repeats as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from tocsin.engine.admission import admit, skip_planned
from tocsin.engine.claims import Claims
from tocsin.engine.disarming import disarm
from tocsin.engine.driver import TICK_S
from tocsin.engine.judging import Batch, write_judged
from tocsin.engine.pausing import resume_over, skip_over
from tocsin.engine.planning import next_fire, planned
from tocsin.errors import InvalidSchedule
from tocsin.event import Occurrence, Origin
from tocsin.instants import MICROSECOND
from tocsin.notices import Trouble
from tocsin.passing import put_off
from tocsin.registration import PAUSED, DisabledReason, Registration
from tocsin.retry import CEILING_S
from tocsin.schedule import Decision, decide
from tocsin.seams import Announce
from tocsin.store import events, installations, journal, pauses, registrations
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Misfire

BATCH: Final = 500  # one transaction's worth; a longer one would hold up webhooks that wait for their commit


class Clockwork:
    """`once` fires what is due and says when to look again."""

    def __init__(self, *, store: Store, announce: Announce, claims: Claims) -> None:
        self._store = store
        self._announce = announce
        self._claims = claims
        self._looked: datetime | None = None

    async def once(self, now: datetime) -> float:
        """Fire what is due, end what is over. Seconds until the next look, 0 to look again at once."""
        if self._looked is None or now < self._looked:
            await self._store.write(lambda tx: replan(tx, now))
        self._looked = now
        upcoming = await self._store.read(next_look)
        if upcoming is None:
            return TICK_S
        if upcoming > now:
            return (upcoming - now).total_seconds()
        fired = await write_judged(self._store, lambda tx, batch: self._step(tx, batch, now), now)
        return 0.0 if fired else TICK_S  # what is due next may be nearer than a tick

    def _step(self, tx: Tx, batch: Batch, now: datetime) -> int:
        for registration in registrations.expired(tx, now):
            self._leave(tx, registration, now)
            disarm(
                tx,
                registration,
                DisabledReason.EXPIRED,
                "expires_at has passed",
                now=now,
                announce=self._announce,
            )
        resume_over(tx, now, announce=self._announce)
        due = registrations.due(tx, now, limit=BATCH)
        for registration in due:
            self._fire(tx, batch, registration, now)
        batch.require()
        self._claims.take(tx, now)
        return len(due)

    def _leave(self, tx: Tx, registration: Registration, now: datetime) -> None:
        """What was planned up to its end, while nobody was there to fire it, is accounted for."""
        end, reason = registration.spec.expires_at, DisabledReason.EXPIRED.value
        if registration.paused_at is not None:
            reason = PAUSED
        if end is not None and registration.drift is None:
            skip_over(tx, registration, end + MICROSECOND, reason, now=now, announce=self._announce)

    def _fire(self, tx: Tx, batch: Batch, registration: Registration, now: datetime) -> None:
        try:
            decision = None if registration.next_fire_run else decision_for(registration, now)
            upcoming = next_fire(registration, now) if decision is None else decision.next_fire_at
        except InvalidSchedule as error:
            self._set_aside(tx, registration, error, now)
            return
        for occurrence in self_fire(registration) if decision is None else fires(registration, decision, now):
            admit(tx, occurrence, now=now, announce=self._announce, batch=batch)
        if decision is not None and decision.skipped is not None:
            skip = planned(
                registration, decision.skipped.planned_at, Origin.LIVE, missed=decision.skipped.count - 1
            )
            skip_planned(tx, registration, skip, "misfire", now=now, announce=self._announce)
        registrations.plan_next(tx, registration.id, upcoming)

    def _set_aside(self, tx: Tx, registration: Registration, error: InvalidSchedule, now: datetime) -> None:
        """A schedule that no longer computes (its zone vanished, say) must not stop the others."""
        registrations.plan_next(tx, registration.id, None)
        installations.trouble(tx, registration.installation_id, str(error))
        journal.write(tx, "schedule unusable", registration_id=registration.id, reason=str(error), now=now)
        trouble = Trouble(where=f"schedule of {registration.spec.name}", error=str(error))
        tx.after_commit(partial(self._announce, trouble))


def replan(tx: Tx, now: datetime) -> None:
    """Bring forward what was planned by a clock that ran ahead; the ledger stops what has fired already."""
    events.unstick(tx, now, latest=now + timedelta(seconds=CEILING_S))
    for registration in registrations.present(tx):
        due = registration.next_fire_at
        if due is None or due <= now or registration.next_fire_run is not None or not registration.enabled:
            continue
        with suppress(InvalidSchedule):  # set aside when it comes due
            upcoming = next_fire(registration, now)
            if upcoming is not None and upcoming < due:
                registrations.plan_next(tx, registration.id, upcoming)
                journal.write(
                    tx, "planned anew", registration_id=registration.id, reason="clock set back", now=now
                )


def next_look(tx: Tx) -> datetime | None:
    """The earliest instant at which something is due, a pause ends, or something expires."""
    times = (registrations.next_due(tx), pauses.next_end(tx), registrations.next_expiry(tx))
    return min((at for at in times if at is not None), default=None)


def decision_for(registration: Registration, now: datetime) -> Decision | None:
    """What the misfire rule says about all instants up to now."""
    schedule, due = registration.spec.schedule, registration.next_fire_at
    if schedule is None or due is None:
        return None
    return decide(
        schedule, next_fire_at=due, now=now, anchor=registration.armed_at, policy=registration.spec.misfire
    )


def fires(registration: Registration, decision: Decision, now: datetime) -> Iterator[Occurrence]:
    """What is decided, as occurrences; what is made up for is spread."""
    each, several = registration.spec.misfire.misfire is Misfire.FIRE_ALL, len(decision.fires) > 1
    for fire in decision.fires:
        queues = each and (several or fire.origin is Origin.CATCH_UP)
        wait = put_off(registration, fire)
        made = planned(registration, fire.planned_at, fire.origin, missed=fire.missed)
        yield replace(made, queues=queues, not_before=now + wait if wait else None)


def self_fire(registration: Registration) -> Iterator[Occurrence]:
    """The instant that a run named for itself; late is late, but it fires."""
    at = registration.next_fire_at
    if at is not None:
        yield planned(registration, at, Origin.SELF)
