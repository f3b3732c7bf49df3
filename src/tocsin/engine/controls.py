"""Every change that a person or a program makes, as one verb each.

CLI and API call these through the engine's socket when an engine is up, and straight otherwise.
Results are JSON values; refusals are TocsinErrors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tocsin.config.convert import trigger_spec
from tocsin.config.load import Loaded, load
from tocsin.config.plan import Plan
from tocsin.engine.accept import Acceptor, refuse_loop
from tocsin.engine.applying import Applier, applied, make_plan, secret_name, wanted
from tocsin.engine.choosing import named, off, refuse_expired, selected
from tocsin.engine.disarming import disarm, requeue
from tocsin.engine.rebinding import Rebinding
from tocsin.engine.second_thoughts import SecondThoughts
from tocsin.engine.trigger_state import TriggerStates
from tocsin.errors import ConfigInvalid, Problem, Refused
from tocsin.event import Accepted, Cause, Duplicate, Occurrence, Origin, Skipped
from tocsin.identity import new_id, token_hash
from tocsin.notices import ContractBroken
from tocsin.registration import DisabledReason, Json, Registration, RowOrigin
from tocsin.seams import Announce, Clock, SecretStore
from tocsin.settings import EngineSettings
from tocsin.store import events, journal, registrations, workflows
from tocsin.store.connection import Store, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """The answer to a fire. state: the event's, as it stood then."""

    event_id: str
    run_id: str | None
    state: str
    duplicate: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What applying did, or would do."""

    plan: Plan
    loaded: Loaded


class Controls:
    """The verbs; those about one event stand in `second_thoughts`.

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
    ) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._acceptor = acceptor
        self._secrets = secrets
        self._config = config
        self._home = home
        self.system_tz = system_tz
        self._changed = changed
        self._applier = Applier(announce=announce, secrets=secrets)
        self.states = TriggerStates(store=store, clock=clock)
        self.rebinding = Rebinding(store=store, clock=clock, changed=lambda: changed(None))
        self.second_thoughts = SecondThoughts(
            store=store, clock=clock, announce=announce, changed=lambda: changed(None)
        )

    def load(self) -> Loaded:
        """Read the configuration file. Raises ConfigInvalid."""
        return load(self._config, now=self._clock.now(), system_tz=self.system_tz(), home=self._home)

    async def plan(self, *, by_hand: bool) -> Applied:
        """What `apply` would do. Raises ConfigInvalid."""
        loaded, now = self.load(), self._clock.now()
        made = await self._store.read(lambda tx: make_plan(tx, loaded, now, by_hand=by_hand))
        return Applied(plan=made, loaded=loaded)

    async def apply(self, *, prune: bool, by_hand: bool) -> Applied:
        """Make the rows say what the file says. Raises ConfigInvalid, also for a name that is taken.

        by_hand: a person asks for it; only then is what has drifted bound anew.
        """
        loaded, now = self.load(), self._clock.now()

        def step(tx: Tx) -> Plan:
            made = make_plan(tx, loaded, now, by_hand=by_hand)
            if made.conflicts:
                raise ConfigInvalid(made.conflicts)
            self._applier.apply(tx, wanted(tx, loaded, by_hand=by_hand), made, prune=prune, now=now)
            journal.put_fact(tx, "config", {"path": str(self._config), "ok": True, "error": None})
            return made

        made = await self._store.write(step)
        self._changed(loaded.configuration.engine)
        for problem in made.broken:
            self._announce(ContractBroken(warning=str(problem)))
        self._announce(applied(self._config, made))
        return Applied(plan=made, loaded=loaded)

    async def note_rejected(self, problems: Sequence[Problem]) -> None:
        """Remember that the file as it stands is not the one in force."""
        error = "\n".join(str(problem) for problem in problems)
        fact: Json = {"path": str(self._config), "ok": False, "error": error}
        await self._store.write(lambda tx: journal.put_fact(tx, "config", fact))

    async def fire(self, name: str, *, payload: Json, key: str | None, cause: Cause | None) -> Fired:
        """Record a fire by hand. Raises NotFound, and Refused when it is off or would fire itself."""
        now = self._clock.now()
        registration = await self._store.read(lambda tx: named(tx, name))
        occurrence = by_hand(registration, payload, key or new_id("key", now), cause, now)
        refuse_loop(name, occurrence)
        answer = await self._acceptor.accept(occurrence)
        if not isinstance(answer, Accepted | Duplicate | Skipped):
            raise off(name, answer.reason)
        event = await self._store.read(lambda tx: events.by_id(tx, answer.event_id))
        return Fired(
            event_id=answer.event_id,
            run_id=None if isinstance(answer, Skipped) else answer.run_id,
            state="pending" if event is None else event.state,
            duplicate=isinstance(answer, Duplicate),
        )

    async def add(self, name: str, table: Mapping[str, Json], *, base: Path) -> Registration:
        """A trigger made by hand. table: as in `[triggers.NAME]`. Raises ConfigInvalid, Refused."""
        loaded, now = self.load(), self._clock.now()
        rows = [row.spec.name for row in await self._store.read(registrations.present)]
        spec = trigger_spec(
            name,
            table,
            around=loaded.around(base, now, rows=rows),
            defaults=loaded.defaults,
            origin=f"trigger {name}",
        )

        def step(tx: Tx) -> Registration:
            if registrations.by_name(tx, name) is not None:
                raise Refused(f"{name} exists already: `tocsin rm {name}` first, or choose another name")
            workflow = loaded.configuration.workflows[spec.workflow]
            versions = {workflow.name: workflows.put(tx, workflow, now)}
            self._applier.add(tx, spec, versions, origin=RowOrigin.CLI, now=now)
            return named(tx, name)

        row = await self._store.write(step)
        self._changed(None)
        return row

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

    async def enable(self, names: Sequence[str], *, tag: str | None, requeue_dropped: bool) -> list[str]:
        """Arm triggers anew. Raises NotFound, and Refused for one past its end."""
        now = self._clock.now()

        def step(tx: Tx) -> list[str]:
            rows = selected(tx, names, tag)
            for row in rows:
                refuse_expired(row, now)
                self._applier.enable(tx, row, now)
                if requeue_dropped:
                    requeue(tx, row, now)
            return [row.spec.name for row in rows]

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
