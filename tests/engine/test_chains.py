"""Chains: another run's end as an event, once, and never in a circle."""

from __future__ import annotations

import pytest

from tests.engine.rig import Rig, commits_of, spec
from tests.fakes import failed, succeeded
from tests.store.raw import on_writer
from tocsin.event import Accepted, Cause, Event, State
from tocsin.notices import Trouble
from tocsin.registration import Registration
from tocsin.runs import Outcome, Verdict
from tocsin.store import ledger
from tocsin.trigger import Json, Kind, TriggerSpec

PERMANENT = Outcome(verdict=Verdict.FAILED_PERMANENTLY, exit_code=65, error="exit code 65")
CANCELLED = Outcome(verdict=Verdict.CANCELLED)
LOST = Outcome(verdict=Verdict.LOST)


def after(
    name: str = "follower", on: str = "success", workflow: str = "next", trigger: str | None = None
) -> TriggerSpec:
    """A trigger that waits for the end of a trigger, else of the workflow `w`."""
    whom: dict[str, Json] = {"workflow": "w"} if trigger is None else {"trigger": trigger}
    return spec(name, kind=Kind.RUN, component="after", workflow=workflow, props={**whom, "on": on})


async def finish(rig: Rig, row: Registration, outcome: Outcome, delivery: str = "d") -> Event:
    """Accept one event, claim it, end its run so."""
    answer = await rig.accepted(row, delivery)
    claim = next(claim for claim in rig.taken if claim.event.id == answer.event_id)
    rig.taken.remove(claim)
    await rig.settle(claim, outcome)
    return await rig.event(answer.event_id)


@pytest.mark.parametrize(
    ("outcome", "fires"),
    [
        (succeeded(), {"success", "any"}),
        (PERMANENT, {"failure", "any"}),
        (failed(), {"failure", "any"}),
        (LOST, {"failure", "any"}),
        (CANCELLED, set()),
    ],
)
async def test_each_follower_hears_the_ends_it_asked_for(
    open_engine: Rig, outcome: Outcome, fires: set[str]
) -> None:
    source = await open_engine.add(spec(max_attempts=1))
    followers = {on: await open_engine.add(after(on, on)) for on in ("success", "failure", "any")}
    await finish(open_engine, source, outcome)
    heard = {on for on, row in followers.items() if await open_engine.events(row)}
    assert heard == fires


async def test_a_follower_names_a_workflow_or_a_trigger(open_engine: Rig) -> None:
    source = await open_engine.add(spec("source"))
    other = await open_engine.add(spec("other"))
    by_workflow = await open_engine.add(after("by-workflow"))
    by_trigger = await open_engine.add(after("by-trigger", trigger="source"))
    for row in (source, other):
        await finish(open_engine, row, succeeded())
    assert len(await open_engine.events(by_workflow)) == 2
    assert len(await open_engine.events(by_trigger)) == 1


async def test_nothing_is_heard_before_the_event_is_over(open_engine: Rig) -> None:
    source = await open_engine.add(spec(max_attempts=3))
    follower = await open_engine.add(after(on="any"))
    await finish(open_engine, source, failed())
    assert await open_engine.events(follower) == []


async def test_the_end_and_its_echo_are_one_transaction_and_the_echo_is_claimed_in_it(
    open_engine: Rig,
) -> None:
    source, follower = await open_engine.add(), await open_engine.add(after())
    await open_engine.accept(source)
    commits = await commits_of(open_engine)
    await open_engine.settle(open_engine.taken.pop(), succeeded())
    assert len(commits) == 1
    assert await open_engine.states(follower) == ["claimed"]


async def test_one_end_is_one_delivery(open_engine: Rig) -> None:
    source, follower = await open_engine.add(), await open_engine.add(after())
    event = await finish(open_engine, source, succeeded())
    (echo,) = await open_engine.events(follower)
    assert echo.delivery_id == event.id
    answer = await open_engine.accept(follower, event.id)
    assert not isinstance(answer, Accepted)


async def test_the_follower_is_told_what_ended(open_engine: Rig) -> None:
    source, follower = await open_engine.add(spec("source")), await open_engine.add(after(on="any"))
    event = await finish(open_engine, source, PERMANENT)
    (echo,) = await open_engine.events(follower)
    envelope = await open_engine.read(lambda tx: ledger.envelope_of(tx, echo.id))
    assert envelope["event_type"] == "failed"
    assert envelope["raw_payload"] == {
        "workflow": "w",
        "registration": "source",
        "run_id": event.run_id,
        "state": "failed",
        "exit_code": 65,
        "error": "exit code 65",
        "result": {},
    }
    assert echo.cause == Cause(run_id=event.run_id or "", lineage=(source.id,))


async def test_a_follower_that_is_off_hears_nothing_and_stops_nobody(open_engine: Rig) -> None:
    source = await open_engine.add()
    off, on = await open_engine.add(after("off")), await open_engine.add(after("on"))
    await open_engine.disarm(off)
    assert (await finish(open_engine, source, succeeded())).state is State.SUCCEEDED
    assert await open_engine.events(off) == []
    assert len(await open_engine.events(on)) == 1


async def test_a_circle_is_cut_and_named(open_engine: Rig) -> None:
    """a starts b, b would start a."""
    a = await open_engine.add(after("a", trigger="b", workflow="wa"))
    b = await open_engine.add(after("b", trigger="a", workflow="wb"))
    await finish(open_engine, a, succeeded())
    assert [claim.registration.id for claim in open_engine.taken] == [b.id]
    await open_engine.settle(open_engine.taken.pop(), succeeded())
    assert open_engine.taken == []
    assert await open_engine.states(a) == ["succeeded"]
    cut = "SELECT registration_id, reason, detail FROM journal WHERE what = 'chain cut'"
    assert await on_writer(open_engine.store, cut) == [
        (a.id, "cycle, before a", f'{{"lineage":["{a.id}","{b.id}"]}}')
    ]
    assert len(open_engine.notices.of(Trouble)) == 1


async def test_a_trigger_that_follows_itself_runs_once(open_engine: Rig) -> None:
    row = await open_engine.add(after("self", workflow="w", on="any"))
    await finish(open_engine, row, succeeded())
    assert await open_engine.states() == ["succeeded"]


async def test_a_chain_is_eight_deep_and_no_deeper(open_engine: Rig) -> None:
    first = await open_engine.add(spec("t0", workflow="w0"))
    for n in range(1, 12):
        await open_engine.add(after(f"t{n}", trigger=f"t{n - 1}", workflow=f"w{n}"))
    await open_engine.accept(first)
    ran = []
    while open_engine.taken:
        claim = open_engine.taken.pop()
        ran.append(claim.registration.spec.name)
        await open_engine.settle(claim, succeeded())
    assert ran == [f"t{n}" for n in range(9)]  # t8 has eight causes before it
    depths = [0 if event.cause is None else len(event.cause.lineage) for event in await open_engine.events()]
    assert depths == list(range(9))
    cut = "SELECT reason FROM journal WHERE what = 'chain cut'"
    assert await on_writer(open_engine.store, cut) == [("depth, before t9",)]


async def test_a_cause_from_outside_counts_too(open_engine: Rig) -> None:
    """A run that fires a trigger by hand hands its own causes on."""
    source, follower = await open_engine.add(), await open_engine.add(after())
    await open_engine.accept(source, cause=Cause(run_id="run_0", lineage=(follower.id,)))
    await open_engine.settle(open_engine.taken.pop(), succeeded())
    assert await open_engine.events(follower) == []
