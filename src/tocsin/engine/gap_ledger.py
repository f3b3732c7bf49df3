"""Writes down when the engine could not decide, and what that cost each trigger with a schedule.

What becomes of the instants that passed is decided by the clockwork, as ever; here the same decision
is asked beforehand, so that the ledger says what it will do.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from functools import partial

from tocsin.errors import InvalidSchedule
from tocsin.gaps import Gap
from tocsin.instants import MICROSECOND
from tocsin.notices import GapFound
from tocsin.passing import passed
from tocsin.registration import Registration
from tocsin.schedule import decide
from tocsin.seams import Announce
from tocsin.store import gaps, registrations
from tocsin.store.connection import Store, Tx


class GapLedger:
    """Records gaps. To be asked before the clockwork has looked at what passed in them."""

    def __init__(self, *, store: Store, announce: Announce) -> None:
        self._store = store
        self._announce = announce

    async def record(self, gap: Gap) -> None:
        """Write the gap down with its cost. Raises StoreUnusable."""
        await self._store.write(lambda tx: self._step(tx, gap))

    def _step(self, tx: Tx, gap: Gap) -> None:
        cost = [spent for row in registrations.passed(tx, gap.to_at) if (spent := cost_of(row, gap.to_at))]
        gaps.insert(tx, gap, cost)
        tx.after_commit(partial(self._announce, GapFound(gap=gap, triggers=len(cost))))


def cost_of(row: Registration, until: datetime) -> gaps.Cost | None:
    """What becomes of the instants up to `until`; None when there were none.

    As the misfire rule says; one that has expired by then fires nothing any more. What a pause let go
    is no cost.
    """
    end = row.spec.expires_at
    with suppress(InvalidSchedule):  # set aside by the clockwork
        due = first_left(row)
        if due is None or due > until:
            return None
        if end is not None and end <= until:
            return lost(row, due, end)
        if row.next_fire_run is not None and due == row.next_fire_at:
            return gaps.Cost(registration=row.spec.name, planned=1, events=1, skipped=0)
        return decided(row, due, until)
    return None


def first_left(row: Registration) -> datetime | None:
    """The first planned instant that no pause let go."""
    due, resumed = row.next_fire_at, row.paused_until
    if due is None or row.paused_at is None or resumed is None or due >= resumed:
        return due
    return passed(row, due, resumed).next_fire_at


def decided(row: Registration, due: datetime, until: datetime) -> gaps.Cost:
    """What the clockwork will do."""
    made = decide(
        row.spec.schedule, next_fire_at=due, now=until, anchor=row.armed_at, policy=row.spec.misfire
    )
    skipped = 0 if made.skipped is None else made.skipped.count
    planned = skipped + sum(1 + fire.missed for fire in made.fires)
    return gaps.Cost(registration=row.spec.name, planned=planned, events=len(made.fires), skipped=skipped)


def lost(row: Registration, due: datetime, end: datetime) -> gaps.Cost | None:
    """All that was planned up to a trigger's end."""
    made = passed(row, due, end + MICROSECOND) if due <= end else None
    if made is None or made.skipped is None:
        return None
    count = made.skipped.count
    return gaps.Cost(registration=row.spec.name, planned=count, events=0, skipped=count)
