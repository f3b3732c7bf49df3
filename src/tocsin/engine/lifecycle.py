"""Which sources run: one supervised task for each installation that feeds an active registration.

A source that fails is told of, noted on its installation, and started again with back-off; it never
takes another one down.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
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
        self._running: dict[str, Running] = {}  # by installation, as all of these
        self._resting: dict[str, Running] = {}  # of halted ones: they know how far they had looked
        self._ailments: dict[str, str | None] = {}

    def attend(self, notice: Notice) -> None:
        """Remember what ails a source; written down by the next `once`."""
        if isinstance(notice, SourceFailed):
            self._ailments[notice.installation_id] = notice.error
        elif isinstance(notice, SourceRecovered):
            self._ailments[notice.installation_id] = None

    async def once(self, now: datetime) -> float:
        """Start, restart and stop sources as the rows say; a tick until the next look.

        The source of a halted one is stopped but kept, so that running it again tells what has changed
        meanwhile, as if it had only been slow to look.
        """
        fed = await self._store.read(self._fed)
        for id_, running in list(self._running.items()):
            rows = fed.get(id_, ())
            if running.settings != settings_of(rows) or are_halted(rows, now):
                await self._stop(id_)
                self._resting[id_] = running
        self._resting = {
            id_: rest for id_, rest in self._resting.items() if rest.settings == settings_of(fed.get(id_, ()))
        }
        for id_, rows in fed.items():
            if id_ in self._running:
                self._running[id_].source.serve(rows)
            elif not are_halted(rows, now):
                self._start(id_, rows)
        await self._write_ailments()
        return TICK_S

    def _fed(self, tx: Tx) -> dict[str, list[Registration]]:
        """By installation: the active rows that it feeds, but for the idle and those that await `rebind`."""
        fed: dict[str, list[Registration]] = {}
        for component in self._factories:
            for row in registrations.active(tx, component):
                if row.drift is None and not row.idle:
                    fed.setdefault(row.installation_id, []).append(row)
        return fed

    def _source(self, id_: str, rows: Sequence[Registration]) -> Source:
        rest = self._resting.pop(id_, None)
        if rest is None:
            return self._factories[rows[0].spec.component](rows)
        rest.source.serve(rows)
        return rest.source

    def _start(self, id_: str, rows: Sequence[Registration]) -> None:
        source, name = self._source(id_, rows), rows[0].spec.source or rows[0].spec.name
        failed = asyncio.Event()
        task = self._group.create_task(self._supervise(source, id_, name, failed), name=f"source-{name}")
        self._ailments.setdefault(id_, None)  # an earlier engine's word for what ailed it
        self._running[id_] = Running(source=source, task=task, failed=failed, settings=settings_of(rows))

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

    async def _supervise(self, source: Source, id_: str, name: str, failed: asyncio.Event) -> None:
        loop, failures = asyncio.get_running_loop(), 0
        while True:
            began = loop.time()
            try:
                await source.run()
            except Exception as error:  # noqa: BLE001 - one source's fault must not end the others
                told = f"{type(error).__name__}: {error}"
                self._announce(SourceFailed(installation_id=id_, source=name, error=told))
                failed.set()
            failures = 1 if loop.time() - began > BACKOFF_CEILING_S else failures + 1
            await asyncio.sleep(min(2**failures, BACKOFF_CEILING_S))

    async def _write_ailments(self) -> None:
        told = dict(self._ailments)
        if told:
            await self._store.write(lambda tx: write_ailments(tx, told))
        self._ailments = {
            id_: now for id_, now in self._ailments.items() if id_ not in told or told[id_] != now
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


def write_ailments(tx: Tx, ailments: Mapping[str, str | None]) -> None:
    """What ails each installation's source; None: nothing."""
    for id_, error in ailments.items():
        installations.trouble(tx, id_, error)


def are_halted(rows: Sequence[Registration], now: datetime) -> bool:
    """Whether nothing is to be watched for a time; one that goes on is reason enough to go on."""
    return bool(rows) and all(row.halt(now) is not None for row in rows)


def settings_of(rows: Sequence[Registration]) -> Settings:
    """What a source has to be started again for: other settings, or a new arming of those it feeds."""
    return (rows[0].spec.props, min(row.armed_at for row in rows)) if rows else None
