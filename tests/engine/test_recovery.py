"""After a crash: starting again is the whole recovery."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.rig import Rig, open_rig, spec
from tests.fakes import FakeHandle, failed, succeeded
from tocsin.event import State
from tocsin.notices import RunRecovered
from tocsin.registration import Registration
from tocsin.runs import Outputs, RunState
from tocsin.trigger import Json


async def crash(rig: Rig, row: Registration, deliveries: int = 1) -> list[str]:
    """Claim events and die; returns the run ids."""
    rig.open()
    for n in range(deliveries):
        await rig.accept(row, f"d{n}")
    ids = [claim.ref.run_id for claim in rig.taken]
    for id_ in ids:
        (rig.paths.runs / id_).mkdir(parents=True, exist_ok=True)  # as an attempt does before it starts
    return ids


class TestClaims:
    async def test_those_of_a_dead_owner_go_back_to_the_queue(self, rig: Rig) -> None:
        row = await rig.add()
        (run_id,) = await crash(rig, row)
        async with open_rig(rig.paths.home, owner="own_2") as after:
            assert await after.recovery().recover() == 1
            (event,) = await after.events()
            assert (event.state, event.reason, event.attempts) == (State.PENDING, "lost", 1)
            (run,) = await after.runs(event.id)
            assert (run.state, run.error) == (RunState.LOST, "the engine died while it ran")
            assert after.notices.of(RunRecovered) == [
                RunRecovered(run_id=run_id, event_id=event.id, registration="t")
            ]
            assert [found.id for found in after.runner.attached] == [run_id]

    async def test_a_lost_attempt_is_an_attempt_but_no_failure(self, rig: Rig) -> None:
        row = await rig.add(spec(disable_after=1))
        await crash(rig, row)
        async with open_rig(rig.paths.home, owner="own_2") as after:
            await after.recovery().recover()
            found = await after.row(row.id)
            assert (found.consecutive_failures, found.last_error, found.enabled) == (0, None, True)
            after.open()
            await after.take()
            assert after.taken.pop().attempt == 2

    async def test_an_event_that_kills_the_engine_is_given_up(self, rig: Rig) -> None:
        """QU-04: three starts, then the poison is out of the queue."""
        row = await rig.add(spec(max_attempts=3))
        await crash(rig, row)
        for life in range(2, 5):
            async with open_rig(rig.paths.home, owner=f"own_{life}") as after:
                await after.recovery().recover()
                after.open()
                await after.take()
                if life < 4:
                    claim = after.taken.pop()
                    assert claim.attempt == life
                    (after.paths.runs / claim.ref.run_id).mkdir(parents=True)
        (event,) = await rig.events()
        assert (event.state, event.reason, event.attempts) == (State.FAILED, "attempts", 3)

    async def test_a_retry_that_waits_survives_with_its_attempts(self, rig: Rig) -> None:
        """QU-12: three attempts over two lives, with our own delays (2 s, 4 s) instead of its 5 s."""
        row = await rig.add(spec(max_attempts=3))
        await crash(rig, row)
        await rig.settle(rig.taken[0], failed())
        async with open_rig(rig.paths.home, owner="own_2") as after:
            assert await after.recovery().recover() == 0
            after.open()
            for delay in (2, 4):
                after.clock.advance(delay)
                await after.take()
                await after.settle(after.taken.pop(), failed("exit code 3"))
            (event,) = await after.events()
            assert (event.state, event.attempts) == (State.FAILED, 3)
            assert [run.error for run in await after.runs(event.id)][-1] == "exit code 3"

    async def test_a_claim_of_which_nothing_was_begun_is_given_back(self, rig: Rig) -> None:
        """The command never ran: one crash must not use up the only attempt."""
        row = await rig.add(spec(max_attempts=1))
        rig.open()
        await rig.accept(row)
        async with open_rig(rig.paths.home, owner="own_2") as after:
            assert await after.recovery().recover() == 1
            (event,) = await after.events()
            assert (event.state, event.attempts) == (State.PENDING, 0)

    async def test_own_claims_are_not_touched(self, open_engine: Rig) -> None:
        await open_engine.accept(await open_engine.add())
        assert await open_engine.recovery().recover() == 0
        assert await open_engine.states() == ["claimed"]

    async def test_a_clean_home_has_nothing_to_recover(self, rig: Rig) -> None:
        assert await rig.recovery().recover() == 0

    async def test_nothing_is_started_by_recovering(self, rig: Rig) -> None:
        await crash(rig, await rig.add())
        async with open_rig(rig.paths.home, owner="own_2") as after:
            await after.recovery().recover()
            assert after.taken == []
            assert after.runner.requests == []

    async def test_recovering_twice_counts_once(self, rig: Rig) -> None:
        await crash(rig, await rig.add())
        async with open_rig(rig.paths.home, owner="own_2") as after:
            assert [await after.recovery().recover() for _ in range(2)] == [1, 0]
            assert (await after.events())[0].attempts == 1

    async def test_many_are_recovered_together(self, rig: Rig) -> None:
        for name in ("a", "b", "c", "d"):
            await crash(rig, await rig.add(spec(name)))
        async with open_rig(rig.paths.home, owner="own_2") as after:
            assert await after.recovery().recover() == 4
            assert await after.states() == ["pending"] * 4

    async def test_a_trigger_that_was_turned_off_is_not_run_again(self, rig: Rig) -> None:
        row = await rig.add()
        await crash(rig, row, 2)
        await rig.disarm(row)
        async with open_rig(rig.paths.home, owner="own_2") as after:
            await after.recovery().recover()
            found = [(event.state.value, event.reason) for event in await after.events()]
            assert found == [("dropped", "user")] * 2

    async def test_the_lane_behind_a_lost_run_keeps_its_order(self, rig: Rig) -> None:
        await crash(rig, await rig.add(), 3)
        async with open_rig(rig.paths.home, owner="own_2") as after:
            await after.recovery().recover()
            assert await after.states() == ["pending", "held", "held"]


class TestPartialOutput:
    @pytest.mark.parametrize(
        ("outputs", "state"),
        [
            (Outputs(present=frozenset({"state"}), state={"done": 6}), {"done": 6}),
            (Outputs(present=frozenset({"state"}), state=None), None),
            (Outputs(present=frozenset({"n"}), result={"n": 1}), {"done": 1}),
            (Outputs(), {"done": 1}),
        ],
    )
    async def test_the_state_that_was_put_out_is_kept(self, rig: Rig, outputs: Outputs, state: Json) -> None:
        row = await rig.add()
        rig.open()
        await rig.accept(row, "before")
        await rig.settle(rig.taken.pop(), succeeded(state={"done": 1}))
        (run_id,) = await crash(rig, row)
        asked: list[Path] = []

        def read_outputs(run_dir: Path) -> tuple[Outputs, str | None]:
            asked.append(run_dir)
            return outputs, "torn line"

        async with open_rig(rig.paths.home, owner="own_2") as after:
            await after.recovery(read_outputs).recover()
            assert asked == [rig.paths.runs / run_id]
            assert (await after.row(row.id)).state == state

    async def test_a_next_fire_that_was_put_out_is_not_obeyed(self, rig: Rig) -> None:
        """It counts only from the attempt that ends the event."""
        row = await rig.add()
        await crash(rig, row)
        said = Outputs(present=frozenset({"next_fire_at", "state"}), next_fire_at="never", state=1)
        async with open_rig(rig.paths.home, owner="own_2") as after:
            await after.recovery(lambda _: (said, None)).recover()
            found = await after.row(row.id)
            assert (found.held_until_enabled, found.state) == (False, 1)

    async def test_directories_of_dead_runs_are_cleared_away(self, rig: Rig) -> None:
        (run_id,) = await crash(rig, await rig.add())
        left = rig.paths.runs / run_id / "deep"
        left.mkdir(parents=True)
        async with open_rig(rig.paths.home, owner="own_2") as after:
            await after.recovery().recover()
            assert not left.exists()


class TestAttached:
    async def test_a_run_that_still_goes_on_elsewhere_is_waited_for(self, rig: Rig) -> None:
        row = await rig.add()
        (run_id,) = await crash(rig, row)
        async with open_rig(rig.paths.home, owner="own_2") as after:
            handle = FakeHandle()
            handle.succeed(state={"v": 1})
            after.runner.attachable[run_id] = handle
            await after.recovery().recover()
            (event,) = await after.events()
            assert (event.state, event.attempts) == (State.SUCCEEDED, 1)
            assert (await after.row(row.id)).run_count == 1
