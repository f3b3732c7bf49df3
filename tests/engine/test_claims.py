"""Claims: never more than the seats, never more than `max_runs`, the longest due first."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from tests.engine.rig import Rig, limits, open_rig, spec
from tests.fakes import failed, succeeded
from tests.store.raw import on_writer
from tocsin.event import Origin
from tocsin.instants import rfc3339
from tocsin.runs import RunState
from tocsin.settings import Workflow
from tocsin.store import events, workflows
from tocsin.trigger import Overlap


class TestSeats:
    async def test_never_more_than_the_engine_has(self, open_engine: Rig) -> None:
        open_engine.claims.settings = limits(total=3, per_workflow=3)
        rows = [
            await open_engine.add(spec(f"t{n}", workflow=f"w{n % 4}", overlap=Overlap.ALLOW))
            for n in range(8)
        ]
        await asyncio.gather(*(open_engine.accept(row, f"d{n}") for n in range(5) for row in rows))
        settled = 0
        while open_engine.taken:
            states = await open_engine.states()
            assert states.count("claimed") == len(open_engine.taken) == min(3, 40 - settled)
            await open_engine.settle(open_engine.taken.pop(0), succeeded())
            settled += 1
        assert set(await open_engine.states()) == {"succeeded"}

    async def test_never_more_than_a_workflow_has(self, open_engine: Rig) -> None:
        open_engine.claims.settings = limits(total=10, per_workflow=2)
        rows = [
            await open_engine.add(spec(name, workflow=name, overlap=Overlap.ALLOW)) for name in ("a", "b")
        ]
        await asyncio.gather(*(open_engine.accept(row, f"d{n}") for n in range(5) for row in rows))
        assert sorted(claim.workflow.name for claim in open_engine.taken) == ["a", "a", "b", "b"]

    async def test_a_workflows_own_limit_comes_before_the_engines(self, open_engine: Rig) -> None:
        open_engine.claims.settings = limits(total=10, per_workflow=2)
        await open_engine.workflow("one", max_concurrent=1)
        await open_engine.workflow("many", max_concurrent=5)
        for name in ("one", "many"):
            row = await open_engine.add(spec(name, workflow=name, overlap=Overlap.ALLOW))
            await asyncio.gather(*(open_engine.accept(row, f"d{n}") for n in range(8)))
        names = [claim.workflow.name for claim in open_engine.taken]
        assert (names.count("one"), names.count("many")) == (1, 5)

    async def test_seats_of_a_full_workflow_go_to_the_others(self, open_engine: Rig) -> None:
        open_engine.claims.settings = limits(total=3, per_workflow=2)
        busy = await open_engine.add(spec("busy", workflow="a", overlap=Overlap.ALLOW))
        await asyncio.gather(*(open_engine.accept(busy, f"d{n}") for n in range(50)))
        other = await open_engine.add(spec("other", workflow="b"))
        assert (await open_engine.accepted(other)).run_id is not None

    async def test_two_engines_on_one_queue_never_claim_one_event_twice(self, rig: Rig) -> None:
        """The lock forbids it; the queue would bear it all the same."""
        row = await rig.add(spec(overlap=Overlap.ALLOW))
        for n in range(20):
            await rig.accept(row, f"d{n}")
        rig.claims.settings = limits(total=20, per_workflow=20)
        async with open_rig(rig.paths.home, owner="own_2") as second:
            second.claims.settings = limits(total=20, per_workflow=20)
            for one in (rig, second):
                one.open()
            await asyncio.gather(*(one.take() for one in (rig, second, rig, second)))
            claimed = [claim.event.id for one in (rig, second) for claim in one.taken]
        assert len(claimed) == len(set(claimed)) == 20

    async def test_new_limits_hold_from_the_next_claim_on(self, open_engine: Rig) -> None:
        open_engine.claims.settings = limits(total=1)
        row = await open_engine.add(spec(overlap=Overlap.ALLOW))
        for n in range(4):
            await open_engine.accept(row, f"d{n}")
        open_engine.claims.settings = limits(total=3)
        await open_engine.take()
        assert len(open_engine.taken) == 3


class TestMaxRuns:
    async def test_successes_and_claims_together_never_pass_it(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(overlap=Overlap.ALLOW, max_runs=3))
        for n in range(8):
            await open_engine.accept(row, f"d{n}")
        assert len(open_engine.taken) == 3
        await open_engine.settle(open_engine.taken.pop(0), succeeded())
        assert len(open_engine.taken) == 2  # 1 success and 2 under way
        await open_engine.settle(open_engine.taken.pop(0), failed())
        assert len(open_engine.taken) == 2  # a failure frees its place
        for _ in range(2):
            await open_engine.settle(open_engine.taken.pop(0), succeeded())
        assert (await open_engine.row(row.id)).disabled_reason == "max_runs"
        assert sorted(set(await open_engine.states())) == ["dropped", "succeeded"]
        assert (await open_engine.states()).count("succeeded") == 3

    async def test_claims_under_an_earlier_workflow_count_as_well(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(overlap=Overlap.ALLOW, max_runs=1))
        await open_engine.accept(row, "d0")
        await open_engine.workflow("other")
        await open_engine.write(
            lambda tx: tx._connection.execute("UPDATE registrations SET workflow = 'other'").fetchall()
        )
        await open_engine.accept(row, "d1")
        await open_engine.take()
        assert await open_engine.states() == ["claimed", "pending"]

    async def test_who_has_used_it_up_does_not_stand_in_the_others_way(self, open_engine: Rig) -> None:
        open_engine.claims.settings = limits(total=2)
        full = await open_engine.add(spec("full", overlap=Overlap.ALLOW, max_runs=1))
        for n in range(5):
            await open_engine.accept(full, f"d{n}")
        other = await open_engine.add(spec("other"))
        assert (await open_engine.accepted(other)).run_id is not None


class TestOrder:
    async def test_the_longest_due_comes_first_across_workflows(self, rig: Rig) -> None:
        rows = [await rig.add(spec(name, workflow=name, overlap=Overlap.ALLOW)) for name in ("b", "a")]
        for n in range(3):
            for row in rows:
                rig.clock.advance(1)
                await rig.accept(row, f"{row.spec.name}{n}")
        rig.claims.settings = limits(total=6, per_workflow=6)
        rig.open()
        await rig.take()
        assert [claim.event.delivery_id for claim in rig.taken] == ["b0", "a0", "b1", "a1", "b2", "a2"]

    async def test_of_the_same_instant_the_first_accepted_comes_first(self, rig: Rig) -> None:
        row = await rig.add(spec(overlap=Overlap.ALLOW))
        for n in range(4):
            await rig.accept(row, f"d{n}")
        rig.open()
        await rig.take()
        assert [claim.event.delivery_id for claim in rig.taken] == ["d0", "d1", "d2", "d3"]

    async def test_fractions_of_one_second_are_in_order(self, rig: Rig) -> None:
        """QU-08: .5 s and .500001 s (as text the shorter one sorts last), run and listed as they came."""
        row = await rig.add(spec(overlap=Overlap.ALLOW))
        for n, fraction in enumerate((0, 0.000001, 0.499999, 0.0000005, 0.000001)):
            rig.clock.advance(fraction)
            await rig.accept(row, f"d{n}")
        rig.claims.settings = limits(total=5, per_workflow=5)
        rig.open()
        await rig.take()
        assert [claim.event.delivery_id for claim in rig.taken] == ["d0", "d1", "d2", "d3", "d4"]
        listed = await rig.read(
            lambda tx: events.listed(tx, registration_id=None, state=None, since=None, limit=9)
        )
        assert [event.delivery_id for event in listed] == ["d4", "d3", "d2", "d1", "d0"]

    async def test_what_is_due_exactly_now_is_due(self, open_engine: Rig) -> None:
        """QU-08."""
        await open_engine.accept(await open_engine.add())
        await open_engine.settle(open_engine.taken.pop(), failed())
        open_engine.clock.advance(timedelta(seconds=2) - timedelta(microseconds=1))
        assert await open_engine.take() == []
        open_engine.clock.advance(timedelta(microseconds=1))
        assert len(await open_engine.take()) == 1


class TestOrigin:
    async def test_only_fired_events_and_what_stands_before_them(self, rig: Rig) -> None:
        rig.claims.origin = Origin.MANUAL
        rig.open()
        lone, laned = await rig.add(spec("lone")), await rig.add(spec("laned"))
        await rig.accept(lone, "hook")
        await rig.accept(laned, "hook")
        assert rig.taken == []
        await rig.fire(laned, "by hand")
        assert [claim.event.delivery_id for claim in rig.taken] == ["hook"]
        assert rig.taken[0].registration.spec.name == "laned"
        await rig.settle(rig.taken.pop(), succeeded())
        assert [claim.event.delivery_id for claim in rig.taken] == ["by hand"]


class TestWhatARunIsTold:
    async def test_the_params_hold_all_that_design_names(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(config={"out": "/srv"}))
        answer = await open_engine.accepted(row, "d1", payload={"config": "not this one"})
        (claim,) = open_engine.taken
        now = rfc3339(open_engine.clock.now())
        envelope = claim.params["event"]
        assert isinstance(envelope, dict)
        assert {key: value for key, value in claim.params.items() if key != "event"} == {
            "trigger_ref": "t",
            "config": {"out": "/srv"},
            "state": None,
            "last_fired_at": None,
            "now": now,
            "is_first_run": True,
            "attempt": 1,
            "idempotency_key": claim.event.idempotency_key,
            "run_id": answer.run_id,
            "event_id": answer.event_id,
            "planned_at": None,
        }
        assert (envelope["event_id"], envelope["delivery_id"]) == (answer.event_id, "d1")
        assert envelope["raw_payload"] == {"config": "not this one"}

    async def test_state_last_fire_and_first_run_follow_the_last_success(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        fired = open_engine.clock.now()
        await open_engine.accept(row, "d0")
        open_engine.clock.advance(60)
        await open_engine.settle(open_engine.taken.pop(), succeeded(state={"v": 1}))
        await open_engine.accept(row, "d1")
        params = open_engine.taken.pop().params
        assert (params["state"], params["is_first_run"]) == ({"v": 1}, False)
        assert params["last_fired_at"] == rfc3339(fired)

    async def test_it_is_the_first_run_until_one_succeeds(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        await open_engine.accept(row)
        await open_engine.settle(open_engine.taken.pop(), failed(state=[1]))
        open_engine.clock.advance(10)
        await open_engine.take()
        params = open_engine.taken.pop().params
        assert (params["is_first_run"], params["attempt"], params["state"]) == (True, 2, [1])

    async def test_a_run_uses_the_definition_current_at_its_claim(self, open_engine: Rig) -> None:
        await open_engine.accept(await open_engine.add())
        await open_engine.settle(open_engine.taken.pop(), failed())
        changed = Workflow(name="w", command=("echo", "new"))
        await open_engine.write(lambda tx: workflows.put(tx, changed, open_engine.clock.now()))
        open_engine.clock.advance(10)
        await open_engine.take()
        (claim,) = open_engine.taken
        assert (claim.workflow, claim.workflow_version) == (changed, 2)
        versions = [run.workflow_version for run in await open_engine.runs(claim.event.id)]
        assert versions == [1, 2]

    async def test_the_run_row_is_written_with_the_claim(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        answer = await open_engine.accepted(row)
        (run,) = await open_engine.runs(answer.event_id)
        (claim,) = open_engine.taken
        assert (run.id, run.state, run.attempt) == (claim.ref.run_id, RunState.RUNNING, 1)
        assert (run.registration, run.workflow, run.started_at) == ("t", "w", open_engine.clock.now())
        assert run.log == str(open_engine.paths.logs / f"{run.id}.log")
        stored = await on_writer(
            open_engine.store, "SELECT engine_key, json_type(params, '$.event') FROM runs"
        )
        assert stored == [(f"{claim.event.idempotency_key}:1", None)]  # the envelope stays with its delivery
