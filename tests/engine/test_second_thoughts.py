"""`retry` and `replay`: an event once more, as itself or as a new one."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.deciding import cancel, follower, noted, replay, retry, waiting
from tests.engine.rig import Rig, ended, scheduled, spec
from tests.fakes import failed, succeeded
from tocsin.errors import Refused
from tocsin.event import Cause, Event, Origin, Skipped, State
from tocsin.notices import EventRecorded, RunEnded, RunStarted
from tocsin.registration import DisabledReason, Registration
from tocsin.runs import Outcome, Verdict
from tocsin.store import ledger
from tocsin.trigger import Overlap


class TestRetryWhatWaits:
    async def test_the_wait_is_skipped(self, open_engine: Rig) -> None:
        _, event = await ended(open_engine, failed())
        (event,) = await retry(open_engine, event.id)
        assert (event.state, event.next_fire_at) == (State.PENDING, open_engine.clock.now())
        assert await noted(open_engine, event) == [("retried", "by hand: without waiting")]
        await open_engine.look()
        assert open_engine.taken.pop().attempt == 2

    async def test_it_has_no_attempt_more_for_it(self, open_engine: Rig) -> None:
        _, event = await ended(open_engine, failed(), await open_engine.add(spec(max_attempts=2)))
        await retry(open_engine, event.id)
        await open_engine.look()
        await open_engine.settle(open_engine.taken.pop(), failed())
        assert (await open_engine.event(event.id)).state is State.FAILED

    async def test_one_that_is_due_has_nothing_to_skip(self, rig: Rig) -> None:
        (first,) = await waiting(rig, 1)
        with pytest.raises(Refused, match="due already"):
            await retry(rig, first)


class TestRetryWhatFailed:
    @pytest.mark.parametrize("end", [Verdict.FAILED, Verdict.FAILED_PERMANENTLY])
    async def test_one_more_attempt_of_the_same_event(self, open_engine: Rig, end: Verdict) -> None:
        row = await open_engine.add(spec(max_attempts=1 if end is Verdict.FAILED else 3))
        _, before = await ended(open_engine, Outcome(verdict=end), row)
        (event,) = await retry(open_engine, before.id)
        assert (event.state, event.settled_at, event.attempt_limit) == (State.PENDING, None, 2)
        assert await noted(open_engine, event) == [("retried", "by hand: one more attempt")]
        await open_engine.look()
        claim = open_engine.taken.pop()
        assert (claim.attempt, claim.event.idempotency_key) == (2, before.idempotency_key)
        await open_engine.settle(claim, failed())
        event = await open_engine.event(event.id)
        assert (event.state, event.reason, event.attempts) == (State.FAILED, "attempts", 2)

    async def test_and_another_one_when_that_fails_too(self, open_engine: Rig) -> None:
        _, event = await ended(open_engine, failed(), await open_engine.add(spec(max_attempts=1)))
        for attempt in (2, 3, 4):
            await retry(open_engine, event.id)
            await open_engine.look()
            assert open_engine.taken[-1].attempt == attempt
            outcome = succeeded() if attempt == 4 else failed()
            await open_engine.settle(open_engine.taken.pop(), outcome)
        assert (await open_engine.event(event.id)).state is State.SUCCEEDED
        assert (await open_engine.named("t")).consecutive_failures == 0

    async def test_the_notice_of_its_start_counts_the_attempt_as_allowed(self, rig: Rig) -> None:
        row = await rig.add(spec(max_attempts=1))
        rig.runner.script = lambda _: failed()
        async with rig.running():
            event_id = (await rig.accepted(row, "d0")).event_id
            await rig.notices.wait_for(RunEnded)
            await retry(rig, event_id)
            await rig.look()
            started = await rig.notices.wait_for(RunStarted, count=2)
            await rig.notices.wait_for(RunEnded, count=2)
        assert (started.attempt, started.max_attempts) == (2, 2)

    async def test_at_a_busy_lane_it_waits_its_turn(self, open_engine: Rig) -> None:
        row, event = await ended(open_engine, failed(), await open_engine.add(spec(max_attempts=1)))
        await open_engine.accept(row, "later")
        await open_engine.accept(row, "last")
        (event,) = await retry(open_engine, event.id)
        assert (event.state, event.reason) == (State.HELD, "lane")
        await open_engine.settle(open_engine.taken.pop(), succeeded())
        assert [claim.event.id for claim in open_engine.taken] == [event.id]

    async def test_several_come_back_in_accept_order(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(max_attempts=1))
        found = [(await ended(open_engine, failed(), row))[1].id for _ in range(3)]
        assert [event.id for event in await retry(open_engine, *reversed(found))] == found[::-1]
        assert [(await open_engine.event(id_)).state for id_ in found] == ["pending", "held", "held"]

    @pytest.mark.parametrize("reason", [DisabledReason.FAILURES, DisabledReason.USER])
    async def test_a_trigger_that_is_off_is_named_with_the_way_out(
        self, open_engine: Rig, reason: DisabledReason
    ) -> None:
        row, event = await ended(open_engine, failed(), await open_engine.add(spec(max_attempts=1)))
        await open_engine.disarm(row, reason)
        with pytest.raises(Refused, match=rf"t is off \({reason}\): `tocsin enable t` arms it again"):
            await retry(open_engine, event.id)

    async def test_a_trigger_that_is_gone_or_over_needs_another_way_out(self, open_engine: Rig) -> None:
        end = open_engine.clock.now() + timedelta(hours=1)
        over = await open_engine.add(spec("over", max_attempts=1, expires_at=end))
        gone = await open_engine.add(spec("gone", max_attempts=1))
        found = [(await ended(open_engine, failed(), row))[1].id for row in (over, gone)]
        open_engine.clock.advance(4000)
        await open_engine.remove(gone)
        for id_, text in zip(found, ("over has expired", "gone was removed"), strict=True):
            with pytest.raises(Refused, match=text):
                await retry(open_engine, id_)

    async def test_other_states_are_told_what_helps(self, open_engine: Rig) -> None:
        row, done = await ended(open_engine, succeeded())
        with pytest.raises(Refused, match=f"it is succeeded: `tocsin replay {done.id}`"):
            await retry(open_engine, done.id)
        await open_engine.accept(row, "running")
        await open_engine.accept(row, "behind")
        running, behind = (await open_engine.events())[1:]
        with pytest.raises(Refused, match=f"it is claimed: `tocsin cancel {running.id}`"):
            await retry(open_engine, running.id)
        with pytest.raises(Refused, match=r"it is held \(lane\): it runs when its turn comes"):
            await retry(open_engine, behind.id)

    async def test_a_chain_hears_of_one_event_once(self, open_engine: Rig) -> None:
        """What waits for success had heard nothing yet; what waits for any end had."""
        rows = {on: await open_engine.add(follower(on, on=on)) for on in ("failure", "success", "any")}
        _, event = await ended(open_engine, failed(), await open_engine.add(spec(max_attempts=1)))
        heard = {on: len(await open_engine.events(row)) for on, row in rows.items()}
        assert heard == {"failure": 1, "success": 0, "any": 1}
        await retry(open_engine, event.id)
        await open_engine.look()
        (claim,) = [claim for claim in open_engine.taken if claim.event.id == event.id]
        await open_engine.settle(claim, succeeded())
        assert {on: len(await open_engine.events(row)) for on, row in rows.items()} == dict.fromkeys(rows, 1)


class TestReplay:
    async def test_a_new_event_with_the_payload_of_the_old_one(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        more = {"body": b'{"n": 1}', "event_type": "push", "safe_headers": {"x-a": "b"}}
        await open_engine.accept(row, "d0", safe_query={"q": "1"}, **more)
        await open_engine.settle(open_engine.taken.pop(), succeeded())
        (old,) = await open_engine.events()
        open_engine.clock.advance(60)
        (new,) = await replay(open_engine, old.id)
        assert (new.state, new.origin, new.kind) == (State.PENDING, Origin.REPLAY, old.kind)
        assert (new.replay_of, new.delivery_id) == (old.id, f"replay:{new.id}")
        assert new.occurred_at == old.occurred_at != new.created_at
        assert new.idempotency_key != old.idempotency_key
        assert await open_engine.event(old.id) == old
        then, now = [
            await open_engine.read(lambda tx, id_=one.id: ledger.delivery_of(tx, id_))  # type: ignore[misc]
            for one in (old, new)
        ]
        assert now.body == then.body == b'{"n": 1}'
        differs = {key for key in then.envelope if then.envelope[key] != now.envelope[key]}
        assert differs == {"delivery_id", "received_at"}
        assert open_engine.notices.of(EventRecorded)[-1].event_id == new.id
        assert await noted(open_engine, old) == [("replayed", new.id)]

    async def test_the_run_is_told_what_the_first_one_was(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled())
        planned = open_engine.clock.now()
        await open_engine.accept(row, "1:0", planned_at=planned, missed=2)
        await open_engine.settle(open_engine.taken.pop(), succeeded())
        open_engine.clock.advance(60)
        (new,) = await replay(open_engine, (await open_engine.events())[0].id)
        await open_engine.look()
        claim = open_engine.taken.pop()
        assert (claim.event.id, claim.event.planned_at, claim.event.missed) == (new.id, planned, 2)

    @pytest.mark.parametrize("state", State)
    async def test_an_event_in_any_state(self, open_engine: Rig, state: State) -> None:
        old = await in_state(open_engine, state)
        assert old.state is state
        (new,) = await replay(open_engine, old.id)
        assert (new.replay_of, new.state in (State.PENDING, State.HELD)) == (old.id, True)

    async def test_a_person_is_not_skipped_by_overlap(self, open_engine: Rig) -> None:
        await open_engine.accept(await open_engine.add(spec(overlap=Overlap.SKIP)))
        (old,) = await open_engine.events()
        assert [event.state for event in await replay(open_engine, old.id)] == [State.HELD]

    async def test_each_one_is_new_and_a_replay_can_be_replayed(self, rig: Rig) -> None:
        (first,) = await waiting(rig, 1)
        (one,), (two,) = await replay(rig, first), await replay(rig, first)
        (three,) = await replay(rig, one.id)
        assert len({first, one.id, two.id, three.id}) == 4
        assert (two.replay_of, three.replay_of) == (first, one.id)

    async def test_several_in_the_order_given(self, rig: Rig) -> None:
        ids = (await waiting(rig, 3))[::-1]
        made = await replay(rig, *ids)
        assert [event.replay_of for event in made] == ids
        assert [event.seq for event in made] == sorted(event.seq for event in made)

    async def test_a_trigger_that_is_off_is_refused_and_nothing_is_made(self, rig: Rig) -> None:
        on, off = await rig.add(spec("on")), await rig.add(spec("off"))
        ids = [(await rig.accepted(row)).event_id for row in (on, off)]
        await rig.disarm(off)
        with pytest.raises(Refused, match=r"off is off \(user\): `tocsin enable off` arms it again"):
            await replay(rig, *ids)
        assert len(await rig.events()) == 2

    async def test_a_trigger_of_another_kind_has_no_use_for_it(self, rig: Rig) -> None:
        text = '[workflows.w]\ncommand = ["true"]\n[triggers.t]\nworkflow = "w"\n'
        await rig.apply(text + "webhook = {}\n")
        old = await rig.accepted(await rig.named("t"))
        await rig.apply(text + "manual = true\n")
        with pytest.raises(Refused, match=f"t is a manual trigger now, {old.event_id} was of kind webhook"):
            await replay(rig, old.event_id)

    async def test_a_run_must_not_replay_what_brought_it_about(self, rig: Rig) -> None:
        row = await rig.add()
        old = await rig.accepted(row)
        with pytest.raises(Refused, match="a cycle"):
            await replay(rig, old.event_id, cause=Cause(run_id="run_1", lineage=(row.id,)))
        cause = Cause(run_id="run_1", lineage=("trg_other",))
        assert [event.cause for event in await replay(rig, old.event_id, cause=cause)] == [cause]

    async def test_its_end_fires_the_chain_anew(self, open_engine: Rig) -> None:
        chained = await open_engine.add(follower("f", on="any"))
        _, old = await ended(open_engine, succeeded(), await open_engine.add())
        (new,) = await replay(open_engine, old.id)
        await open_engine.look()
        (claim,) = [claim for claim in open_engine.taken if claim.event.id == new.id]
        await open_engine.settle(claim, succeeded())
        assert [event.delivery_id for event in await open_engine.events(chained)] == [old.id, new.id]


async def in_state(rig: Rig, state: State) -> Event:
    """An event that has come to stand there."""
    row = await rig.add(scheduled("x", max_attempts=1))
    match state:
        case State.SUCCEEDED | State.FAILED:
            return (await ended(rig, succeeded() if state is State.SUCCEEDED else failed(), row))[1]
        case State.SKIPPED:
            return await skipped(rig, row)
        case State.HELD:
            await rig.fire(row, "first")
            return await rig.event((await rig.fire(row, "second")).event_id)
        case State.CLAIMED:
            return await rig.event((await rig.accepted(row)).event_id)
    rig.claims.close()
    event_id = (await rig.accepted(row)).event_id
    if state is State.DROPPED:
        await cancel(rig, event_id)
    return await rig.event(event_id)


async def skipped(rig: Rig, row: Registration) -> Event:
    await rig.accept(row, "first")
    answer = await rig.accept(row, "second")
    assert isinstance(answer, Skipped)
    return await rig.event(answer.event_id)
