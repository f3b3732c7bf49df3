"""The composition root: the only module that names concrete classes together.

``open_core`` gives what every way of working needs (store, door, queue, verbs); ``run`` puts
sources, loops and HTTP around it, ``local`` uses it as it is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tocsin.clock import SystemClock
from tocsin.daemon.logs import log
from tocsin.daemon.zone import system_zone
from tocsin.engine.accept import Acceptor
from tocsin.engine.attempt import Attempts
from tocsin.engine.bookmarks import StoredBookmarks
from tocsin.engine.claims import Claims
from tocsin.engine.controls import Controls
from tocsin.engine.dispatch import Dispatcher
from tocsin.engine.recovery import Recovery
from tocsin.engine.retention import Keeper
from tocsin.engine.runners.command import CommandRunner
from tocsin.engine.runners.environment import output_path
from tocsin.engine.runners.outputs import read_outputs
from tocsin.engine.secret_refs import SecretRefs
from tocsin.engine.secret_store import FileSecrets
from tocsin.engine.settling import Settler
from tocsin.event import Origin
from tocsin.notices import Notice
from tocsin.runs import Outputs
from tocsin.settings import EngineSettings, Paths
from tocsin.store.connection import Store, open_store

Listener = Callable[[Notice], None]


class Bus:
    """Implements `seams.Announce`: hands each notice to every listener, in the order they joined."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self.listeners = list(listeners)

    def __call__(self, notice: Notice) -> None:
        """Tell everyone."""
        for listener in list(self.listeners):
            listener(notice)


class Changes:
    """Who wants to know that registrations or settings changed.

    listeners: called after each change. readers: given the settings, when they may have changed.
    """

    def __init__(self, claims: Claims) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.readers: list[Callable[[EngineSettings], None]] = []
        self._claims = claims

    def __call__(self, settings: EngineSettings | None) -> None:
        """Tell everyone; new limits hold from the next claim on."""
        if settings is not None:
            self._claims.settings = settings
            for reader in self.readers:
                reader(settings)
        for listener in self.listeners:
            listener()


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """Everything but sources, loops and HTTP."""

    paths: Paths
    clock: SystemClock
    bus: Bus
    changes: Changes
    store: Store
    claims: Claims
    acceptor: Acceptor
    controls: Controls
    attempts: Attempts
    dispatcher: Dispatcher
    recovery: Recovery
    bookmarks: StoredBookmarks
    references: SecretRefs


@asynccontextmanager
async def open_core(
    paths: Paths, *, owner: str, environ: Mapping[str, str], origin: Origin | None = None
) -> AsyncIterator[Core]:
    """Open the database and put the engine together around it; nothing runs yet.

    origin: take only events of this origin from the queue. Raises StoreUnusable.
    """
    async with open_store(paths.database) as store:
        yield assemble(store, paths, owner=owner, environ=environ, origin=origin)


def assemble(
    store: Store, paths: Paths, *, owner: str, environ: Mapping[str, str], origin: Origin | None
) -> Core:
    """Name the classes."""
    clock, bus = SystemClock(), Bus([log])
    claims = Claims(owner=owner, settings=EngineSettings(), logs=paths.logs, announce=bus, origin=origin)
    changes, runner = Changes(claims), CommandRunner(environ)
    acceptor = Acceptor(store=store, clock=clock, announce=bus, claims=claims)
    settler = Settler(store=store, clock=clock, announce=bus, claims=claims)
    attempts = Attempts(store=store, runner=runner, settler=settler, announce=bus, paths=paths)
    recovery = partial(Recovery, store=store, clock=clock, announce=bus, claims=claims)
    return Core(
        paths=paths,
        clock=clock,
        bus=bus,
        changes=changes,
        store=store,
        claims=claims,
        acceptor=acceptor,
        controls=Controls(
            store=store,
            clock=clock,
            announce=bus,
            acceptor=acceptor,
            secrets=FileSecrets(paths.secrets),
            config=paths.config,
            home=paths.home,
            system_tz=partial(system_zone, environ),
            changed=changes,
            keeper=Keeper(store=store, clock=clock, announce=bus, logs=paths.logs),
        ),
        attempts=attempts,
        dispatcher=Dispatcher(store=store, claims=claims, attempts=attempts, settler=settler),
        recovery=recovery(runner=runner, settler=settler, read_outputs=left_behind, paths=paths),
        bookmarks=StoredBookmarks(store=store, clock=clock, announce=bus, claims=claims),
        references=references(paths, environ, clock),
    )


def references(paths: Paths, environ: Mapping[str, str], clock: SystemClock) -> SecretRefs:
    """Secrets by reference."""
    return SecretRefs(store=FileSecrets(paths.secrets), environ=environ, monotonic=clock.monotonic)


def left_behind(run_dir: Path) -> tuple[Outputs, str | None]:
    """What a run has put out so far, and what ails that."""
    return read_outputs(output_path(run_dir))
