"""`tocsin test`: one run of a trigger's command that changes nothing in the trigger.

Hermetic: the clock and the ids that the run sees are frozen; no ledger, cursor, streak, state or
budget is touched. What remains is one row in `runs`, marked as a test, and its log.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tocsin.config.paths import make_private
from tocsin.daemon.lock import new_holder
from tocsin.daemon.matching import Matches, matches, sample
from tocsin.daemon.samples import SAMPLES
from tocsin.daemon.wiring import Core, open_core
from tocsin.engine.choosing import named, payload_of
from tocsin.engine.claims import params
from tocsin.engine.controls import by_hand
from tocsin.engine.runners.command import CommandRunner
from tocsin.envelope import envelope
from tocsin.errors import NotFound, SpawnFailed
from tocsin.event import Event, State
from tocsin.identity import RUN, engine_key, idempotency_key, new_id
from tocsin.registration import Registration
from tocsin.runs import TEST_RUN, Outcome, RunRequest, RunState, Verdict
from tocsin.settings import Paths, Workflow
from tocsin.store import events, registrations, runs
from tocsin.store.connection import Tx
from tocsin.trigger import Json

FROZEN: Final = datetime(2026, 1, 1, tzinfo=UTC)
EVENT_ID: Final = "evt_test"
KEY: Final = idempotency_key("test")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestWish:
    """What to test with. payload: given JSON, None means the sample. event_id: an event's own envelope."""

    name: str
    payload: Json = None
    event_id: str | None = None
    run: bool = True


async def test_run(paths: Paths, wish: TestWish, *, environ: Mapping[str, str]) -> dict[str, Json]:
    """The document of `tocsin test`. Raises NotFound, ConfigInvalid; SpawnFailed only without a run."""
    make_private(paths)
    async with open_core(paths, owner=new_holder("fire").owner, environ=environ) as core:
        registration, workflow, version = await subject(core, wish.name)
        there = None if given(wish) else await asyncio.to_thread(matches, registration.spec)
        found = await core.store.read(lambda tx: arrived(tx, registration, wish, there))
        more = {} if there is None else {"matches": there.document()}
        run_id = new_id(RUN, core.clock.now())
        with tempfile.TemporaryDirectory(prefix="tocsin-test-") as folder:
            log = paths.logs / f"{run_id}.log"
            request = request_of(
                registration, workflow, version, found, run_dir=Path(folder), log=log, home=paths.home
            )
            runner = CommandRunner(environ)
            if not wish.run:
                return {**document(None, None), "would": would(runner, request), **more}
            began = core.clock.now()
            outcome = await outcome_of(runner, request)
            await record(core, registration, request, outcome, run_id, began)
            return {**document(run_id, outcome), "would": would_or_none(runner, request), **more}


async def subject(core: Core, name: str) -> tuple[Registration, Workflow, int]:
    """The trigger as the file has it now, with the state of its row if there is one."""
    loaded = core.controls.configuring.load().configuration
    row = await core.store.read(lambda tx: registrations.by_name(tx, name))
    spec = loaded.triggers.get(name, None if row is None else row.spec)
    if spec is None:
        row = await core.store.read(lambda tx: named(tx, name))  # raises NotFound with the nearest names
        spec = row.spec
    workflow = loaded.workflows.get(spec.workflow)
    if workflow is None:
        raise NotFound(thing="workflow", name=spec.workflow)
    state = None if row is None else row.state
    registration = Registration(
        id="trg_test",
        spec=spec,
        installation_id="ins_test",
        workflow_version=1 if row is None else row.workflow_version,
        state=state,
        armed_at=FROZEN,
        created_at=FROZEN,
        run_count=0 if row is None else row.run_count,
        last_fired_at=None if row is None or row.last_fired_at is None else FROZEN,
    )
    return registration, workflow, registration.workflow_version


def given(wish: TestWish) -> bool:
    """Whether it says what to test with."""
    return wish.payload is not None or wish.event_id is not None


def arrived(tx: Tx, registration: Registration, wish: TestWish, there: Matches | None) -> dict[str, Json]:
    """The envelope to test with. Raises NotFound for an unknown event, Refused for one without a payload."""
    if wish.event_id is not None:
        if events.by_id(tx, wish.event_id) is None:
            raise NotFound(thing="event", name=wish.event_id)
        return dict(payload_of(tx, wish.event_id).envelope)
    payload = wish.payload
    if payload is None:
        payload = sample(registration.spec, there) or SAMPLES[registration.spec.component]
    return envelope(by_hand(registration, payload, "test", None, FROZEN), FROZEN)


def request_of(
    registration: Registration,
    workflow: Workflow,
    version: int,
    found: Mapping[str, Json],
    *,
    run_dir: Path,
    log: Path,
    home: Path,
) -> RunRequest:
    """What the runner is asked, with frozen ids and clock."""
    event = frozen_event(registration)
    return RunRequest(
        run_id=TEST_RUN,
        event_id=EVENT_ID,
        registration=registration.spec.name,
        registration_id=registration.id,
        workflow=workflow,
        workflow_version=version,
        attempt=1,
        idempotency_key=KEY,
        engine_key=engine_key(KEY, 1),
        params=params(event, registration, found, run_id=TEST_RUN, now=FROZEN),
        run_dir=run_dir,
        log_path=log,
        home=home,
    )


def frozen_event(registration: Registration) -> Event:
    """The event a test pretends to run for."""
    occurrence = by_hand(registration, None, "test", None, FROZEN)
    return Event(
        seq=0,
        id=EVENT_ID,
        registration_id=registration.id,
        registration=registration.spec.name,
        workflow=registration.spec.workflow,
        kind=occurrence.kind,
        origin=occurrence.origin,
        state=State.PENDING,
        reason=None,
        count=1,
        lane=None,
        attempts=0,
        delivery_id=occurrence.delivery_id,
        idempotency_key=KEY,
        occurred_at=FROZEN,
        planned_at=None,
        created_at=FROZEN,
        next_fire_at=None,
        run_id=None,
        settled_at=None,
        missed=0,
        cause=None,
        replay_of=None,
        attempt_limit=None,
        cancel_requested_at=None,
        cancel_reason=None,
    )


def would(runner: CommandRunner, request: RunRequest) -> dict[str, Json]:
    """What would be executed. Raises SpawnFailed."""
    return {**runner.preview(request), "params": dict(request.params)}


def would_or_none(runner: CommandRunner, request: RunRequest) -> dict[str, Json] | None:
    """The same after a run, whose failure has been told already."""
    try:
        return would(runner, request)
    except SpawnFailed:
        return None


async def outcome_of(runner: CommandRunner, request: RunRequest) -> Outcome:
    """Run it to its end."""
    try:
        return await (await runner.start(request)).wait()
    except SpawnFailed as error:
        return Outcome(verdict=Verdict.FAILED, error=str(error))


async def record(
    core: Core,
    registration: Registration,
    request: RunRequest,
    outcome: Outcome,
    run_id: str,
    began: datetime,
) -> None:
    """One row, for a trigger that has one, so that `tocsin runs` and `tocsin logs` show the test."""
    now = core.clock.now()

    def step(tx: Tx) -> None:
        row = registrations.by_name(tx, registration.spec.name)
        if row is None:
            return
        kept = {key: value for key, value in request.params.items() if key != "event"}
        run = runs.NewRun(
            id=run_id,
            event_id=None,
            registration_id=row.id,
            workflow=request.workflow.name,
            workflow_version=request.workflow_version,
            attempt=1,
            engine_key=request.engine_key,
            params=kept,
            log=str(request.log_path),
        )
        runs.insert(tx, run, began)
        runs.finish(tx, run_id, state_of(outcome), outcome, error=outcome.error, now=now)

    await core.store.write(step)


def state_of(outcome: Outcome) -> RunState:
    return RunState.SUCCEEDED if outcome.verdict is Verdict.SUCCEEDED else RunState.FAILED


def document(run_id: str | None, outcome: Outcome | None) -> dict[str, Json]:
    """INTERFACE section 4, as for `fire`; state is `not run` when nothing ran."""
    return {
        "event_id": EVENT_ID,
        "run_id": run_id,
        "state": "not run" if outcome is None else state_of(outcome),
        "duplicate": False,
        "result": None if outcome is None else dict(outcome.outputs.result) or None,
        "exit_code": None if outcome is None else outcome.exit_code,
        "error": None if outcome is None else outcome.error,
    }
