"""The configuration as a person's verbs: load, plan and apply the file, add a trigger by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tocsin.config.advice import advice
from tocsin.config.convert import trigger_spec
from tocsin.config.load import Loaded, load
from tocsin.config.plan import Plan
from tocsin.engine.applying import Applier, applied, make_plan, wanted
from tocsin.engine.choosing import named
from tocsin.errors import ConfigInvalid, Problem, Refused
from tocsin.notices import ContractBroken
from tocsin.registration import Registration, RowOrigin
from tocsin.seams import Announce, Clock
from tocsin.settings import EngineSettings
from tocsin.store import journal, registrations, workflows
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What applying did, or would do."""

    plan: Plan
    loaded: Loaded


class Configuring:
    """The verbs. system_tz: the machine's zone as it is now. changed: called after a commit."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        announce: Announce,
        applier: Applier,
        config: Path,
        home: Path,
        system_tz: Callable[[], str],
        changed: Callable[[EngineSettings | None], None],
    ) -> None:
        self.system_tz = system_tz
        self._store = store
        self._clock = clock
        self._announce = announce
        self._applier = applier
        self._config = config
        self._home = home
        self._changed = changed

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

    async def advice(self, name: str, table: Mapping[str, Json], *, base: Path) -> list[str]:
        """What is odd about a trigger made by hand, a line each. Raises ConfigInvalid."""
        rows = [row.spec.name for row in await self._store.read(registrations.present)]
        return advice(name, table, self.load(), base=base, rows=rows, now=self._clock.now())

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
