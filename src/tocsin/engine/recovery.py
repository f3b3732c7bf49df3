"""After a crash: what a dead engine left claimed goes back to the queue.

Called once, under the home's lock, before anything is claimed. A claim is stale when its owner is
not the lock's holder; no clock is asked.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

from tocsin.engine import drift
from tocsin.engine.claims import Claims
from tocsin.engine.dispatch import ref_of
from tocsin.engine.settling import Settler
from tocsin.notices import RunRecovered
from tocsin.runs import Outcome, Outputs, Run, Verdict
from tocsin.seams import Announce, Clock, Runner
from tocsin.settings import Paths
from tocsin.store import events, lanes, runs
from tocsin.store.connection import Store, Tx

ReadOutputs = Callable[[Path], tuple[Outputs, str | None]]


class Recovery:
    """Makes the queue whole again. read_outputs: what a run left in its directory, and what ails that."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        announce: Announce,
        claims: Claims,
        runner: Runner,
        settler: Settler,
        read_outputs: ReadOutputs,
        paths: Paths,
    ) -> None:
        self._store = store
        self._clock = clock
        self._announce = announce
        self._claims = claims
        self._runner = runner
        self._settler = settler
        self._read_outputs = read_outputs
        self._paths = paths

    async def recover(self) -> int:
        """Stop what dead engines left running, settle their claims, sweep lanes, note drift.

        Returns the claims found.
        """
        stale = [row for row in await self._store.read(events.claims) if row.owner != self._claims.owner]
        await asyncio.gather(*(self._recover(row) for row in stale))
        await self._store.write(self._sweep_lanes)
        await self._store.write(lambda tx: drift.sweep(tx, self._clock.now()))
        await asyncio.to_thread(shutil.rmtree, self._paths.runs, ignore_errors=True)
        return len(stale)

    async def _recover(self, row: events.ClaimRow) -> None:
        run = await self._store.read(lambda tx: runs.by_id(tx, row.run_id))
        outcome = Outcome(verdict=Verdict.LOST) if run is None else await self._outcome(run)
        if await self._settler.settle(ref_of(row), outcome) and run is not None:
            notice = RunRecovered(run_id=run.id, event_id=row.event_id, registration=run.registration)
            self._announce(notice)

    async def _outcome(self, run: Run) -> Outcome:
        """A run that can be attached goes on; else it is lost, but what it had put out counts."""
        handle = await self._runner.attach(run)
        if handle is not None:
            return await handle.wait()
        if not (self._paths.runs / run.id).exists():  # it was claimed, but nothing of it was begun
            return Outcome(verdict=Verdict.INTERRUPTED, error="the engine died before it started")
        outputs, _ = await asyncio.to_thread(self._read_outputs, self._paths.runs / run.id)
        kept = Outputs(
            present=outputs.present & {"state"},
            state=outputs.state,
            cost_usd=outputs.cost_usd,  # the money is gone, whatever became of the run
            result=outputs.result,
        )
        return Outcome(verdict=Verdict.LOST, error="the engine died while it ran", outputs=kept)

    def _sweep_lanes(self, tx: Tx) -> None:
        for lane in lanes.headless(tx):
            lanes.promote(tx, lane, self._clock.now())
