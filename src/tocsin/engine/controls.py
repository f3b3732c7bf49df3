"""Every change that a person or a program makes, as one verb each.

CLI and API call these through the engine's socket when an engine is up, and straight otherwise.
Results are JSON values; refusals are TocsinErrors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tocsin.engine.accept import Acceptor, refuse_loop
from tocsin.engine.applying import Applier, secret_name
from tocsin.engine.choosing import named, off, refuse_expired, selected
from tocsin.engine.configuring import Configuring
from tocsin.engine.disarming import disarm, requeue
from tocsin.engine.once import Once
from tocsin.engine.pauses import Pauses
from tocsin.engine.pausing import is_over
from tocsin.engine.quarantining import Quarantine
from tocsin.engine.rebinding import Rebinding
from tocsin.engine.retention import Keeper
from tocsin.engine.second_thoughts import SecondThoughts
from tocsin.engine.serving import refuse_idle
from tocsin.engine.trigger_state import TriggerStates
from tocsin.errors import Refused
from tocsin.event import Accepted, Cause, Duplicate, Occurrence, Origin, Skipped
from tocsin.identity import new_id, token_hash
from tocsin.registration import DisabledReason, Registration
from tocsin.seams import Announce, Clock, SecretStore
from tocsin.settings import EngineSettings
from tocsin.store import events, journal
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """The answer to a fire. state: the event's, as it stood then."""

    event_id: str
    run_id: str | None
    state: str
    duplicate: bool


class Controls:
    """The verbs. Those about the configuration stand in `configuring`, about one event in
    `second_thoughts`, about pauses in `pauses`, and so on.

    system_tz: the machine's zone as it is now. changed: called after a commit that gave the loops
    something to look at.
    """

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        announce: Announce,
        acceptor: Acceptor,
        secrets: SecretStore,
        config: Path,
        home: Path,
        system_tz: Callable[[], str],
        changed: Callable[[EngineSettings | None], None],
        keeper: Keeper,
    ) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._acceptor = acceptor
        self._secrets = secrets
        self._changed = changed
        self._applier = Applier(announce=announce, secrets=secrets)
        self.configuring = Configuring(
            store=store,
            clock=clock,
            announce=announce,
            applier=self._applier,
            config=config,
            home=home,
            system_tz=system_tz,
            changed=changed,
        )
        self.pauses = Pauses(store=store, clock=clock, announce=announce, changed=lambda: changed(None))
        self.keeper = keeper
        self.states = TriggerStates(store=store, clock=clock)
        self.rebinding = Rebinding(store=store, clock=clock, changed=lambda: changed(None))
        self.quarantine = Quarantine(
            store=store, clock=clock, announce=announce, changed=lambda: changed(None)
        )
        self.once = Once(store=store, clock=clock)
        self.second_thoughts = SecondThoughts(
            store=store, clock=clock, announce=announce, changed=lambda: changed(None)
        )

    async def fire(self, name: str, *, payload: Json, key: str | None, cause: Cause | None) -> Fired:
        """Record a fire by hand. Raises NotFound, and Refused when it is off or would fire itself."""
        now = self._clock.now()
        registration = await self._store.read(lambda tx: named(tx, name))
        if is_over(registration, now):
            await self.pauses.end_over()
        if self._acceptor.is_running:
            refuse_idle(registration)
        occurrence = by_hand(registration, payload, key or new_id("key", now), cause, now)
        refuse_loop(name, occurrence)
        answer = await self._acceptor.accept(occurrence)
        if not isinstance(answer, Accepted | Duplicate | Skipped):
            raise off(name, getattr(answer, "reason", "filtered"))
        event = await self._store.read(lambda tx: events.by_id(tx, answer.event_id))
        if event is None:
            raise Refused(
                f"{name}: this key was fired before, as {answer.event_id}, which is given up for its age"
            )
        return Fired(
            event_id=answer.event_id,
            run_id=None if isinstance(answer, Skipped) else answer.run_id,
            state=event.state,
            duplicate=isinstance(answer, Duplicate),
        )

    async def remove(self, names: Sequence[str], *, tag: str | None) -> list[str]:
        """Hide triggers; history stays. Returns their names. Raises NotFound for a name that fits none."""
        now = self._clock.now()

        def step(tx: Tx) -> list[str]:
            rows = selected(tx, names, tag)
            for row in rows:
                self._applier.remove(tx, row, now)
            return [row.spec.name for row in rows]

        done = await self._store.write(step)
        self._changed(None)
        return done

    async def enable(self, names: Sequence[str], *, tag: str | None, requeue_dropped: bool) -> dict[str, int]:
        """Arm triggers anew. Their names, and how many events came back to each.

        Raises NotFound, and Refused for one past its end.
        """
        now = self._clock.now()

        def step(tx: Tx) -> dict[str, int]:
            rows, back = selected(tx, names, tag), {}
            for row in rows:
                refuse_expired(row, now)
                self._applier.enable(tx, row, now)
                back[row.spec.name] = requeue(tx, row, now) if requeue_dropped else 0
            return back

        done = await self._store.write(step)
        self._changed(None)
        return done

    async def disable(self, names: Sequence[str], *, tag: str | None) -> list[str]:
        """Turn triggers off and drop what waits. Raises NotFound."""
        now = self._clock.now()

        def step(tx: Tx) -> list[str]:
            rows = selected(tx, names, tag)
            for row in rows:
                disarm(tx, row, DisabledReason.USER, "by hand", now=now, announce=self._announce)
            return [row.spec.name for row in rows]

        done = await self._store.write(step)
        self._changed(None)
        return done

    async def token(self, name: str, *, rotate: bool) -> str:
        """A webhook's token, a fresh one when asked. Raises NotFound, and Refused when there is none."""
        row = await self._store.read(lambda tx: named(tx, name))
        if row.spec.component != "webhook":
            raise Refused(f"{name} is a {row.spec.component} trigger: only a webhook has an address")
        if row.spec.source is not None:
            source = row.spec.source
            raise Refused(f"{name} is fed by [sources.{source}]: `tocsin url {source}` prints that address")
        if rotate:
            now = self._clock.now()
            return await self._store.write(lambda tx: self._applier.issue_token(tx, row.id, now))
        token = self._secrets.get(secret_name(row.id))
        stored = await self._store.read(lambda tx: journal.token_of(tx, row.id))
        if token is None or token_hash(token) != stored:
            raise Refused(f"the token of {name} is lost: `tocsin url {name} --rotate` makes a new one")
        return token


def by_hand(
    registration: Registration, payload: Json, delivery_id: str, cause: Cause | None, now: datetime
) -> Occurrence:
    """A fire as an occurrence of its registration's own kind."""
    return Occurrence(
        registration_id=registration.id,
        component=registration.spec.component,
        component_version=registration.spec.component_version,
        kind=registration.spec.kind,
        delivery_id=delivery_id,
        occurred_at=now,
        payload=payload,
        event_type="manual",
        origin=Origin.MANUAL,
        cause=cause,
    )
