"""A pause: what waits is held, what runs goes on, lanes that are shared go on, and all of it comes back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.pausing import pause, resume, states
from tests.engine.rig import Rig, limits, open_rig, spec
from tests.engine.test_chains import after
from tests.fakes import failed, succeeded
from tests.store.raw import on_writer
from tocsin.errors import BadRequest, NotFound, Refused
from tocsin.event import Declined, Origin, State
from tocsin.notices import Paused, Resumed
from tocsin.registration import DisabledReason
from tocsin.runs import Outcome, Verdict
from tocsin.trigger import Kind, Overlap

HELD = ("held", "paused")
RUNS = ("claimed", None)
HOUR = timedelta(hours=1)


class TestPausing:
    async def test_it_says_since_when_and_until_when(self, rig: Rig) -> None:
        row, now = await rig.add(), rig.clock.now()
        assert await pause(rig, row, until=now + HOUR) == ["t"]
        found = await rig.row(row.id)
        assert (found.paused_at, found.paused_until) == (now, now + HOUR)
        assert found.status(now) == "paused"
        assert rig.notices.of(Paused) == [Paused(registration="t", until=now + HOUR)]
        assert rig.changes == [None]

    async def test_a_second_pause_moves_the_end_of_the_first(self, rig: Rig) -> None:
        row, now = await rig.add(), rig.clock.now()
        await pause(rig, row, until=now + HOUR)
        rig.clock.advance(60)
        await pause(rig, row)
        found = await rig.row(row.id)
        assert (found.paused_at, found.paused_until) == (now, None)

    async def test_an_end_that_is_past_is_refused(self, rig: Rig) -> None:
        row = await rig.add()
        with pytest.raises(BadRequest, match="is past"):
            await pause(rig, row, until=rig.clock.now())

    async def test_names_that_fit_none_change_nothing(self, rig: Rig) -> None:
        row = await rig.add()
        with pytest.raises(NotFound):
            await rig.controls.pauses.pause(["t", "nonsuch"], tag=None, everything=False, until=None)
        assert (await rig.row(row.id)).paused_at is None

    async def test_a_tag_or_all_off_ones_too(self, rig: Rig) -> None:
        await rig.add(spec("a", tags=("x",)))
        off = await rig.add(spec("b"))
        await rig.disarm(off)
        assert await rig.controls.pauses.pause([], tag="x", everything=False, until=None) == ["a"]
        assert await pause(rig) == ["a", "b"]
        await rig.enable(off)
        assert (await rig.row(off.id)).status(rig.clock.now()) == "paused", "enabling lifts no pause"

    async def test_it_is_told_in_the_journal(self, rig: Rig) -> None:
        await pause(rig, await rig.add())
        rig.clock.advance(1)
        await resume(rig)
        what = "SELECT what, reason FROM journal WHERE what IN ('paused', 'resumed') ORDER BY seq"
        assert await on_writer(rig.store, what) == [("paused", "by hand"), ("resumed", "by hand")]


class TestWhatWaits:
    async def test_it_is_held_and_comes_back_in_accept_order(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await rig.add(spec(overlap=Overlap.QUEUE))
        for n in range(3):
            await rig.accepted(row, f"d{n}")
        await pause(rig, row)
        assert await states(rig) == [RUNS, HELD, HELD]
        await rig.settle(rig.taken.pop(), succeeded())
        assert await states(rig) == [("succeeded", None), HELD, HELD], "nothing follows in the lane"
        await resume(rig, row)
        await rig.take()
        assert await states(rig) == [("succeeded", None), RUNS, ("held", "lane")]
        assert rig.notices.of(Resumed) == [Resumed(registration="t", waiting=2)]

    async def test_without_a_lane_all_of_it_is_claimable_again(self, rig: Rig) -> None:
        row = await rig.add(spec(overlap=Overlap.ALLOW))
        for n in range(3):
            await rig.accepted(row, f"d{n}")
        await pause(rig, row)
        assert await states(rig) == [HELD] * 3
        rig.open()
        assert await rig.take() == []
        await resume(rig, row)
        assert [claim.event.delivery_id for claim in await rig.take()] == ["d0", "d1", "d2"]

    async def test_a_retrys_wait_goes_on(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await rig.add()
        await rig.accepted(row)
        await rig.settle(rig.taken.pop(), failed())
        due = (await rig.events())[0].next_fire_at
        await pause(rig, row)
        rig.clock.advance(1)
        await resume(rig, row)
        (event,) = await rig.events()
        assert (event.state, event.next_fire_at) == (State.PENDING, due)
        assert await rig.take() == []
        rig.clock.advance(1)
        assert len(await rig.take()) == 1

    async def test_another_trigger_of_the_lane_goes_on_and_the_first_comes_back_in_its_place(
        self, open_engine: Rig
    ) -> None:
        rig = open_engine
        rig.claims.settings = limits(total=1)
        one, other = [await rig.add(spec(name, serialize_key="k")) for name in ("one", "other")]
        blocker = await rig.add(spec("blocker", overlap=Overlap.ALLOW))
        await rig.accepted(blocker)
        for n, row in enumerate((one, other, one, other)):
            await rig.accepted(row, f"d{n}")
        await pause(rig, one)
        assert await states(rig, one) == [HELD, HELD]
        assert await states(rig, other) == [("pending", None), ("held", "lane")]
        await rig.settle(rig.taken.pop(), succeeded())
        assert rig.taken[-1].event.delivery_id == "d1"
        await resume(rig, one)
        ran = []
        while rig.taken:
            claim = rig.taken.pop()
            ran.append(claim.event.delivery_id)
            await rig.settle(claim, succeeded())
        assert ran == ["d1", "d0", "d2", "d3"]

    async def test_a_cancelled_one_does_not_come_back(self, rig: Rig) -> None:
        row = await rig.add()
        answer = await rig.accepted(row)
        await pause(rig, row)
        await rig.controls.second_thoughts.cancel([answer.event_id])
        await resume(rig, row)
        assert await states(rig) == [("dropped", "cancelled")]

    async def test_disarming_drops_it_and_requeue_brings_it_back_held(self, rig: Rig) -> None:
        row = await rig.add(spec(overlap=Overlap.ALLOW))
        await rig.accepted(row)
        await pause(rig, row)
        await rig.disarm(row)
        assert await states(rig) == [("dropped", "user")]
        await rig.controls.enable(["t"], tag=None, requeue_dropped=True)
        assert await states(rig) == [HELD]
        await resume(rig, row)
        assert await states(rig) == [("pending", None)]

    async def test_what_another_process_has_made_pending_is_held_at_the_claim(self, rig: Rig) -> None:
        row = await rig.add(spec(overlap=Overlap.ALLOW))
        await rig.accepted(row)
        await rig.write(lambda tx: tx._connection.execute("UPDATE registrations SET paused_at = 1").rowcount)
        rig.open()
        assert await rig.take() == []
        assert await states(rig) == [HELD]


class TestWhatRuns:
    async def test_it_goes_on_and_counts(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await rig.add()
        await rig.accepted(row)
        await pause(rig, row)
        await rig.settle(rig.taken.pop(), succeeded())
        assert await rig.states() == ["succeeded"]
        assert (await rig.row(row.id)).run_count == 1

    @pytest.mark.parametrize(
        "verdict", [Verdict.FAILED, Verdict.LOST, Verdict.INTERRUPTED, Verdict.UNAVAILABLE]
    )
    async def test_its_next_attempt_waits_for_the_end_of_the_pause(
        self, open_engine: Rig, verdict: Verdict
    ) -> None:
        rig = open_engine
        row = await rig.add()
        await rig.accepted(row)
        await pause(rig, row)
        await rig.settle(rig.taken.pop(), Outcome(verdict=verdict))
        assert await states(rig) == [HELD]
        rig.clock.advance(HOUR)
        assert await rig.take() == []
        await resume(rig, row)
        assert len(await rig.take()) == 1

    async def test_its_lane_goes_on_without_it(self, open_engine: Rig) -> None:
        rig = open_engine
        one, other = [await rig.add(spec(name, serialize_key="k")) for name in ("one", "other")]
        await rig.accepted(one)
        await rig.accepted(other)
        await pause(rig, one)
        await rig.settle(rig.taken.pop(), failed())
        assert await states(rig, one) == [HELD]
        assert await states(rig, other) == [RUNS]

    async def test_the_last_failure_disarms_also_in_a_pause(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await rig.add(spec(disable_after=1))
        await rig.accepted(row)
        await pause(rig, row)
        await rig.settle(rig.taken.pop(), failed())
        assert await states(rig) == [("failed", "failures")]
        assert (await rig.row(row.id)).disabled_reason is DisabledReason.FAILURES


class TestIntake:
    async def test_a_chain_into_a_paused_trigger_is_kept(self, open_engine: Rig) -> None:
        rig = open_engine
        source, follower = await rig.add(), await rig.add(after(workflow="next"))
        await pause(rig, follower)
        for n in range(2):
            await rig.accepted(source, f"d{n}")
            await rig.settle(rig.taken.pop(), succeeded())
        assert await states(rig, follower) == [HELD, HELD]
        await resume(rig, follower)
        await rig.take()
        assert await states(rig, follower) == [RUNS, ("held", "lane")]

    async def test_what_is_sent_again_is_declined_and_leaves_no_trace(self, rig: Rig) -> None:
        row = await rig.add()
        await pause(rig, row)
        assert await rig.accept(row) == Declined(reason="paused")
        await resume(rig, row)
        await rig.accepted(row)

    @pytest.mark.parametrize("kind", [Kind.MANUAL, Kind.RUN])
    async def test_a_fire_by_hand_is_refused(self, rig: Rig, kind: Kind) -> None:
        component = "after" if kind is Kind.RUN else "manual"
        row = await rig.add(spec(kind=kind, component=component, props={"workflow": "x", "on": "any"}))
        await pause(rig, row)
        with pytest.raises(Refused, match="`tocsin resume t` lets it go on"):
            await rig.controls.fire("t", payload=None, key=None, cause=None)
        assert await rig.events() == []

    async def test_retry_and_replay_are_refused(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await rig.add(spec(max_attempts=1, overlap=Overlap.ALLOW))
        answer = await rig.accepted(row)
        await rig.settle(rig.taken.pop(), failed())
        await pause(rig, row)
        for verb in (
            rig.controls.second_thoughts.retry([answer.event_id]),
            rig.controls.second_thoughts.replay([answer.event_id], cause=None),
        ):
            with pytest.raises(Refused, match="t is paused"):
                await verb

    async def test_one_that_is_held_tells_a_retry_what_to_do(self, rig: Rig) -> None:
        row = await rig.add()
        answer = await rig.accepted(row)
        await pause(rig, row)
        with pytest.raises(Refused, match="held \\(paused\\): `tocsin resume t`"):
            await rig.controls.second_thoughts.retry([answer.event_id])


class TestTheEnd:
    async def test_resuming_what_is_not_paused_changes_nothing(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.accepted(row)
        before = await rig.row(row.id)
        assert await resume(rig, row) == []
        assert await rig.row(row.id) == before
        assert rig.notices.of(Resumed) == []

    async def test_it_ends_by_itself_at_its_time(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await rig.add()
        await rig.accepted(row, "d0")
        await rig.accepted(row, "d1")
        await pause(rig, row, until=rig.clock.now() + HOUR)
        await rig.settle(rig.taken.pop(), succeeded())
        assert await rig.tick() == HOUR.total_seconds(), "it looks again at the end of the pause"
        rig.clock.advance(HOUR)
        await rig.tick()
        assert await states(rig) == [("succeeded", None), RUNS]
        assert (await rig.row(row.id)).paused_at is None

    async def test_one_that_ended_while_no_engine_ran_is_resumed_by_the_next(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.accepted(row)
        await pause(rig, row, until=rig.clock.now() + HOUR)
        async with open_rig(rig.paths.home, owner="own_2") as later:
            later.clock.advance(2 * HOUR)
            later.open()
            assert await later.take() == []
            await later.tick()
            assert await states(later) == [RUNS]

    async def test_what_comes_between_its_end_and_the_next_look_overtakes_nothing(
        self, open_engine: Rig
    ) -> None:
        rig = open_engine
        row = await rig.add()
        await rig.accepted(row, "d0")
        await rig.accepted(row, "d1")
        await pause(rig, row, until=rig.clock.now() + HOUR)
        await rig.settle(rig.taken.pop(), succeeded())
        rig.clock.advance(HOUR)
        await rig.accepted(row, "d2")
        assert await states(rig) == [("succeeded", None), HELD, HELD]
        await rig.tick()
        assert rig.taken[-1].event.delivery_id == "d1"

    async def test_a_fire_without_an_engine_lets_it_go_on(self, rig: Rig) -> None:
        row = await rig.add(spec(kind=Kind.MANUAL, component="manual"))
        await pause(rig, row, until=rig.clock.now() + HOUR)
        rig.clock.advance(HOUR)
        fired = await rig.controls.fire("t", payload=None, key=None, cause=None)
        event = await rig.event(fired.event_id)
        assert (event.state, event.origin) == (State.PENDING, Origin.MANUAL)

    async def test_pausing_again_after_an_unseen_end_is_another_pause(self, rig: Rig) -> None:
        row = await rig.add()
        await pause(rig, row, until=rig.clock.now() + HOUR)
        rig.clock.advance(2 * HOUR)
        await pause(rig, row)
        assert (await rig.row(row.id)).paused_at == rig.clock.now()
        assert len(rig.notices.of(Resumed)) == 1

    async def test_a_wait_planned_by_a_clock_that_ran_ahead_is_cut(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await rig.add()
        rig.clock.jump(timedelta(days=365))
        await rig.tick()
        await rig.accepted(row)
        await rig.settle(rig.taken.pop(), failed())
        await pause(rig, row)
        rig.clock.jump(-timedelta(days=365))
        await rig.tick()
        await resume(rig, row)
        rig.clock.advance(300)
        assert len(await rig.take()) == 1
