"""Verbs and fires while no engine is up: the same core, without sources, schedules and HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from tocsin.config.paths import make_private
from tocsin.daemon.lock import hold, new_holder
from tocsin.daemon.wiring import Core, open_core
from tocsin.engine.controls import Controls
from tocsin.engine.driver import TICK_S, Driver, pause
from tocsin.errors import ConfigInvalid
from tocsin.event import Origin
from tocsin.notices import EventDropped, Notice, RunEnded
from tocsin.settings import EngineSettings, Paths
from tocsin.store import events


@asynccontextmanager
async def open_controls(paths: Paths, *, environ: Mapping[str, str]) -> AsyncIterator[Controls]:
    """The verbs on the database itself; what they record waits for whoever holds the lock."""
    make_private(paths)
    async with open_core(paths, owner=new_holder("fire").owner, environ=environ) as core:
        yield core.controls


async def run_fired(paths: Paths, *, environ: Mapping[str, str]) -> None:
    """Run events that were fired by hand, under the normal limits, until none is left. Raises LockHeld.

    Events that stand before a fired one in its lane run first. Everything else waits for `tocsin up`.
    """
    holder = new_holder("fire")
    with hold(paths.lock, holder):
        async with open_core(paths, owner=holder.owner, environ=environ, origin=Origin.MANUAL) as core:
            core.claims.settings = limits(core)
            await core.recovery.recover()
            await dispatch(core)


def limits(core: Core) -> EngineSettings:
    """The file's limits; the default ones while the file has mistakes, which must not hold up a fire."""
    try:
        return core.controls.load().configuration.engine
    except ConfigInvalid:
        return EngineSettings()


async def dispatch(core: Core) -> None:
    """Drive the queue until no fired event is unfinished; a cancelled caller stops what runs."""
    async with asyncio.TaskGroup() as group:
        core.dispatcher.open(group)
        driver = Driver("dispatch", core.dispatcher.once, clock=core.clock, announce=core.bus)
        ended = asyncio.Event()
        core.bus.listeners.append(lambda notice: note_end(notice, ended))
        loop = group.create_task(driver.run(), name=driver.name)
        try:
            while await core.store.read(lambda tx: events.unfinished(tx, Origin.MANUAL)):
                await pause(ended, TICK_S)  # what another process drops is not announced here
                ended.clear()
        finally:
            loop.cancel()
            await core.dispatcher.drain(0, ended)


def note_end(notice: Notice, ended: asyncio.Event) -> None:
    """Something may be finished now."""
    if isinstance(notice, RunEnded | EventDropped):
        ended.set()
