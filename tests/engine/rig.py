"""An engine on a real database, with clock, runner and listeners faked.

Claims are handed to the test (`taken`) unless `running` gives them to real attempts.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from tests.fakes import DEADLINE_S, FakeClock, FakeRunner, FakeSecrets, Notices
from tocsin.engine.accept import Acceptor
from tocsin.engine.applying import Applier
from tocsin.engine.attempt import Attempts
from tocsin.engine.bookmarks import StoredBookmarks
from tocsin.engine.claims import Claim, Claims
from tocsin.engine.clockwork import Clockwork
from tocsin.engine.configuring import Applied
from tocsin.engine.controls import Controls
from tocsin.engine.disarming import disarm, requeue
from tocsin.engine.dispatch import Dispatcher
from tocsin.engine.recovery import ReadOutputs, Recovery
from tocsin.engine.retention import Keeper
from tocsin.engine.settling import Settler
from tocsin.event import Accepted, Answer, Event, Occurrence, Origin, State
from tocsin.registration import DisabledReason, Registration, RowOrigin
from tocsin.runs import Outcome, Outputs, Run
from tocsin.settings import EngineSettings, Paths, Workflow
from tocsin.store import events, registrations, runs, workflows
from tocsin.store.connection import WRITER_PRAGMAS, Store, Tx, on_thread, open_store
from tocsin.store.migrate import create
from tocsin.trigger import Cron, Every, Kind, Misfire, MisfirePolicy, Overlap, Schedule, TriggerSpec

T = TypeVar("T")

MINUTELY = Cron(expr="* * * * *", tz="UTC")


def paths_in(home: Path) -> Paths:
    return Paths(
        config=home / "tocsin.toml",
        conf_d=home / "conf.d",
        database=home / "tocsin.db",
        secrets=home / "secrets.toml",
        api_token=home / "api-token",
        logs=home / "logs",
        runs=home / "runs",
        lock=home / "engine.lock",
        socket=home / "tocsin.sock",
        home=home,
    )


def spec(name: str = "t", **changes: Any) -> TriggerSpec:
    """A webhook trigger of workflow `w` that queues."""
    plain = TriggerSpec(
        name=name, workflow="w", kind=Kind.WEBHOOK, component="webhook", overlap=Overlap.QUEUE
    )
    return replace(plain, **changes)


def scheduled(name: str = "t", schedule: Schedule = MINUTELY, **changes: Any) -> TriggerSpec:
    """A trigger of workflow `w` with a schedule that skips, as schedules do."""
    component = {Cron: "cron", Every: "every"}.get(type(schedule), "at")
    return spec(
        name,
        **{
            "kind": Kind.SCHEDULE,
            "component": component,
            "schedule": schedule,
            "overlap": Overlap.SKIP,
            **changes,
        },
    )


def policy(misfire: Misfire, *, limit: int = 24) -> MisfirePolicy:
    return MisfirePolicy(misfire=misfire, grace=timedelta(seconds=60), limit=limit)


@dataclass(kw_only=True)
class Rig:
    """One engine. taken: claims in the order they were launched. changes: what `changed` was told."""

    store: Store
    paths: Paths
    clock: FakeClock = field(default_factory=FakeClock)
    notices: Notices = field(default_factory=Notices)
    runner: FakeRunner = field(default_factory=FakeRunner)
    secrets: FakeSecrets = field(default_factory=FakeSecrets)
    owner: str = "own_1"
    zone: str = "UTC"
    settings: EngineSettings = field(default_factory=EngineSettings)
    taken: list[Claim] = field(default_factory=list)
    changes: list[EngineSettings | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.claims = Claims(
            owner=self.owner, settings=self.settings, logs=self.paths.logs, announce=self.notices
        )
        shared: dict[str, Any] = {
            "store": self.store,
            "clock": self.clock,
            "announce": self.notices,
            "claims": self.claims,
        }
        self.acceptor = Acceptor(**shared)
        self.settler = Settler(**shared)
        self.bookmarks = StoredBookmarks(**shared)
        self.attempts = Attempts(
            store=self.store,
            runner=self.runner,
            settler=self.settler,
            announce=self.notices,
            paths=self.paths,
        )
        self.dispatcher = Dispatcher(
            store=self.store, claims=self.claims, attempts=self.attempts, settler=self.settler
        )
        self.clockwork = Clockwork(store=self.store, announce=self.notices, claims=self.claims)
        self.applier = Applier(announce=self.notices, secrets=self.secrets)
        self.keeper = Keeper(store=self.store, clock=self.clock, announce=self.notices, logs=self.paths.logs)
        self.controls = Controls(
            store=self.store,
            clock=self.clock,
            announce=self.notices,
            acceptor=self.acceptor,
            secrets=self.secrets,
            config=self.paths.config,
            home=self.paths.home,
            system_tz=lambda: self.zone,
            changed=self.changes.append,
            keeper=self.keeper,
        )

    def recovery(self, read_outputs: ReadOutputs = lambda _: (Outputs(), None)) -> Recovery:
        return Recovery(
            store=self.store,
            clock=self.clock,
            announce=self.notices,
            claims=self.claims,
            runner=self.runner,
            settler=self.settler,
            read_outputs=read_outputs,
            paths=self.paths,
        )

    def open(self) -> None:
        """Take events; the test settles them."""
        self.claims.open(self.taken.append)

    # --- rows

    async def read(self, step: Callable[[Tx], T]) -> T:
        return await self.store.read(step)

    async def write(self, step: Callable[[Tx], T]) -> T:
        return await self.store.write(step)

    async def workflow(self, name: str = "w", **changes: Any) -> int:
        return await self.write(
            lambda tx: workflows.put(tx, Workflow(name=name, **changes), self.clock.now())
        )

    async def add(self, trigger: TriggerSpec | None = None) -> Registration:
        """A registration (and its workflow), made now."""
        return await self.row(await self.write(lambda tx: self._add(tx, trigger or spec())))

    async def add_all(self, triggers: Sequence[TriggerSpec]) -> None:
        """Many registrations, in one transaction."""
        await self.write(lambda tx: [self._add(tx, trigger) for trigger in triggers])

    def _add(self, tx: Tx, wanted: TriggerSpec) -> str:
        now = self.clock.now()
        found = workflows.by_name(tx, wanted.workflow)
        version = workflows.put(tx, Workflow(name=wanted.workflow), now) if found is None else found[1]
        return self.applier.add(tx, wanted, {wanted.workflow: version}, origin=RowOrigin.FILE, now=now)

    def configure(self, text: str) -> None:
        """Write the configuration file."""
        self.paths.config.write_text(text)

    async def apply(self, text: str, *, prune: bool = False, by_hand: bool = False) -> Applied:
        """Write the configuration file and apply it, as a reload does."""
        self.configure(text)
        return await self.controls.configuring.apply(prune=prune, by_hand=by_hand)

    async def named(self, name: str) -> Registration:
        """The present bearer of a name."""
        found = await self.read(lambda tx: registrations.by_name(tx, name))
        assert found is not None
        return found

    async def row(self, id_: str) -> Registration:
        found = await self.read(lambda tx: registrations.by_id(tx, id_))
        assert found is not None
        return found

    async def event(self, id_: str) -> Event:
        found = await self.read(lambda tx: events.by_id(tx, id_))
        assert found is not None
        return found

    async def events(self, registration: Registration | None = None) -> list[Event]:
        """In accept order."""
        id_ = None if registration is None else registration.id
        return await self.read(lambda tx: events.after(tx, 0, registration_id=id_, state=None, limit=100_000))

    async def states(self, registration: Registration | None = None) -> list[str]:
        return [event.state.value for event in await self.events(registration)]

    async def runs(self, event_id: str) -> list[Run]:
        return await self.read(lambda tx: runs.of_event(tx, event_id))

    async def count(self, sql: str) -> int:
        """One number of the writer's database."""
        found = await self.write(lambda tx: tx._connection.execute(sql).fetchone()[0])
        return int(found)

    # --- what happens

    def occurrence(self, registration: Registration, delivery: str = "d1", **more: Any) -> Occurrence:
        """One that fits its registration's binding."""
        plain = Occurrence(
            registration_id=registration.id,
            component=registration.spec.component,
            component_version=registration.spec.component_version,
            kind=registration.spec.kind,
            delivery_id=delivery,
            occurred_at=self.clock.now(),
            payload={"n": delivery},
        )
        return replace(plain, **more)

    async def accept(self, registration: Registration, delivery: str = "d1", **more: Any) -> Answer:
        return await self.acceptor.accept(self.occurrence(registration, delivery, **more))

    async def accepted(self, registration: Registration, delivery: str = "d1", **more: Any) -> Accepted:
        answer = await self.accept(registration, delivery, **more)
        assert isinstance(answer, Accepted)
        return answer

    async def fire(self, registration: Registration, delivery: str) -> Accepted:
        """By hand."""
        return await self.accepted(registration, delivery, origin=Origin.MANUAL)

    async def take(self) -> Sequence[Claim]:
        """One look at the queue."""
        return await self.write(lambda tx: self.claims.take(tx, self.clock.now()))

    async def settle(self, claim: Claim, outcome: Outcome) -> bool:
        return await self.settler.settle(claim.ref, outcome)

    async def disarm(self, registration: Registration, reason: DisabledReason = DisabledReason.USER) -> None:
        await self.write(
            lambda tx: disarm(
                tx, registration, reason, "for the test", now=self.clock.now(), announce=self.notices
            )
        )

    async def enable(self, registration: Registration, *, requeue_dropped: bool = False) -> int:
        """Returns how many events came back."""

        def step(tx: Tx) -> int:
            self.applier.enable(
                tx, registrations.by_id(tx, registration.id) or registration, self.clock.now()
            )
            back = requeue(tx, registration, self.clock.now()) if requeue_dropped else 0
            self.claims.take(tx, self.clock.now())
            return back

        return await self.write(step)

    async def remove(self, registration: Registration) -> None:
        await self.write(lambda tx: self.applier.remove(tx, registration, self.clock.now()))

    async def tick(self) -> float:
        """One look of the clockwork at the clock."""
        return await self.clockwork.once(self.clock.now())

    async def look(self) -> float:
        """One look of the dispatcher at the queue."""
        return await self.dispatcher.once(self.clock.now())

    @asynccontextmanager
    async def running(self, grace_s: float = 0) -> AsyncIterator[None]:
        """Real attempts on the fake runner; drains at the end, within the deadline."""
        async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
            self.dispatcher.open(group)
            yield
            await self.dispatcher.drain(grace_s, asyncio.Event())


async def claimed(rig: Rig, row: Registration | None = None) -> Claim:
    """One event of a registration, claimed."""
    await rig.accept(row or await rig.add(), f"d{len(await rig.events())}")
    return rig.taken.pop()


async def ended(rig: Rig, outcome: Outcome, row: Registration | None = None) -> tuple[Registration, Event]:
    """A registration and its event after a run that ended so, ten seconds after its claim."""
    claim = await claimed(rig, row)
    rig.clock.advance(10)
    assert await rig.settle(claim, outcome)
    return await rig.row(claim.registration.id), await rig.event(claim.event.id)


@cache
def empty_database() -> bytes:
    """A new database, made once for all tests: making one costs more than most of them."""
    with tempfile.TemporaryDirectory() as folder:
        create(Path(folder) / "tocsin.db", WRITER_PRAGMAS)
        return (Path(folder) / "tocsin.db").read_bytes()


@asynccontextmanager
async def open_rig(home: Path, **parts: Any) -> AsyncIterator[Rig]:
    """A second one on the same home is the next engine's life."""
    paths = paths_in(home)
    if not paths.database.exists():
        paths.database.write_bytes(empty_database())
    async with open_store(paths.database) as store:
        yield Rig(store=store, paths=paths, **parts)


def of_state(found: Sequence[Event], state: State) -> list[str]:
    """Delivery ids of the events in a state, in accept order."""
    return [event.delivery_id for event in found if event.state is state]


def limits(*, total: int = 4, per_workflow: int = 4) -> EngineSettings:
    return EngineSettings(max_concurrent_runs=total, max_concurrent_runs_per_workflow=per_workflow)


async def commits_of(rig: Rig) -> list[str]:
    """A list that grows with each commit of the writer."""
    commits: list[str] = []

    def trace(statement: str) -> None:
        if statement == "COMMIT":
            commits.append(statement)

    await on_thread(rig.store._writer, lambda connection: connection.set_trace_callback(trace))
    return commits
