"""The loop of the queue: claims what is ready, runs it, and lets nothing claimed go unattended.

Most events never wait for this loop: whoever makes one ready claims it in the same transaction. The
loop finds what a wake-up missed, retries that come due, and what other processes wrote: new rows, and
that a run is to be stopped.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from tocsin.engine.attempt import Attempts
from tocsin.engine.claims import Claim, ClaimRef, Claims
from tocsin.engine.driver import TICK_S
from tocsin.engine.settling import Settler
from tocsin.runs import Outcome, Verdict
from tocsin.store import events
from tocsin.store.connection import Store, Tx


class Dispatcher:
    """`once` looks at the queue; `open` … `drain` bracket the time in which runs start."""

    def __init__(self, *, store: Store, claims: Claims, attempts: Attempts, settler: Settler) -> None:
        self._store = store
        self._claims = claims
        self._attempts = attempts
        self._settler = settler
        self._running: set[asyncio.Task[None]] = set()

    def open(self, group: asyncio.TaskGroup) -> None:
        """Start taking events; each attempt is a task of this group."""

        def launch(claim: Claim) -> None:
            task = group.create_task(self._attempts.run(claim), name=f"attempt-{claim.ref.run_id}")
            self._running.add(task)
            task.add_done_callback(self._running.discard)

        self._claims.open(launch)

    async def once(self, now: datetime) -> float:
        """Claim what is ready; see to own claims. Seconds until more is due."""
        upcoming, held = await self._store.read(look)
        for claim in held:
            if claim.owner == self._claims.owner:
                await self._attend(claim)
        if upcoming is None:
            return TICK_S
        if upcoming > now:
            return (upcoming - now).total_seconds()
        taken = await self._store.write(lambda tx: self._claims.take(tx, now))
        return 0.0 if taken else TICK_S  # the next retry may be nearer than a tick

    async def _attend(self, claim: events.ClaimRow) -> None:
        """Settle a claim that nobody has in hand; stop the run of one that a person has cancelled."""
        if claim.claim_id not in self._claims.live:
            await self._settler.settle(ref_of(claim), Outcome(verdict=Verdict.LOST, error="attempt lost"))
        elif claim.cancelled:
            await self._attempts.cancel(claim.run_id)

    async def drain(self, grace_s: float, hurry: asyncio.Event) -> None:
        """Take nothing more; let runs end for this long, or until `hurry`, then stop them.

        Returns when all is settled.
        """
        self._claims.close()
        await self._store.drain()  # what a commit under way has taken is launched when it ends
        await self._let_end(grace_s, hurry)
        while self._running:  # a run may have been between its claim and its start
            await self._attempts.interrupt()
            await asyncio.wait(self._running, timeout=TICK_S)
            if hurry.is_set():
                self._attempts.abandon()

    async def _let_end(self, grace_s: float, hurry: asyncio.Event) -> None:
        if not self._running:
            return
        hurried = asyncio.create_task(hurry.wait(), name="hurry")
        ended = asyncio.gather(*self._running, return_exceptions=True)
        either: list[asyncio.Future[Any]] = [hurried, ended]
        await asyncio.wait(either, timeout=grace_s, return_when=asyncio.FIRST_COMPLETED)
        hurried.cancel()


def look(tx: Tx) -> tuple[datetime | None, list[events.ClaimRow]]:
    """When the next event is claimable, and every claim there is."""
    return events.next_ready(tx), list(events.claims(tx))


def ref_of(row: events.ClaimRow) -> ClaimRef:
    """A claim's row as settling wants it."""
    return ClaimRef(
        event_id=row.event_id,
        registration_id=row.registration_id,
        claim_id=row.claim_id,
        claimed_at=row.claimed_at,
        run_id=row.run_id,
    )
