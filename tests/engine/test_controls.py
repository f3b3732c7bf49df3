"""The verbs that people and programs call."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from tests.engine.rig import Rig, scheduled, spec
from tests.fakes import succeeded
from tocsin.engine.controls import Fired
from tocsin.errors import BadRequest, ConfigInvalid, NotFound, Refused
from tocsin.event import Cause, Origin
from tocsin.identity import token_hash
from tocsin.registration import DisabledReason, Registration, RowOrigin
from tocsin.store import journal, ledger
from tocsin.trigger import Json, Kind

W = '[workflows.w]\ncommand = ["true"]\n'
HOUR = timedelta(hours=1)


async def fire(rig: Rig, name: str = "t", key: str | None = None, cause: Cause | None = None) -> Fired:
    return await rig.controls.fire(name, payload={"by": "hand"}, key=key, cause=cause)


async def add(rig: Rig, name: str, table: dict[str, Json]) -> Registration:
    """A trigger made by hand."""
    return await rig.controls.configuring.add(name, table, base=rig.paths.home)


class TestFire:
    async def test_it_is_an_event_of_the_registrations_own_kind_and_of_manual_origin(
        self, open_engine: Rig
    ) -> None:
        await open_engine.add(scheduled())
        fired = await fire(open_engine)
        event = await open_engine.event(fired.event_id)
        assert (event.kind, event.origin) == (Kind.SCHEDULE, Origin.MANUAL)
        assert fired == Fired(event_id=event.id, run_id=event.run_id, state="claimed", duplicate=False)
        envelope = await open_engine.read(lambda tx: ledger.envelope_of(tx, event.id))
        assert (envelope["raw_payload"], envelope["event_type"]) == ({"by": "hand"}, "manual")

    async def test_without_a_key_each_fire_is_new(self, rig: Rig) -> None:
        await rig.add()
        assert len({(await fire(rig)).event_id for _ in range(3)}) == 3

    async def test_a_key_that_was_seen_gives_the_original(self, open_engine: Rig) -> None:
        await open_engine.add()
        first = await fire(open_engine, key="k")
        await open_engine.settle(open_engine.taken.pop(), succeeded())
        again = await fire(open_engine, key="k")
        assert again == Fired(event_id=first.event_id, run_id=first.run_id, state="succeeded", duplicate=True)

    async def test_a_key_counts_per_trigger(self, rig: Rig) -> None:
        await rig.add(spec("a"))
        await rig.add(spec("b"))
        assert [(await fire(rig, name, key="k")).duplicate for name in ("a", "b")] == [False, False]

    async def test_a_name_that_does_not_exist_is_told_with_the_nearest(self, rig: Rig) -> None:
        for name in ("brief", "briefing", "inbox"):
            await rig.add(spec(name))
        with pytest.raises(NotFound, match=r"no trigger named 'breif' \(did you mean brief") as caught:
            await fire(rig, "breif")
        assert "inbox" not in caught.value.nearest

    async def test_no_name_near_is_not_made_up(self, rig: Rig) -> None:
        with pytest.raises(NotFound, match=r"^no trigger named 'x'$"):
            await fire(rig, "x")

    async def test_one_that_is_off_is_refused_with_the_way_out(self, rig: Rig) -> None:
        await rig.disarm(await rig.add(), DisabledReason.FAILURES)
        with pytest.raises(Refused, match=r"t is off \(failures\): `tocsin enable t` arms it again"):
            await fire(rig)
        assert await rig.events() == []

    async def test_one_that_has_expired_is_refused(self, rig: Rig) -> None:
        await rig.add(spec(expires_at=rig.clock.now() + HOUR))
        rig.clock.advance(HOUR)
        with pytest.raises(Refused, match="expired"):
            await fire(rig)

    async def test_a_removed_one_is_not_found(self, rig: Rig) -> None:
        await rig.remove(await rig.add())
        with pytest.raises(NotFound):
            await fire(rig)

    async def test_a_run_must_not_fire_what_brought_it_about(self, rig: Rig) -> None:
        row = await rig.add()
        with pytest.raises(Refused, match="a cycle"):
            await fire(rig, cause=Cause(run_id="run_1", lineage=("trg_other", row.id)))
        assert await rig.events() == []

    @pytest.mark.parametrize(("depth", "may"), [(8, True), (9, False)])
    async def test_fires_by_runs_are_chains_and_as_deep(self, rig: Rig, depth: int, may: bool) -> None:
        await rig.add()
        cause = Cause(run_id="run_1", lineage=tuple(f"trg_{n}" for n in range(depth)))
        if may:
            fired = await fire(rig, cause=cause)
            assert (await rig.event(fired.event_id)).cause == cause
        else:
            with pytest.raises(Refused, match="more than 8 triggers"):
                await fire(rig, cause=cause)

    async def test_a_busy_lane_makes_it_wait(self, open_engine: Rig) -> None:
        await open_engine.add(scheduled())
        assert [(await fire(open_engine)).state for _ in range(2)] == ["claimed", "held"]


class TestAdd:
    async def test_a_trigger_made_by_hand_is_a_row_of_its_own_origin(self, rig: Rig) -> None:
        rig.configure(W)
        row = await add(rig, "mine", {"workflow": "w", "every": "10m"})
        assert (row.spec.name, row.origin, row.enabled) == ("mine", RowOrigin.CLI, True)
        assert row.next_fire_at == rig.clock.now() + timedelta(minutes=10)
        assert rig.changes == [None]

    async def test_a_name_that_is_taken_is_refused(self, rig: Rig) -> None:
        rig.configure(W)
        await rig.add(spec("mine"))
        with pytest.raises((Refused, ConfigInvalid), match="mine"):
            await add(rig, "mine", {"workflow": "w", "manual": True})

    async def test_the_name_of_a_removed_one_is_free(self, rig: Rig) -> None:
        rig.configure(W)
        old = await rig.add(spec("mine"))
        await rig.remove(old)
        row = await add(rig, "mine", {"workflow": "w", "manual": True})
        assert row.id != old.id

    async def test_a_mistake_is_told_as_one_of_the_file_would_be(self, rig: Rig) -> None:
        rig.configure(W)
        with pytest.raises((ConfigInvalid, BadRequest), match="unknown"):
            await add(rig, "mine", {"workflow": "unknown", "manual": True})
        assert await rig.events() == []


class TestOnAndOff:
    async def test_by_name(self, rig: Rig) -> None:
        for name in ("a", "b", "c"):
            await rig.add(spec(name))
        assert await rig.controls.disable(["a", "b"], tag=None) == ["a", "b"]
        assert [(await rig.named(name)).enabled for name in ("a", "b", "c")] == [False, False, True]
        assert (await rig.named("a")).disabled_reason is DisabledReason.USER
        assert await rig.controls.enable(["a"], tag=None, requeue_dropped=False) == {"a": 0}
        assert (await rig.named("a")).enabled
        assert rig.changes == [None, None]

    async def test_by_tag(self, rig: Rig) -> None:
        await rig.add(spec("a", tags=("client-x",)))
        await rig.add(spec("b", tags=("client-x", "other")))
        await rig.add(spec("c"))
        assert await rig.controls.disable([], tag="client-x") == ["a", "b"]
        with pytest.raises(NotFound, match="no tag named 'client-y'"):
            await rig.controls.disable([], tag="client-y")

    async def test_one_unknown_name_among_known_ones_changes_nothing(self, rig: Rig) -> None:
        await rig.add(spec("a"))
        with pytest.raises(NotFound):
            await rig.controls.disable(["a", "nobody"], tag=None)
        assert (await rig.named("a")).enabled

    async def test_disabling_drops_what_waits_and_enabling_may_bring_it_back(self, rig: Rig) -> None:
        row = await rig.add()
        for n in range(3):
            await rig.accept(row, f"d{n}")
        await rig.controls.disable(["t"], tag=None)
        assert await rig.states() == ["dropped"] * 3
        rig.clock.advance(1)
        await rig.controls.enable(["t"], tag=None, requeue_dropped=True)
        assert await rig.states() == ["pending", "held", "held"]

    async def test_an_expired_one_cannot_be_enabled(self, rig: Rig) -> None:
        await rig.add(spec(expires_at=rig.clock.now() + HOUR))
        rig.clock.advance(HOUR)
        await rig.tick()
        with pytest.raises(Refused, match="has expired"):
            await rig.controls.enable(["t"], tag=None, requeue_dropped=False)
        assert (await rig.named("t")).disabled_reason is DisabledReason.EXPIRED

    async def test_removing_hides_and_drops(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.accept(row)
        assert await rig.controls.remove(["t"], tag=None) == ["t"]
        assert (await rig.row(row.id)).removed_at is not None
        assert [event.reason for event in await rig.events()] == ["removed"]
        with pytest.raises(NotFound):
            await rig.controls.remove(["t"], tag=None)


class TestToken:
    async def test_it_is_the_one_whose_hash_is_stored(self, rig: Rig) -> None:
        row = await rig.add()
        token = await rig.controls.token("t", rotate=False)
        assert await rig.read(lambda tx: journal.token_of(tx, row.id)) == token_hash(token)
        assert await rig.controls.token("t", rotate=False) == token

    async def test_rotating_makes_the_old_one_void(self, rig: Rig) -> None:
        row = await rig.add()
        old = await rig.controls.token("t", rotate=False)
        new = await rig.controls.token("t", rotate=True)
        assert new != old
        assert await rig.read(lambda tx: journal.token_of(tx, row.id)) == token_hash(new)
        assert await rig.controls.token("t", rotate=False) == new

    async def test_a_lost_one_says_how_to_get_another(self, rig: Rig) -> None:
        await rig.add()
        rig.secrets.values.clear()
        with pytest.raises(Refused, match="--rotate"):
            await rig.controls.token("t", rotate=False)

    async def test_only_a_webhook_has_one(self, rig: Rig) -> None:
        await rig.add(scheduled())
        with pytest.raises(Refused, match="cron trigger"):
            await rig.controls.token("t", rotate=False)


async def test_verbs_that_come_together_do_not_undo_each_other(rig: Rig) -> None:
    await rig.add(spec("a"))
    answers = await asyncio.gather(
        rig.controls.disable(["a"], tag=None),
        rig.controls.disable(["nobody"], tag=None),
        rig.controls.fire("a", payload=None, key=None, cause=None),
        return_exceptions=True,
    )
    assert [type(answer) for answer in answers] == [list, NotFound, Refused]
