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
from tocsin.engine.serving import serve
from tocsin.errors import ConfigInvalid
from tocsin.event import UNFINISHED, Origin
from tocsin.notices import EventDropped, Notice, RunEnded
from tocsin.settings import EngineSettings, Paths
from tocsin.store import events
from tocsin.store.connection import Tx
from tocsin.trigger import Scope


@asynccontextmanager
async def open_controls(paths: Paths, *, environ: Mapping[str, str]) -> AsyncIterator[Controls]:
    """The verbs on the database itself; what they record waits for whoever holds the lock."""
    make_private(paths)
    async with open_core(paths, owner=new_holder("fire").owner, environ=environ) as core:
        yield core.controls


async def run_fired(paths: Paths, event_id: str, *, environ: Mapping[str, str]) -> None:
    """Run events that were fired by hand, under the normal limits, until this one has ended. Raises LockHeld.

    Others that were begun meanwhile are let end. Events that stand before a fired one in its lane run
    first. Everything else waits for `tocsin up`, or for the `fire` that waits for it. Cancelled, it
    stops what runs and gives the attempts back.
    """
    holder = new_holder("fire")
    with hold(paths.lock, holder):
        async with open_core(paths, owner=holder.owner, environ=environ, origin=Origin.MANUAL) as core:
            core.claims.settings = limits(core)
            await core.store.write(lambda tx: serve(tx, list(Scope)))
            await core.recovery.recover()
            await dispatch(core, event_id)


async def recover(paths: Paths, *, environ: Mapping[str, str]) -> None:
    """Stop what a dead engine left running, and settle it. Raises LockHeld."""
    holder = new_holder("fire")
    with hold(paths.lock, holder):
        async with open_core(paths, owner=holder.owner, environ=environ) as core:
            await core.recovery.recover()


def limits(core: Core) -> EngineSettings:
    """The file's limits; the default ones while the file has mistakes, which must not hold up a fire."""
    try:
        return core.controls.configuring.load().configuration.engine
    except ConfigInvalid:
        return EngineSettings()


async def dispatch(core: Core, event_id: str) -> None:
    """Drive the queue until the event has ended, and what was begun beside it."""
    async with asyncio.TaskGroup() as group:
        core.dispatcher.open(group)
        driver = Driver("dispatch", core.dispatcher.once, clock=core.clock, announce=core.bus)
        ended = asyncio.Event()
        core.bus.listeners.append(lambda notice: note_end(notice, ended))
        loop = group.create_task(driver.run(), name=driver.name)
        try:
            while await core.store.read(lambda tx: is_unfinished(tx, event_id)) or core.claims.live:
                await pause(ended, TICK_S)  # what another process drops is not announced here
                ended.clear()
                await core.controls.pauses.end_over()
                if not await core.store.read(lambda tx: is_unfinished(tx, event_id)):
                    core.claims.close()
        finally:
            loop.cancel()
            await core.dispatcher.drain(0, ended)


def is_unfinished(tx: Tx, event_id: str) -> bool:
    """Whether an event is still to run, or runs."""
    event = events.by_id(tx, event_id)
    return event is not None and event.state in UNFINISHED


def note_end(notice: Notice, ended: asyncio.Event) -> None:
    """Something may be finished now."""
    if isinstance(notice, RunEnded | EventDropped):
        ended.set()
