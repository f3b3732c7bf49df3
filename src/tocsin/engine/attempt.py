"""One claimed event from start to settlement: request, runner, outcome.

The only module that calls a runner. It interprets nothing: ``settlement`` does.
"""

from __future__ import annotations

import asyncio
import shutil
from typing import Final

from tocsin.engine.claims import Claim
from tocsin.engine.driver import pause
from tocsin.engine.settling import Settler
from tocsin.errors import RunnerUnreachable, SpawnFailed, StoreUnusable
from tocsin.identity import engine_key
from tocsin.notices import RunStarted, Trouble
from tocsin.runs import Outcome, ProcessFacts, RunRequest, Verdict
from tocsin.seams import Announce, RunHandle, Runner
from tocsin.settings import Paths
from tocsin.store import runs
from tocsin.store.connection import Store

SETTLE_AGAIN_S: Final = 1.0  # a full disk takes somebody's hand; asking more often only heats the machine


class Attempts:
    """Runs claims to their end and knows which are under way."""

    def __init__(
        self, *, store: Store, runner: Runner, settler: Settler, announce: Announce, paths: Paths
    ) -> None:
        self._store = store
        self._runner = runner
        self._settler = settler
        self._announce = announce
        self._paths = paths
        self._handles: dict[str, RunHandle] = {}
        self._cancelled: set[str] = set()
        self._abandoned = asyncio.Event()

    async def run(self, claim: Claim) -> None:
        """Start the claim's run, wait for its end, settle."""
        outcome = await self._outcome(claim)
        await self._settle(claim, outcome)
        self._cancelled.discard(claim.ref.run_id)
        await asyncio.to_thread(shutil.rmtree, self._paths.runs / claim.ref.run_id, ignore_errors=True)

    def abandon(self) -> None:
        """Do not wait for a store that cannot be written: the next start recovers what is unsettled."""
        self._abandoned.set()

    async def _settle(self, claim: Claim, outcome: Outcome) -> None:
        """Until it is written: an outcome that was lost here would run the command again."""
        told = False
        while True:
            try:
                await self._settler.settle(claim.ref, outcome)
            except StoreUnusable as error:
                if not told:
                    self._announce(Trouble(where=f"settling {claim.ref.run_id}", error=str(error)))
                told = True
                await pause(self._abandoned, SETTLE_AGAIN_S)
                if self._abandoned.is_set():
                    return
            else:
                return

    async def cancel(self, run_id: str) -> None:
        """Ask a run under way to stop because a person wants it so; may be asked before it has started."""
        self._cancelled.add(run_id)
        if run_id in self._handles:
            await self._handles[run_id].cancel()

    async def interrupt(self) -> None:
        """Ask every run under way to stop because the engine does; their attempts are given back."""
        for handle in list(self._handles.values()):
            await handle.cancel(interrupted=True)

    async def _outcome(self, claim: Claim) -> Outcome:
        try:
            return await self._supervised(claim, request_of(claim, self._paths))
        except (RunnerUnreachable, OSError) as error:
            return Outcome(verdict=Verdict.UNAVAILABLE, error=str(error))
        except SpawnFailed as error:
            verdict = Verdict.FAILED_PERMANENTLY if error.permanent else Verdict.FAILED
            return Outcome(verdict=verdict, error=str(error))
        except Exception as error:  # noqa: BLE001 - a runner's own fault fails its run, never the engine
            self._announce(Trouble(where=f"runner of {claim.workflow.name}", error=repr(error)))
            return Outcome(verdict=Verdict.FAILED, error=f"internal error: {error!r}")

    async def _supervised(self, claim: Claim, request: RunRequest) -> Outcome:
        if request.run_id in self._cancelled:
            return Outcome(verdict=Verdict.CANCELLED, error="cancelled before it started")
        handle = await self._runner.start(request)
        self._handles[request.run_id] = handle
        try:
            self._announce(started(claim))
            if request.run_id in self._cancelled:  # while it was being started
                await handle.cancel()
            await self._remember(request.run_id, handle.process)
            return await handle.wait()
        finally:
            del self._handles[request.run_id]

    async def _remember(self, run_id: str, process: ProcessFacts | None) -> None:
        """Note the run's process. A disk that is full now must not part us from what already runs."""
        if process is None:
            return
        try:
            await self._store.write(lambda tx: runs.set_process(tx, run_id, process))
        except StoreUnusable as error:
            self._announce(Trouble(where=f"noting the process of {run_id}", error=str(error)))


def started(claim: Claim) -> RunStarted:
    """The notice of a run's start."""
    return RunStarted(
        run_id=claim.ref.run_id,
        event_id=claim.event.id,
        registration=claim.registration.spec.name,
        workflow=claim.workflow.name,
        attempt=claim.attempt,
        max_attempts=claim.event.attempt_limit or claim.registration.spec.max_attempts,
    )


def request_of(claim: Claim, paths: Paths) -> RunRequest:
    """What the runner is asked; the run's directory is made, empty and private."""
    run_dir = paths.runs / claim.ref.run_id
    paths.runs.mkdir(mode=0o700, exist_ok=True)
    run_dir.mkdir(mode=0o700, exist_ok=True)
    return RunRequest(
        run_id=claim.ref.run_id,
        event_id=claim.event.id,
        registration=claim.registration.spec.name,
        registration_id=claim.registration.id,
        workflow=claim.workflow,
        workflow_version=claim.workflow_version,
        attempt=claim.attempt,
        idempotency_key=claim.event.idempotency_key,
        engine_key=engine_key(claim.event.idempotency_key, claim.attempt),
        params=claim.params,
        run_dir=run_dir,
        log_path=claim.log,
        home=paths.home,
        planned_at=claim.event.planned_at,
        cause=claim.event.cause,
    )
