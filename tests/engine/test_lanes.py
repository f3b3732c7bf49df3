"""Lanes: one event at a time, in accept order; what a newcomer does, and who comes next after each exit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.engine.rig import Rig, limits, open_rig, scheduled, spec
from tests.fakes import failed, succeeded
from tests.store.raw import beside
from tocsin.event import Accepted, Duplicate, Origin, Skipped, State
from tocsin.registration import Registration
from tocsin.runs import Outcome, Verdict
from tocsin.store import lanes
from tocsin.trigger import Overlap

CANCELLED = Outcome(verdict=Verdict.CANCELLED)
INTERRUPTED = Outcome(verdict=Verdict.INTERRUPTED)
PERMANENT = Outcome(verdict=Verdict.FAILED_PERMANENTLY, error="exit code 65")


async def fill(rig: Rig, row: Registration, count: int = 4) -> list[str]:
    """Accept d0, d1, …; returns the event ids. The first is claimed."""
    return [(await rig.accepted(row, f"d{n}")).event_id for n in range(count)]


class TestQueue:
    async def test_newcomers_wait_behind_the_one_that_runs(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        ids = await fill(open_engine, row)
        assert await open_engine.states() == ["claimed", "held", "held", "held"]
        held = await open_engine.event(ids[1])
        assert (held.reason, held.lane, held.next_fire_at) == ("lane", row.id, None)

    async def test_they_come_first_in_first_out_also_through_retries(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        await fill(open_engine, row, 5)
        ran = []
        while open_engine.taken:
            claim = open_engine.taken.pop(0)
            ran.append((claim.event.delivery_id, claim.attempt))
            is_bad = claim.event.delivery_id in ("d1", "d3") and claim.attempt < 3
            await open_engine.settle(claim, failed() if is_bad else succeeded())
            open_engine.clock.advance(300)
            await open_engine.take()
        assert ran == [
            ("d0", 1),
            *[("d1", attempt) for attempt in (1, 2, 3)],
            ("d2", 1),
            *[("d3", attempt) for attempt in (1, 2, 3)],
            ("d4", 1),
        ]

    async def test_a_retry_keeps_its_lane_while_it_waits(self, open_engine: Rig) -> None:
        await fill(open_engine, await open_engine.add(), 2)
        await open_engine.settle(open_engine.taken[0], failed())
        assert await open_engine.states() == ["pending", "held"]
        assert await open_engine.take() == []

    @pytest.mark.parametrize(
        ("outcome", "state"),
        [
            (succeeded(), "succeeded"),
            (PERMANENT, "failed"),
            (CANCELLED, "dropped"),
        ],
    )
    async def test_every_end_of_the_head_lets_the_next_one_go(
        self, open_engine: Rig, outcome: Outcome, state: str
    ) -> None:
        await fill(open_engine, await open_engine.add(), 3)
        await open_engine.settle(open_engine.taken[0], outcome)
        assert await open_engine.states() == [state, "claimed", "held"]
        assert [claim.event.delivery_id for claim in open_engine.taken] == ["d0", "d1"]

    async def test_the_last_attempt_too(self, open_engine: Rig) -> None:
        await fill(open_engine, await open_engine.add(spec(max_attempts=1)), 2)
        await open_engine.settle(open_engine.taken[0], failed())
        assert await open_engine.states() == ["failed", "claimed"]

    async def test_an_attempt_that_was_given_back_keeps_its_place(self, open_engine: Rig) -> None:
        await fill(open_engine, await open_engine.add(), 2)
        open_engine.claims.close()
        await open_engine.settle(open_engine.taken[0], INTERRUPTED)
        assert await open_engine.states() == ["pending", "held"]

    async def test_a_free_lane_takes_the_next_newcomer_at_once(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        await open_engine.accept(row, "d0")
        await open_engine.settle(open_engine.taken[0], succeeded())
        await open_engine.accept(row, "d1")
        assert await open_engine.states() == ["succeeded", "claimed"]


class TestAllow:
    async def test_nobody_waits(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(overlap=Overlap.ALLOW))
        await fill(open_engine, row, 4)
        assert await open_engine.states() == ["claimed"] * 4
        assert {event.lane for event in await open_engine.events()} == {None}


class TestSkip:
    async def test_skips_of_a_schedule_behind_one_blocker_share_a_row(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled())
        answers = [await open_engine.accept(row, f"1:{n}", missed=n) for n in range(4)]
        skipped = answers[1:]
        assert isinstance(answers[0], Accepted)
        assert all(isinstance(answer, Skipped) for answer in skipped)
        assert len({answer.event_id for answer in skipped if isinstance(answer, Skipped)}) == 1
        _, shared = await open_engine.events()
        assert (shared.state, shared.reason, shared.lane) == (State.SKIPPED, "overlap", None)
        assert shared.count == (1 + 1) + (1 + 2) + (1 + 3)  # each with the earlier ones it stands for
        assert shared.delivery_id == "1:1"

    async def test_another_blocker_another_row(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled())
        for n in range(2):
            await open_engine.accept(row, f"a{n}")
            await open_engine.accept(row, f"b{n}")
            await open_engine.settle(open_engine.taken[-1], succeeded())
        assert await open_engine.states() == ["succeeded", "skipped", "succeeded", "skipped"]
        assert [event.count for event in await open_engine.events()] == [1, 1, 1, 1]

    async def test_a_skipped_occurrence_is_a_duplicate_when_it_comes_again(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled())
        await open_engine.accept(row, "a")
        first = await open_engine.accept(row, "b")
        await open_engine.accept(row, "c")
        assert isinstance(first, Skipped)
        for delivery in ("b", "c"):
            assert await open_engine.accept(row, delivery) == Duplicate(event_id=first.event_id)

    async def test_skipped_deliveries_keep_a_row_each(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(overlap=Overlap.SKIP))
        for n in range(3):
            await open_engine.accept(row, f"d{n}")
        assert await open_engine.states() == ["claimed", "skipped", "skipped"]

    async def test_nothing_is_skipped_while_the_lane_is_free(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled())
        await open_engine.accept(row, "a")
        await open_engine.settle(open_engine.taken[0], succeeded())
        assert isinstance(await open_engine.accept(row, "b"), Accepted)

    async def test_a_retry_wait_counts_as_busy(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled())
        await open_engine.accept(row, "a")
        await open_engine.settle(open_engine.taken[0], failed())
        assert isinstance(await open_engine.accept(row, "b"), Skipped)

    async def test_a_person_is_never_skipped(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled())
        await open_engine.accept(row, "a")
        await open_engine.fire(row, "by hand")
        assert await open_engine.states() == ["claimed", "held"]

    @pytest.mark.parametrize(("queues", "state"), [(True, "held"), (False, "skipped")])
    async def test_what_is_to_queue_queues_whatever_the_overlap_rule_says(
        self, open_engine: Rig, queues: bool, state: str
    ) -> None:
        row = await open_engine.add(scheduled())
        await open_engine.accept(row, "a", origin=Origin.CATCH_UP)
        await open_engine.accept(row, "b", origin=Origin.CATCH_UP, queues=queues)
        assert await open_engine.states() == ["claimed", state]


class TestSharedKey:
    async def test_a_key_is_one_lane_for_all_that_name_it(self, open_engine: Rig) -> None:
        rows = [await open_engine.add(spec(name, serialize_key="gpu")) for name in ("a", "b", "c")]
        for n in range(2):
            for row in rows:
                await open_engine.accept(row, f"d{n}")
        order = []
        while open_engine.taken:
            assert (await open_engine.states()).count("claimed") == 1
            claim = open_engine.taken.pop(0)
            order.append((claim.registration.spec.name, claim.event.delivery_id))
            await open_engine.settle(claim, succeeded())
        assert order == [(name, delivery) for delivery in ("d0", "d1") for name in ("a", "b", "c")]

    async def test_a_key_is_no_registrations_own_lane(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec("a"))
        other = await open_engine.add(spec("b", serialize_key=row.id))
        await open_engine.accept(row)
        await open_engine.accept(other)
        assert await open_engine.states() == ["claimed", "claimed"]

    async def test_disarming_one_lets_the_others_of_its_lane_go_on(self, rig: Rig) -> None:
        """The head is dropped; somebody else's event is next."""
        one, other = [await rig.add(spec(name, serialize_key="gpu")) for name in ("a", "b")]
        for row in (one, other, one):
            await rig.accept(row, f"d{len(await rig.events())}")
        await rig.disarm(one)
        assert await rig.states() == ["dropped", "pending", "dropped"]

    async def test_what_was_brought_back_waits_for_the_one_that_runs(self, open_engine: Rig) -> None:
        """An older event that is held again must not start beside a younger one, whoever leaves the lane."""
        one, other, third = [
            await open_engine.add(spec(name, serialize_key="gpu")) for name in ("a", "b", "c")
        ]
        open_engine.claims.close()
        await open_engine.accept(one, "old")
        await open_engine.disarm(one)
        open_engine.open()
        await open_engine.accept(other, "runs")
        assert await open_engine.enable(one, requeue_dropped=True) == 1
        await open_engine.accept(third, "waits")
        assert await open_engine.states() == ["held", "claimed", "held"]
        await open_engine.disarm(third)
        assert await open_engine.states() == ["held", "claimed", "dropped"]
        await open_engine.settle(open_engine.taken[0], succeeded())
        assert await open_engine.states() == ["claimed", "succeeded", "dropped"]


class TestExits:
    async def test_disarming_drops_a_whole_lane_and_leaves_it_free(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        await fill(open_engine, row, 3)
        await open_engine.disarm(row)
        assert await open_engine.states() == ["claimed", "dropped", "dropped"]
        await open_engine.settle(open_engine.taken[0], succeeded())
        await open_engine.enable(row)
        await open_engine.accept(row, "new")
        assert (await open_engine.states())[-1] == "claimed"

    async def test_one_that_is_found_expired_at_its_claim_makes_room(self, rig: Rig) -> None:
        until = rig.clock.now() + timedelta(hours=1)
        mortal = await rig.add(spec("mortal", serialize_key="gpu", expires_at=until))
        other = await rig.add(spec("other", serialize_key="gpu"))
        await rig.accept(mortal)
        await rig.accept(other)
        rig.clock.advance(timedelta(hours=2))
        rig.open()
        await rig.take()
        found = {event.registration: (event.state.value, event.reason) for event in await rig.events()}
        assert found == {"mortal": ("dropped", "expired"), "other": ("pending", None)}
        await rig.take()
        assert [claim.registration.spec.name for claim in rig.taken] == ["other"]

    async def test_a_lane_without_a_head_is_found_at_the_next_start(self, rig: Rig) -> None:
        """As a crash between two versions of this program might leave it."""
        row = await rig.add()
        await fill(rig, row, 3)
        with beside(rig.paths.database) as connection:
            connection.execute("UPDATE events SET state = 'dropped', settled_at = 1 WHERE delivery_id = 'd0'")
        assert await rig.read(lanes.headless) == [row.id]
        async with open_rig(rig.paths.home, owner="own_2") as after:
            await after.recovery().recover()
            assert await after.states() == ["dropped", "pending", "held"]
            assert await after.read(lanes.headless) == []

    async def test_a_lane_with_a_head_is_left_alone_by_the_sweep(self, open_engine: Rig) -> None:
        await fill(open_engine, await open_engine.add(), 3)
        await open_engine.recovery().recover()
        assert await open_engine.states() == ["claimed", "held", "held"]


async def test_a_deep_lane_goes_on_in_order(open_engine: Rig) -> None:
    """Also an answer in good time: promoting must not look at all who wait."""
    row = await open_engine.add()
    await fill(open_engine, row, 300)
    order = []
    while open_engine.taken:
        claim = open_engine.taken.pop(0)
        order.append(claim.event.delivery_id)
        await open_engine.settle(claim, succeeded())
    assert order == [f"d{n}" for n in range(300)]


@pytest.mark.parametrize(
    "changes", [{"overlap": Overlap.QUEUE}, {"overlap": Overlap.ALLOW}, {"serialize_key": "k"}]
)
async def test_order_holds_with_one_seat_whatever_the_lane(rig: Rig, changes: dict[str, Any]) -> None:
    rig.claims.settings = limits(total=1)
    rig.open()
    row = await rig.add(replace(spec(), **changes))
    await fill(rig, row, 10)
    order = []
    while rig.taken:
        claim = rig.taken.pop(0)
        order.append(claim.event.delivery_id)
        await rig.settle(claim, succeeded())
    assert order == [f"d{n}" for n in range(10)]
