"""Takes ready events for this engine, never more than there are seats.

A seat is a live claim, counted anew each time; nothing is stored that could leak. ``Claims.take``
runs inside whatever transaction has just made an event ready, so that the answer to a webhook can
carry a run id at no extra commit. What was taken is launched after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from tocsin.engine.deferring import put_off
from tocsin.engine.disarming import disarm
from tocsin.engine.gates import Drop, Gate, Go, Hold, Later, Stay, TurnOff, gate
from tocsin.event import Event, Origin
from tocsin.identity import CLAIM, RUN, engine_key, new_id
from tocsin.instants import rfc3339
from tocsin.notices import EventDropped
from tocsin.registration import Registration
from tocsin.seams import Announce
from tocsin.settings import EngineSettings, Workflow
from tocsin.store import events, lanes, ledger, registrations, runs, turns, workflows
from tocsin.store.connection import Tx
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRef:
    """What settling needs to know a claim by."""

    event_id: str
    registration_id: str
    claim_id: str
    claimed_at: datetime
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An event in this engine's hands, with all its run needs as it stood at the claim."""

    ref: ClaimRef
    event: Event
    attempt: int
    registration: Registration
    workflow: Workflow
    workflow_version: int
    params: Mapping[str, Json]
    log: Path


class Claims:
    """This engine's hand in the queue.

    owner: this engine's instance id. origin: take only events of this origin (and what stands
    before them in their lanes), all when None.
    live: ids of claims with an attempt behind them. is_open: nothing is taken while False.
    """

    def __init__(
        self,
        *,
        owner: str,
        settings: EngineSettings,
        logs: Path,
        announce: Announce,
        origin: Origin | None = None,
    ) -> None:
        self.owner = owner
        self.settings = settings
        self.origin = origin
        self.is_open = False
        self.live: set[str] = set()
        self._logs = logs
        self._announce = announce
        self._launch: Callable[[Claim], None] | None = None

    def open(self, launch: Callable[[Claim], None]) -> None:
        """From now on, what is taken is launched by this."""
        self._launch = launch
        self.is_open = True

    def close(self) -> None:
        """Take nothing more; what was taken goes on."""
        self.is_open = False

    def take(self, tx: Tx, now: datetime) -> Sequence[Claim]:
        """Claim what is ready, as far as seats go, in turn; launched after the commit."""
        if not self.is_open:
            return []
        turns.give(tx, now)
        taken: list[Claim] = []
        while True:  # what a gate turns away leaves its seat to the next
            found = self._candidates(tx)
            passed = [self._pass(tx, turn, event, now) for turn, event in found]
            taken += [claim for claim in passed if isinstance(claim, Claim)]
            if all(isinstance(one, Stay) for one in passed):
                break
        for claim in taken:
            self.live.add(claim.ref.claim_id)
        tx.after_commit(lambda: self._start(taken))
        return taken

    def _start(self, taken: Sequence[Claim]) -> None:
        for claim in taken:
            if self._launch is not None:
                self._launch(claim)

    def _candidates(self, tx: Tx) -> list[tuple[int, Event]]:
        """As many as there are free seats, with their turns, in turn."""
        used = events.claims_by_workflow(tx)
        free = self.settings.max_concurrent_runs - sum(used.values())
        if free <= 0:
            return []
        found: list[tuple[int, Event]] = []
        for workflow in events.waiting_workflows(tx):
            limit = min(free, self._limit(tx, workflow) - used.get(workflow, 0))
            if limit > 0:
                found += events.ready(tx, workflow, limit=limit, origin=self.origin)
        found.sort(key=lambda pair: (pair[0], pair[1].seq))
        return found[:free]

    def _limit(self, tx: Tx, workflow: str) -> int:
        found = workflows.by_name(tx, workflow)
        own = None if found is None else found[0].max_concurrent
        return self.settings.max_concurrent_runs_per_workflow if own is None else own

    def _pass(self, tx: Tx, turn: int, event: Event, now: datetime) -> Claim | Gate:
        """Claim the event, or do what the gate says instead; either way the queue moved, unless it stays."""
        registration = registrations.by_id(tx, event.registration_id)
        found = workflows.by_name(tx, event.workflow)
        if registration is None or found is None:
            return Stay()
        answer = gate(tx, registration, now)
        match answer:
            case Go():
                turns.serve(tx, registration.id, turn)
                return self._claim(tx, event, registration, found, now)
            case Drop(reason=reason):
                self._drop(tx, event, reason, now)
            case Hold(reason=reason):
                events.hold(tx, event.id, reason)
                lanes.promote(tx, event.lane, now)
            case Later(at=at):
                put_off(tx, event, registration, at, now=now, announce=self._announce)
            case TurnOff(disarm=why):
                disarm(tx, registration, why.reason, why.detail, now=now, announce=self._announce)
        return answer

    def _claim(
        self,
        tx: Tx,
        event: Event,
        registration: Registration,
        found: tuple[Workflow, int],
        now: datetime,
    ) -> Claim | Stay:
        run_id, claim_id = new_id(RUN, now), new_id(CLAIM, now)
        if not events.claim(tx, event.id, claim_id=claim_id, owner=self.owner, run_id=run_id, now=now):
            return Stay()
        ref = ClaimRef(
            event_id=event.id,
            registration_id=registration.id,
            claim_id=claim_id,
            claimed_at=now,
            run_id=run_id,
        )
        claim = Claim(
            ref=ref,
            event=event,
            attempt=event.attempts + 1,
            registration=registration,
            workflow=found[0],
            workflow_version=found[1],
            params=params(event, registration, ledger.envelope_of(tx, event.id), run_id=run_id, now=now),
            log=self._logs / f"{run_id}.log",
        )
        runs.insert(tx, new_run(claim), now)
        return claim

    def _drop(self, tx: Tx, event: Event, reason: str, now: datetime) -> None:
        """A waiting event leaves the queue unrun; its lane goes on."""
        if not events.drop(tx, event.id, reason, now):
            return  # its trigger was turned off a moment ago, and it with it
        lanes.promote(tx, event.lane, now)
        notice = EventDropped(event_id=event.id, registration=event.registration, reason=reason)
        tx.after_commit(partial(self._announce, notice))


def params(
    event: Event, registration: Registration, envelope: Mapping[str, Json], *, run_id: str, now: datetime
) -> dict[str, Json]:
    """The document a run is given. The payload lives under `event`, so it cannot shadow `config`."""
    last, planned = registration.last_fired_at, event.planned_at
    return {
        "trigger_ref": registration.spec.name,
        "event": {"event_id": event.id, **envelope},
        "config": registration.spec.config,
        "state": registration.state,
        "last_fired_at": None if last is None else rfc3339(last),
        "now": rfc3339(now),
        "is_first_run": registration.run_count == 0,
        "attempt": event.attempts + 1,
        "idempotency_key": event.idempotency_key,
        "run_id": run_id,
        "event_id": event.id,
        "planned_at": None if planned is None else rfc3339(planned),
    }


def new_run(claim: Claim) -> runs.NewRun:
    """The run's row; the envelope stays with its delivery."""
    return runs.NewRun(
        id=claim.ref.run_id,
        event_id=claim.event.id,
        registration_id=claim.registration.id,
        workflow=claim.workflow.name,
        workflow_version=claim.workflow_version,
        attempt=claim.attempt,
        engine_key=engine_key(claim.event.idempotency_key, claim.attempt),
        params={key: value for key, value in claim.params.items() if key != "event"},
        log=str(claim.log),
    )
