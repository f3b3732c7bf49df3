"""`tocsin up`: the engine in the foreground, from the lock to the last settled run."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tocsin.clock import SystemClock
from tocsin.config.load import load
from tocsin.config.paths import make_private
from tocsin.daemon import logs
from tocsin.daemon.lock import HomeLock, hold, new_holder
from tocsin.daemon.pulse import Pulse
from tocsin.daemon.reload import Reload
from tocsin.daemon.watches import HomeWatch, Idle, WakeOn, catch, has_terminal
from tocsin.daemon.wiring import Core, open_core
from tocsin.daemon.zone import system_zone
from tocsin.engine.clockwork import Clockwork
from tocsin.engine.driver import Driver, Once
from tocsin.engine.gap_ledger import GapLedger
from tocsin.engine.lifecycle import Lifecycle
from tocsin.engine.serving import serve
from tocsin.engine.sources.files.hub import ObserverHub
from tocsin.engine.sources.files.source import FilesSource
from tocsin.errors import Refused, StoreUnusable
from tocsin.notices import Disarmed, Paused, Resumed, StopAsked
from tocsin.registration import Registration
from tocsin.seams import Source
from tocsin.settings import EngineSettings, Paths
from tocsin.trigger import Json, Scope
from tocsin.web.app import WebContext
from tocsin.web.serve import Server

FIRST_LOOK_S: Final = 10.0  # a folder that takes longer to read must not keep webhooks waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """Flags of `tocsin up`. port, serves: instead of the configured ones."""

    port: int | None = None
    until_idle: bool = False
    no_http: bool = False
    serves: tuple[Scope, ...] = ()


async def up(paths: Paths, options: UpOptions, *, environ: Mapping[str, str]) -> None:
    """Run until told to stop. Raises LockHeld, ConfigInvalid, StoreUnusable, and Refused for a taken port.

    The file is read first of all: one with mistakes leaves nothing behind.
    """
    load(paths.config, now=SystemClock().now(), system_tz=system_zone(environ), home=paths.home)
    make_private(paths)
    logs.configure()
    holder = new_holder("engine")
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(hold(paths.lock, holder))
        core = await stack.enter_async_context(open_core(paths, owner=holder.owner, environ=environ))
        applied = await core.controls.configuring.apply(prune=False, by_hand=False)
        for warning in applied.loaded.warnings:
            logs.LOGGER.warning("%s", warning)
        served = options.serves or applied.loaded.configuration.engine.serves
        await core.store.write(lambda tx: serve(tx, served))
        stack.push_async_callback(leave, core)
        await core.recovery.recover()
        await Engine(core, lock, applied.loaded.configuration.engine, options).run()


async def leave(core: Core) -> None:
    """Where no engine is up nobody is idle: what is fired by hand then runs, whatever its scope."""
    with suppress(StoreUnusable):  # the engine has stopped, also when that cannot be written down
        await core.store.write(lambda tx: serve(tx, tuple(Scope)))


class Engine:
    """Sources, loops and HTTP around a core."""

    def __init__(self, core: Core, lock: HomeLock, settings: EngineSettings, options: UpOptions) -> None:
        self._core = core
        self._lock = lock
        self._settings = settings
        self._options = options
        self._told = fixed(settings)
        self._stopping = asyncio.Event()
        self._hurry = asyncio.Event()
        self._hub = ObserverHub()
        self._server = Server(web_context(core, lock, settings, self))
        ledger = GapLedger(store=core.store, announce=core.bus)
        self._pulse = Pulse(core.paths.lock, clock=core.clock, ledger=ledger)
        self._reload = Reload(configuring=core.controls.configuring, announce=core.bus, paths=core.paths)

    @property
    def is_stopping(self) -> bool:
        """Whether nothing new is taken any more."""
        return self._stopping.is_set()

    def request_stop(self, now: bool = False) -> None:
        """Drain and end; at once when asked a second time, or `now`."""
        if now or self.is_stopping:
            self._hurry.set()
        if not self.is_stopping:
            logs.LOGGER.info("stopping")
        self._stopping.set()

    async def run(self) -> None:
        """Serve until told to stop, then drain."""
        self._hub.start()
        try:
            async with asyncio.TaskGroup() as group:
                await self._serve(group)
        finally:
            await self._server.stop()
            await asyncio.to_thread(self._hub.stop)
        logs.LOGGER.info("stopped")

    async def _serve(self, group: asyncio.TaskGroup) -> None:
        core = self._core
        lifecycle = Lifecycle(
            store=core.store, announce=core.bus, factories={"files": self._files}, group=group
        )
        core.bus.listeners.append(lifecycle.attend)
        self._catch_signals()
        url = await self._open_doors()
        await self._pulse.begin()
        core.dispatcher.open(group)  # nothing is claimed before a taken port has had its say
        await lifecycle.once(core.clock.now())
        await lifecycle.watch(FIRST_LOOK_S)
        loops = [group.create_task(driver.run(), name=driver.name) for driver in self._drivers(lifecycle)]
        self._tell_ready(url)
        await self._stopping.wait()
        for task in loops:
            task.cancel()
        await lifecycle.stop()
        await core.dispatcher.drain(self._settings.shutdown_grace.total_seconds(), self._hurry)
        self._pulse.end()

    def _drivers(self, lifecycle: Lifecycle) -> list[Driver]:
        core = self._core
        clockwork = Clockwork(store=core.store, announce=core.bus, claims=core.claims)
        rounds: dict[str, Once] = {
            "clockwork": self._pulse.watching(clockwork.once),
            "dispatch": core.dispatcher.once,
            "lifecycle": lifecycle.once,
            "reload": self._reload.once,
            "retention": core.controls.keeper.once,
            "home": HomeWatch(core.paths, self.request_stop).once,
        }
        if self._options.until_idle:
            rounds["idle"] = Idle(core.store, lifecycle, self.request_stop).once
        drivers = [Driver(name, once, clock=core.clock, announce=core.bus) for name, once in rounds.items()]
        core.controls.keeper.kept = self._settings.retention
        core.changes.readers += [self._read, core.controls.keeper.read]
        core.changes.listeners += [driver.wake for driver in drivers[:3]]
        _, dispatch, sources = drivers[:3]
        core.bus.listeners.append(WakeOn(sources, Disarmed, Paused, Resumed).hear)
        core.bus.listeners.append(WakeOn(dispatch, StopAsked).hear)
        return drivers

    def _read(self, settings: EngineSettings) -> None:
        """Limits hold at once; an address is bound, and scopes are chosen, once."""
        if fixed(settings) != self._told:
            self._told = fixed(settings)
            logs.LOGGER.warning("[engine] host, port and serves take effect at the next start")

    def _files(self, registrations: Sequence[Registration]) -> Source:
        core = self._core
        return FilesSource(
            registrations, bookmarks=core.bookmarks, clock=core.clock, announce=core.bus, hub=self._hub
        )

    async def _open_doors(self) -> str | None:
        """Serve the control socket and HTTP. The URL, if there is one; raises Refused without any door."""
        port = self._settings.port if self._options.port is None else self._options.port
        socket = self._core.paths.socket
        url = await self._server.start(self._settings.host, port, socket, http=not self._options.no_http)
        if url is None and not socket.exists():
            raise Refused(f"{socket} is too long a path for a socket: choose a shorter home, or serve HTTP")
        return url

    def _tell_ready(self, url: str | None) -> None:
        socket = self._core.paths.socket
        self._lock.tell(url=url, socket=str(socket) if socket.exists() else None)
        logs.LOGGER.info("ready %s", url or "(no HTTP)")

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for name in ("SIGINT", "SIGTERM"):
            catch(loop, getattr(signal, name), self.request_stop)
        if hasattr(signal, "SIGHUP"):
            catch(loop, signal.SIGHUP, self.request_stop if has_terminal() else self._reload.touch)


def fixed(settings: EngineSettings) -> tuple[Any, ...]:
    """What an engine keeps until it is started again."""
    return settings.host, settings.port, settings.serves


def web_context(core: Core, lock: HomeLock, settings: EngineSettings, engine: Engine) -> WebContext:
    """What HTTP is given."""
    return WebContext(
        store=core.store,
        accept=core.acceptor,
        controls=core.controls,
        clock=core.clock,
        settings=settings,
        api_token=api_token(core.paths.api_token),
        is_accepting=lambda: not engine.is_stopping,
        request_stop=engine.request_stop,
        secrets=core.references,
        health=lambda: health(lock),
        listen=core.bus.listeners.append,
    )


def health(lock: HomeLock) -> dict[str, Json]:
    """What `GET /api/health` tells anyone."""
    return {"version": lock.holder.version, "started_at": lock.holder.started_at}


def api_token(path: Path) -> str:
    """The token of the API, made on first use, in a file of mode 0600."""
    try:
        found = path.read_text("utf-8").strip()
    except FileNotFoundError:
        found = ""
    if not found:
        found = secrets.token_urlsafe(32)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(found + "\n")
    return found
