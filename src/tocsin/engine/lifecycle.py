"""Which sources run: one supervised task for each active registration whose component needs one.

A source that fails is told of, noted on its installation, and started again with back-off; it never
takes another one down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from tocsin.engine.driver import TICK_S
from tocsin.notices import Notice, SourceFailed, SourceRecovered
from tocsin.registration import Registration
from tocsin.seams import Announce, Source, SourceFactory
from tocsin.store import installations, registrations
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Json

BACKOFF_CEILING_S: Final = 60  # a source that was mended works again within a minute


Settings: TypeAlias = tuple[Mapping[str, Json], datetime] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A source's task, and the settings it was started with."""

    source: Source
    task: asyncio.Task[None]
    failed: asyncio.Event
    settings: Settings


class Lifecycle:
    """`once` brings the running sources into line with the rows; `attend` hears what they announce."""

    def __init__(
        self,
        *,
        store: Store,
        announce: Announce,
        factories: Mapping[str, SourceFactory],
        group: asyncio.TaskGroup,
    ) -> None:
        self._store = store
        self._announce = announce
        self._factories = factories
        self._group = group
        self._running: dict[str, Running] = {}
        self._resting: dict[str, Running] = {}  # of halted ones: they know how far they had looked
        self._ailments: dict[str, str | None] = {}

    def attend(self, notice: Notice) -> None:
        """Remember what ails a source; written down by the next `once`."""
        if isinstance(notice, SourceFailed):
            self._ailments[notice.registration] = notice.error
        elif isinstance(notice, SourceRecovered):
            self._ailments[notice.registration] = None

    async def once(self, now: datetime) -> float:
        """Start, restart and stop sources as the rows say; a tick until the next look.

        The source of a halted one is stopped but kept, so that running it again tells what has changed
        meanwhile, as if it had only been slow to look.
        """
        rows = await self._store.read(self._active)
        for id_, running in list(self._running.items()):
            row = rows.get(id_)
            if running.settings != settings_of(row) or is_halted(row, now):
                await self._stop(id_)
                self._resting[id_] = running
        self._resting = {
            id_: rest for id_, rest in self._resting.items() if rest.settings == settings_of(rows.get(id_))
        }
        for id_, registration in rows.items():
            if id_ not in self._running and not is_halted(registration, now):
                self._start(registration)
        await self._write_ailments()
        return TICK_S

    def _active(self, tx: Tx) -> dict[str, Registration]:
        return {row.id: row for component in self._factories for row in registrations.active(tx, component)}

    def _source(self, registration: Registration) -> Source:
        rest = self._resting.pop(registration.id, None)
        return self._factories[registration.spec.component](registration) if rest is None else rest.source

    def _start(self, registration: Registration) -> None:
        source, name = self._source(registration), registration.spec.name
        failed = asyncio.Event()
        task = self._group.create_task(self._supervise(source, name, failed), name=f"source-{name}")
        self._ailments.setdefault(name, None)  # an earlier engine's word for what ailed it
        self._running[registration.id] = Running(
            source=source, task=task, failed=failed, settings=settings_of(registration)
        )

    @property
    def is_at_rest(self) -> bool:
        """Whether no source has noticed anything that is not recorded yet."""
        return all(running.source.at_rest for running in self._running.values())

    async def watch(self, seconds: float) -> None:
        """Wait until every source has looked at what it watches or has failed, at most this long."""
        watching = [settled(running) for running in self._running.values()]
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*watching)
        except TimeoutError:
            return

    async def stop(self) -> None:
        """End every source; what they had not recorded yet is found again at the next start."""
        for id_ in list(self._running):
            await self._stop(id_)

    async def _stop(self, id_: str) -> None:
        task = self._running.pop(id_).task
        task.cancel()
        await asyncio.wait([task])

    async def _supervise(self, source: Source, name: str, failed: asyncio.Event) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            began = loop.time()
            try:
                await source.run()
            except Exception as error:  # noqa: BLE001 - one source's fault must not end the others
                self._announce(SourceFailed(registration=name, error=f"{type(error).__name__}: {error}"))
                failed.set()
            failures = 1 if loop.time() - began > BACKOFF_CEILING_S else failures + 1
            await asyncio.sleep(min(2**failures, BACKOFF_CEILING_S))

    async def _write_ailments(self) -> None:
        told = dict(self._ailments)
        if told:
            await self._store.write(lambda tx: write_ailments(tx, told, self._factories.keys()))
        self._ailments = {
            name: now for name, now in self._ailments.items() if name not in told or told[name] != now
        }


async def settled(running: Running) -> None:
    """Return once a source watches, or has failed for the first time."""
    either = [
        asyncio.ensure_future(running.source.watching.wait()),
        asyncio.ensure_future(running.failed.wait()),
    ]
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiting in either:
            waiting.cancel()


def write_ailments(tx: Tx, ailments: Mapping[str, str | None], components: Container[str]) -> None:
    """On the installations of triggers that have a source at all: one may have become another kind."""
    for name, error in ailments.items():
        registration = registrations.by_name(tx, name)
        if registration is not None and registration.spec.component in components:
            installations.trouble(tx, registration.installation_id, error)


def is_halted(registration: Registration | None, now: datetime) -> bool:
    """Whether an active one is to watch nothing for a time."""
    return registration is not None and registration.halt(now) is not None


def settings_of(registration: Registration | None) -> Settings:
    """What a source has to be started again for: other settings, or a new arming. None for no row."""
    return None if registration is None else (registration.spec.props, registration.armed_at)
