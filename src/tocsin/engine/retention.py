"""Gives up what is old, a little at a time, and gives the disk back what that frees.

A loop like the others (`once`) and the work behind `tocsin gc` (`collect`). Payloads go before rows,
runs before their events, events before their hashes, so that nothing points at what is gone. What is
due is looked up on the reader; the writer is held for one batch of one kind, then others have their
turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from tocsin.engine.old_logs import remove_logs, stray_logs
from tocsin.engine.trusted_time import JUMP, believes
from tocsin.instants import rfc3339
from tocsin.notices import HistoryGivenUp, Trouble
from tocsin.seams import Announce, Clock
from tocsin.settings import EngineSettings, Retention
from tocsin.store import gaps, journal, retention
from tocsin.store.connection import Store, Tx
from tocsin.store.retention import Due, Find, Found, GiveUp, Gone
from tocsin.trigger import Json

FIRST_LOOK: Final = timedelta(minutes=1)  # a start has better things to do
EVERY: Final = timedelta(hours=1)  # "14d" means 14 days and at most an hour
BATCH: Final = 500  # rows: some 10 ms of the writer
PAYLOADS: Final = 100  # at once: a payload may be 4 MiB
BATCHES: Final = 200  # for who waits: some seconds, on a slow disk less than the minute a client waits
COUNTED: Final = ("payloads", "runs", "events", "deliveries", "hashes", "quarantined")
LAST: Final = "retention"  # the fact that holds the last report


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One kind of thing that is given up."""

    cutoff: datetime
    find: Find
    give_up: GiveUp
    limit: int = BATCH


class Keeper:
    """The loop, and the verb behind `tocsin gc`. kept: how long things are kept, for the loop."""

    def __init__(self, *, store: Store, clock: Clock, announce: Announce, logs: Path) -> None:
        self.kept = Retention()
        self._store = store
        self._clock = clock
        self._announce = announce
        self._logs = logs
        self._due: datetime | None = None
        self._hurried = False
        self._doubting = False
        self._one_at_a_time = asyncio.Lock()

    def read(self, settings: EngineSettings) -> None:
        """Settings may have changed; other ones hold at once."""
        self._hurried = self._hurried or settings.retention != self.kept
        self.kept = settings.retention

    async def once(self, now: datetime) -> float:
        """Look when it is time: a minute after the start, then hourly, and at once for other settings."""
        if self._due is None:
            self._due = now + FIRST_LOOK
        if not self._hurried and now < self._due <= now + EVERY:  # farther off: the clock was set back
            return (self._due - now).total_seconds()
        if await self._store.write(lambda tx: believes(tx, now)):
            self._doubting = False
            await self.collect(self.kept, now)
        else:
            self._tell_doubt()
        self._hurried, self._due = False, now + EVERY
        return EVERY.total_seconds()

    def _tell_doubt(self) -> None:
        """Once for each doubt."""
        if not self._doubting:
            error = (
                f"the clock is {JUMP.days} days or more ahead of the last look: nothing is given up for a day"
            )
            self._announce(Trouble(where="retention", error=error))
        self._doubting = True

    async def collect_some(self, kept: Retention) -> tuple[HistoryGivenUp, bool]:
        """Give up what is due, as far as one call goes; what went, and whether to call again.

        The clock is taken at its word: somebody asked.
        """
        return await self.collect(kept, self._clock.now(), batches=BATCHES)

    async def collect(
        self, kept: Retention, now: datetime, *, batches: int | None = None
    ) -> tuple[HistoryGivenUp, bool]:
        """Give up what is due by these settings; what went, and whether there is more.

        batches: at most so many transactions, all that are needed when None.
        """
        async with self._one_at_a_time:
            work = Work(self._store, now, batches)
            await self._store.write(lambda tx: move_horizons(tx, kept, now))
            for stage in stages(kept, now):
                await work.clear(stage)
            await work.sweep_logs(self._logs)
            await work.give_back()
            await self._tell(work.report, now)
            return work.report, work.is_spent

    async def _tell(self, report: HistoryGivenUp, now: datetime) -> None:
        if any(counts(report).values()):
            fact: Json = {"at": rfc3339(now), **counts(report), "bytes": report.bytes}
            await self._store.write(lambda tx: journal.put_fact(tx, LAST, fact))
            self._announce(report)


class Work:
    """One round of giving up. is_spent: whether it ended because its batches were used up."""

    def __init__(self, store: Store, now: datetime, batches: int | None) -> None:
        self.report = HistoryGivenUp()
        self._store = store
        self._now = now
        self._left = batches

    @property
    def is_spent(self) -> bool:
        """Whether no batch is left; then there may be more to do."""
        return self._left == 0

    async def clear(self, stage: Stage) -> None:
        """Give up one kind of thing until none is due."""
        after: int | None = -1
        while after is not None and not self.is_spent:
            found = await self._find(stage, after)
            if found.keys:
                await self._give_up(stage, found.keys)
            after = found.after

    async def _give_up(self, stage: Stage, keys: Sequence[int | str]) -> None:
        gone = await self._store.write(lambda tx: stage.give_up(tx, keys, stage.cutoff, self._now))
        await self._note(gone)

    async def _find(self, stage: Stage, after: int) -> Found:
        due = Due(cutoff=stage.cutoff, now=self._now, after=after, limit=stage.limit)
        return await self._store.read(lambda tx: stage.find(tx, due))

    async def _note(self, gone: Gone) -> None:
        self._spend()
        removed = await asyncio.to_thread(remove_logs, gone.logs)
        more = {name: getattr(gone, name) for name in COUNTED}
        self._add(**more, journal=gone.journal, logs=removed.files, bytes=removed.bytes)

    async def sweep_logs(self, logs: Path) -> None:
        """Remove logs whose run has no row, and never had one that was committed."""
        for names in await asyncio.to_thread(stray_logs, logs, self._now, BATCH):
            known = await self._store.read(
                lambda tx, names=names: retention.known_logs(tx, list(names))  # type: ignore[misc]
            )
            strays = [str(path) for run_id, path in names.items() if run_id not in known]
            removed = await asyncio.to_thread(remove_logs, strays)
            self._add(logs=removed.files, bytes=removed.bytes)

    async def give_back(self) -> None:
        """Shorten the file, a step at a time, until nothing in it is free."""
        while not self.is_spent and await self._store.read(retention.free_bytes) > 0:
            freed = await self._store.write(retention.give_back)
            self._spend()
            self._add(bytes=max(0, freed))
            if freed <= 0:
                return

    def _spend(self) -> None:
        if self._left is not None:
            self._left -= 1

    def _add(self, **more: int) -> None:
        self.report = replace(
            self.report, **{name: getattr(self.report, name) + count for name, count in more.items()}
        )


def stages(kept: Retention, now: datetime) -> Sequence[Stage]:
    """In the order in which one makes the next possible."""
    return list(_stages(kept, now))


def _stages(kept: Retention, now: datetime) -> Iterator[Stage]:
    yield Stage(
        cutoff=now - kept.payloads,
        find=retention.old_payloads,
        give_up=retention.give_up_payloads,
        limit=PAYLOADS,
    )
    yield Stage(cutoff=now - kept.runs, find=retention.old_runs, give_up=retention.drop_runs)
    yield Stage(cutoff=now - kept.events, find=retention.old_events, give_up=retention.drop_events)
    yield Stage(cutoff=now - kept.dedupe, find=retention.old_hashes, give_up=retention.drop_hashes)
    yield Stage(
        cutoff=now - kept.quarantine,
        find=retention.old_strays,
        give_up=retention.drop_strays,
        limit=PAYLOADS,
    )
    yield Stage(cutoff=now - kept.events, find=retention.old_entries, give_up=retention.drop_entries)


def move_horizons(tx: Tx, kept: Retention, now: datetime) -> None:
    """Say first what will be missing, so that an audit in between finds nothing amiss.

    Gaps are few and go with it.
    """
    retention.move_horizons(tx, runs=now - kept.runs, events=now - kept.events)
    gaps.forget(tx, now - kept.events)


def counts(report: HistoryGivenUp) -> dict[str, int]:
    """Everything but the bytes, which alone are no news."""
    return {field.name: getattr(report, field.name) for field in fields(report) if field.name != "bytes"}
