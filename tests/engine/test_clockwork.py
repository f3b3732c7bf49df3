"""Due schedules become events: in one transaction, once, whatever the clock did meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.engine.rig import Rig, commits_of, limits, open_rig, policy, scheduled, spec
from tests.fakes import succeeded
from tests.store.raw import on_writer
from tocsin.engine.clockwork import BATCH
from tocsin.event import Event, Origin, State
from tocsin.notices import Disarmed, EventRecorded, Trouble
from tocsin.registration import DisabledReason
from tocsin.schedule import delivery_id
from tocsin.store import ledger, registrations
from tocsin.trigger import At, Cron, Every, Kind, Misfire, Overlap

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
NINE = Cron(expr="0 9 * * *", tz="UTC")


async def jump(rig: Rig, length: timedelta) -> None:
    """The machine slept, the daemon was down, or the clock was set: then the loop looks again."""
    rig.clock.jump(length)
    await rig.tick()


def planned(found: list[Event]) -> list[tuple[datetime | None, int, str]]:
    return [(event.planned_at, event.missed, event.origin.value) for event in found]


class TestDue:
    async def test_an_instant_becomes_an_event_at_its_time_and_not_before(self, rig: Rig) -> None:
        row = await rig.add(scheduled())
        assert row.next_fire_at == NOON + MINUTE
        rig.clock.advance(MINUTE - timedelta(microseconds=1))
        assert await rig.tick() == pytest.approx(1e-6)
        assert await rig.events() == []
        rig.clock.advance(timedelta(microseconds=1))
        await rig.tick()
        (event,) = await rig.events()
        assert (event.planned_at, event.occurred_at, event.missed) == (NOON + MINUTE, NOON + MINUTE, 0)
        assert (event.kind, event.origin) == (Kind.SCHEDULE, Origin.LIVE)

    async def test_its_delivery_id_is_revision_and_planned_microseconds(self, rig: Rig) -> None:
        await rig.add(scheduled())
        rig.clock.advance(MINUTE)
        await rig.tick()
        (event,) = await rig.events()
        at = round((NOON + MINUTE).timestamp() * 1_000_000)
        assert event.delivery_id == f"1:{at}" == delivery_id(1, NOON + MINUTE)

    async def test_event_and_next_instant_change_in_one_transaction_with_the_claim(
        self, open_engine: Rig
    ) -> None:
        row = await open_engine.add(scheduled())
        await open_engine.tick()
        open_engine.clock.advance(MINUTE)
        commits = await commits_of(open_engine)
        await open_engine.tick()
        assert len(commits) == 1
        assert await open_engine.states() == ["claimed"]
        assert (await open_engine.row(row.id)).next_fire_at == NOON + 2 * MINUTE

    async def test_looking_twice_within_the_minute_fires_once(self, rig: Rig) -> None:
        """CR-43."""
        await rig.add(scheduled())
        rig.clock.advance(MINUTE)
        for _ in range(3):
            await rig.tick()
            rig.clock.advance(20)
        assert len(await rig.events()) == 1

    async def test_a_planned_instant_that_comes_again_is_a_duplicate(self, rig: Rig) -> None:
        """A restored backup, or a clock set back: the ledger stops it."""
        row = await rig.add(scheduled())
        rig.clock.advance(MINUTE)
        await rig.tick()
        await rig.write(lambda tx: registrations.plan_next(tx, row.id, NOON + MINUTE))
        await rig.tick()
        assert len(await rig.events()) == 1
        assert (await rig.row(row.id)).next_fire_at == NOON + 2 * MINUTE

    async def test_the_next_instant_is_counted_from_the_planned_one(self, rig: Rig) -> None:
        row = await rig.add(scheduled(schedule=Every(every=timedelta(seconds=7)), overlap=Overlap.ALLOW))
        for _ in range(30):
            rig.clock.advance(1.5)
            await rig.tick()
        fired = [event.planned_at for event in await rig.events()]
        assert fired == [NOON + n * timedelta(seconds=7) for n in range(1, 7)]
        assert (await rig.row(row.id)).next_fire_at == NOON + 7 * timedelta(seconds=7)

    async def test_an_instant_comes_once_for_at(self, rig: Rig) -> None:
        row = await rig.add(scheduled(schedule=At(at=NOON + HOUR)))
        await jump(rig, HOUR)
        await jump(rig, DAY)
        assert [event.planned_at for event in await rig.events()] == [NOON + HOUR]
        after = await rig.row(row.id)
        assert (after.next_fire_at, after.enabled) == (None, True)

    async def test_the_payload_tells_the_planned_instant(self, rig: Rig) -> None:
        await rig.add(scheduled())
        rig.clock.advance(MINUTE)
        await rig.tick()
        (event,) = await rig.events()
        envelope = await rig.read(lambda tx: ledger.envelope_of(tx, event.id))
        assert envelope["raw_payload"] == {"planned_at": "2026-01-01T12:01:00Z", "missed": 0}
        assert (envelope["trigger_key"], envelope["mode"]) == ("cron", "schedule")

    async def test_nothing_planned_is_looked_at_again_in_a_second(self, rig: Rig) -> None:
        assert await rig.tick() == 1.0

    async def test_the_loop_may_sleep_until_the_next_instant(self, rig: Rig) -> None:
        await rig.add(scheduled(schedule=NINE))
        assert await rig.tick() == (21 * HOUR).total_seconds()

    async def test_a_disabled_schedule_is_not_due(self, rig: Rig) -> None:
        await rig.disarm(await rig.add(scheduled()))
        await jump(rig, DAY)
        assert await rig.events() == []

    async def test_two_schedules_of_different_zones_come_due_as_instants(self, rig: Rig) -> None:
        """QU-06: 23:00 in Kolkata is 17:30Z; 13:30 in New York is 18:30Z."""
        await rig.add(scheduled("kolkata", Cron(expr="0 23 * * *", tz="Asia/Kolkata")))
        await rig.add(scheduled("new-york", Cron(expr="30 13 * * *", tz="America/New_York")))
        await jump(rig, 6 * HOUR)
        assert [event.registration for event in await rig.events()] == ["kolkata"]
        await jump(rig, HOUR / 2)
        assert [event.registration for event in await rig.events()] == ["kolkata", "new-york"]


class TestMisfire:
    async def test_fire_once_makes_one_event_for_the_latest_missed_instant(self, rig: Rig) -> None:
        """CR-41: the clock jumps an hour forward; one catch-up, then the regular next slot."""
        row = await rig.add(scheduled(schedule=Cron(expr="*/5 * * * *", tz="UTC")))
        await jump(rig, HOUR + timedelta(seconds=90))
        assert planned(await rig.events()) == [(NOON + HOUR, 11, "catch_up")]
        assert (await rig.row(row.id)).next_fire_at == NOON + HOUR + 5 * MINUTE
        (notice,) = rig.notices.of(EventRecorded)
        assert (notice.planned_at, notice.missed) == (NOON + HOUR, 11)

    async def test_a_night_of_sleep_is_one_late_run(self, rig: Rig) -> None:
        """CR-39: the wall clock jumps eight hours; the daily instant inside it fires once."""
        row = await rig.add(scheduled(schedule=NINE))
        await jump(rig, 14 * HOUR)  # 02:00 on the second
        assert await rig.events() == []
        await jump(rig, 8 * HOUR)  # 10:00
        assert planned(await rig.events()) == [(NOON + 21 * HOUR, 0, "catch_up")]
        assert (await rig.row(row.id)).next_fire_at == NOON + 45 * HOUR

    async def test_within_the_grace_it_is_not_missed(self, rig: Rig) -> None:
        await rig.add(scheduled(schedule=NINE))
        await jump(rig, 21 * HOUR + timedelta(seconds=60))
        assert planned(await rig.events()) == [(NOON + 21 * HOUR, 0, "live")]

    async def test_skip_leaves_one_row_with_the_count(self, rig: Rig) -> None:
        row = await rig.add(scheduled(misfire=policy(Misfire.SKIP)))
        await jump(rig, HOUR + timedelta(seconds=90))
        skipped, live = await rig.events()
        if skipped.state is not State.SKIPPED:
            skipped, live = live, skipped
        assert (skipped.state, skipped.reason, skipped.count) == (State.SKIPPED, "misfire", 60)
        assert skipped.planned_at == NOON + HOUR
        assert (live.state, live.planned_at) == (State.PENDING, NOON + HOUR + MINUTE)
        assert (await rig.row(row.id)).next_fire_at == NOON + HOUR + 2 * MINUTE

    async def test_fire_all_makes_every_missed_instant_an_event_in_order(self, open_engine: Rig) -> None:
        """They queue, although the overlap rule of a schedule is to skip."""
        await open_engine.add(
            scheduled(schedule=Cron(expr="*/5 * * * *", tz="UTC"), misfire=policy(Misfire.FIRE_ALL))
        )
        await jump(open_engine, HOUR + timedelta(seconds=90))
        found = await open_engine.events()
        assert [event.planned_at for event in found] == [NOON + n * 5 * MINUTE for n in range(1, 13)]
        assert [event.state.value for event in found] == ["claimed"] + ["held"] * 11
        order = []
        while open_engine.taken:
            claim = open_engine.taken.pop()
            order.append(claim.event.planned_at)
            await open_engine.settle(claim, succeeded())
        assert order == [event.planned_at for event in found]

    async def test_those_of_the_last_minute_queue_behind_the_missed_ones(self, open_engine: Rig) -> None:
        """They are not late, but they came at once with the others."""
        await open_engine.add(scheduled(misfire=policy(Misfire.FIRE_ALL, limit=5)))
        await jump(open_engine, HOUR)
        found = await open_engine.events()
        assert [event.origin for event in found] == [*[Origin.CATCH_UP] * 3, *[Origin.LIVE] * 2]
        assert [event.state.value for event in found] == ["claimed"] + ["held"] * 4

    async def test_fire_all_is_capped(self, rig: Rig) -> None:
        await rig.add(scheduled(misfire=policy(Misfire.FIRE_ALL, limit=3), overlap=Overlap.QUEUE))
        await jump(rig, DAY)
        found = planned(await rig.events())
        assert len(found) == 3
        assert found[-1][0] == NOON + DAY
        assert sum(missed for _, missed, _ in found) == 24 * 60 - 3

    async def test_a_crash_between_two_looks_is_a_gap_like_any_other(self, rig: Rig) -> None:
        await rig.add(scheduled(schedule=NINE))
        async with open_rig(rig.paths.home, owner="own_2") as after:
            after.clock.jump(3 * DAY)
            await after.tick()
            assert planned(await after.events()) == [(NOON + 69 * HOUR, 2, "catch_up")]

    async def test_years_of_silence_are_counted_in_no_time(self, rig: Rig) -> None:
        await rig.add(scheduled())
        await jump(rig, 1000 * DAY)
        (event,) = await rig.events()
        assert event.missed == 1000 * 24 * 60 - 1


class TestOverlap:
    async def test_a_schedule_that_overtakes_its_run_is_skipped_in_one_row(self, open_engine: Rig) -> None:
        await open_engine.add(scheduled())
        for _ in range(5):
            open_engine.clock.advance(MINUTE)
            await open_engine.tick()
        running, skipped = await open_engine.events()
        assert (running.state, skipped.state) == (State.CLAIMED, State.SKIPPED)
        assert (skipped.count, skipped.planned_at) == (4, NOON + 5 * MINUTE)
        await open_engine.settle(open_engine.taken.pop(), succeeded())
        open_engine.clock.advance(MINUTE)
        await open_engine.tick()
        assert await open_engine.states() == ["succeeded", "skipped", "claimed"]


class TestExpiry:
    async def test_a_trigger_past_its_end_is_turned_off_whatever_its_kind(self, rig: Rig) -> None:
        triggers = [scheduled("x", expires_at=NOON + HOUR), spec("hook", expires_at=NOON + HOUR)]
        rows = [await rig.add(trigger) for trigger in triggers]
        await rig.accept(rows[1])
        await jump(rig, HOUR)
        for row in rows:
            after = await rig.row(row.id)
            assert (after.enabled, after.disabled_reason) == (False, DisabledReason.EXPIRED)
        assert sorted(notice.registration for notice in rig.notices.of(Disarmed)) == ["hook", "x"]
        found = [(event.registration, event.state.value, event.reason) for event in await rig.events()]
        assert found == [("hook", "dropped", "expired"), ("x", "skipped", "expired")]

    async def test_the_loop_wakes_for_it(self, rig: Rig) -> None:
        await rig.add(spec(expires_at=NOON + timedelta(seconds=30)))
        assert await rig.tick() == 30.0

    async def test_it_is_told_once(self, rig: Rig) -> None:
        await rig.add(spec(expires_at=NOON + HOUR))
        await jump(rig, HOUR)
        await jump(rig, HOUR)
        assert len(rig.notices.of(Disarmed)) == 1


class TestSelfScheduling:
    async def test_a_manual_trigger_goes_on_by_itself(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(kind=Kind.MANUAL, component="manual"))
        await open_engine.fire(row, "start")
        for _ in range(3):
            run_id = open_engine.taken[0].ref.run_id
            await open_engine.settle(open_engine.taken.pop(), succeeded(next_fire_at="1h"))
            open_engine.clock.advance(HOUR)
            await open_engine.tick()
            event = (await open_engine.events())[-1]
            assert (event.origin, event.kind) == (Origin.SELF, Kind.MANUAL)
            assert (event.delivery_id, event.planned_at) == (f"self:{run_id}", open_engine.clock.now())
            assert event.state is State.CLAIMED
        assert (await open_engine.row(row.id)).next_fire_at is None

    async def test_it_comes_before_the_schedule_and_the_schedule_goes_on_after_it(
        self, open_engine: Rig
    ) -> None:
        row = await open_engine.add(scheduled(schedule=NINE))
        await open_engine.fire(row, "by hand")
        await open_engine.settle(open_engine.taken.pop(), succeeded(next_fire_at="30m"))
        assert (await open_engine.row(row.id)).next_fire_at == NOON + HOUR / 2
        open_engine.clock.advance(HOUR / 2)
        await open_engine.tick()
        assert [event.origin.value for event in await open_engine.events()] == ["manual", "self"]
        after = await open_engine.row(row.id)
        assert (after.next_fire_at, after.next_fire_run) == (NOON + 21 * HOUR, None)

    async def test_a_manual_fire_by_itself_moves_no_schedule(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled(schedule=NINE))
        await open_engine.fire(row, "by hand")
        await open_engine.settle(open_engine.taken.pop(), succeeded())
        assert (await open_engine.row(row.id)).next_fire_at == row.next_fire_at

    async def test_late_is_late_but_it_fires(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled(schedule=NINE, misfire=policy(Misfire.SKIP)))
        await open_engine.fire(row, "by hand")
        await open_engine.settle(open_engine.taken.pop(), succeeded(next_fire_at="1h"))
        await jump(open_engine, 10 * DAY)
        assert [event.origin.value for event in await open_engine.events()] == ["manual", "self"]

    async def test_never_is_silence_until_it_is_enabled(self, open_engine: Rig) -> None:
        row = await open_engine.add(scheduled(schedule=NINE))
        await open_engine.fire(row, "by hand")
        await open_engine.settle(open_engine.taken.pop(), succeeded(next_fire_at="never"))
        await jump(open_engine, 10 * DAY)
        assert len(await open_engine.events()) == 1
        await open_engine.enable(row)
        after = await open_engine.row(row.id)
        assert (after.held_until_enabled, after.next_fire_at) == (False, NOON + 10 * DAY + 21 * HOUR)


class TestPoison:
    @pytest.mark.parametrize(
        "ruin",
        [
            "cron_tz = 'Mars/Olympus_Mons'",  # the zone's file has gone
            "cron_expr = '0 0 30 2 *'",
            "cron_expr = 'x'",
            "cron_tz = ''",
            "cron_tz = '../../etc/passwd'",
        ],
    )
    async def test_a_schedule_that_no_longer_computes_is_set_aside_and_the_others_go_on(
        self, rig: Rig, ruin: str
    ) -> None:
        bad, good = await rig.add(scheduled("bad")), await rig.add(scheduled("good"))
        await on_writer(rig.store, f"UPDATE registrations SET {ruin} WHERE name = 'bad'")  # noqa: S608 - ours
        rig.clock.advance(MINUTE)
        await rig.tick()
        assert [event.registration for event in await rig.events()] == ["good"]
        after = await rig.row(bad.id)
        assert (after.next_fire_at, after.enabled) == (None, True)
        assert after.status(rig.clock.now()) == "error"
        assert after.last_error
        assert [notice.where for notice in rig.notices.of(Trouble)] == ["schedule of bad"]
        rig.clock.advance(MINUTE)
        await rig.tick()
        assert len(await rig.events(good)) == 2
        assert len(rig.notices.of(Trouble)) == 1

    async def test_the_journal_says_why(self, rig: Rig) -> None:
        await rig.add(scheduled("bad"))
        await on_writer(rig.store, "UPDATE registrations SET cron_tz = 'Mars/Olympus_Mons'")
        rig.clock.advance(MINUTE)
        await rig.tick()
        found = await on_writer(rig.store, "SELECT reason FROM journal WHERE what = 'schedule unusable'")
        assert len(found) == 1
        assert "Mars/Olympus_Mons" in str(found[0][0])


class TestCrowd:
    async def test_the_next_instant_is_waited_for_exactly_and_not_a_tick_too_long(self, rig: Rig) -> None:
        """Else each look would be a little later than the one before."""
        await rig.add(scheduled(schedule=Every(every=timedelta(seconds=1), anchor=NOON)))
        await rig.tick()
        rig.clock.advance(1.004)
        assert await rig.tick() == 0.0
        rig.clock.advance(0.003)
        assert await rig.tick() == pytest.approx(0.993)

    async def test_1200_at_once_come_in_batches_and_none_is_lost_or_doubled(self, rig: Rig) -> None:
        rig.claims.settings = limits(total=1)
        rig.open()
        await rig.add_all([scheduled(f"t{n:04}") for n in range(1200)])
        rig.clock.advance(MINUTE)
        commits = await commits_of(rig)
        delays: list[float] = []
        while not delays or delays[-1] == 0.0:
            delays.append(await rig.tick())
        assert BATCH == 500
        assert delays == [0.0, 0.0, 0.0, 60.0]
        assert len(commits) == 1 + 3  # the first look plans anew
        found = await rig.events()
        assert len({event.registration for event in found}) == len(found) == 1200
        assert await rig.tick() > 0
        assert len(await rig.events()) == 1200
