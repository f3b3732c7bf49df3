"""Retention: payloads before rows, only what has ended, in batches, and the disk back."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.engine.old_rows import furnish
from tests.engine.rig import Rig, claimed, scheduled, spec
from tests.fakes import failed, succeeded
from tests.store.raw import on_writer
from tocsin.engine.claims import Claim
from tocsin.engine.controls import by_hand
from tocsin.errors import Refused
from tocsin.event import Duplicate, Event
from tocsin.notices import HistoryGivenUp, Trouble
from tocsin.registration import DisabledReason, Registration
from tocsin.settings import EngineSettings, Retention
from tocsin.store import journal, ledger
from tocsin.store.audit import audited
from tocsin.trigger import Overlap

DAY = timedelta(days=1)
KEPT = Retention(
    payloads=timedelta(days=2), runs=timedelta(days=10), events=timedelta(days=20), dedupe=timedelta(days=30)
)


async def collect(rig: Rig, kept: Retention = KEPT) -> HistoryGivenUp:
    """Everything that is due, and proof that what is left fits together."""
    report, more = await rig.keeper.collect(kept, rig.clock.now())
    assert not more
    found = await rig.read(audited)
    assert found.ok, found.problems
    return report


async def ended(rig: Rig, registration: Registration, delivery: str = "d1") -> Event:
    """A succeeded event, whose run has a log."""
    await rig.accept(registration, delivery, body=b"x" * 100)
    return await succeed(rig, rig.taken.pop())


async def succeed(rig: Rig, claim: Claim) -> Event:
    claim.log.parent.mkdir(exist_ok=True)
    claim.log.write_bytes(b"printed")
    assert await rig.settle(claim, succeeded())
    return await rig.event(claim.event.id)


async def newest(rig: Rig) -> None:
    """The last row of a table always stays: one for the tests to stand behind."""
    await ended(rig, await rig.add(spec("newest")), "newest")


async def delivered(rig: Rig, event: Event) -> ledger.Delivered:
    return await rig.read(lambda tx: ledger.delivery_of(tx, event.id))


async def test_each_kind_goes_at_its_own_age_and_not_before(open_engine: Rig) -> None:
    rig = open_engine
    event = await ended(rig, await rig.add())
    log = rig.paths.logs / f"{event.run_id}.log"
    rig.clock.advance(2 * DAY)
    await newest(rig)
    assert await collect(rig) == HistoryGivenUp()
    rig.clock.advance(1)
    assert (await collect(rig)).payloads == 1
    found = await delivered(rig, event)
    assert (found.envelope, found.body, found.pruned_at) == ({}, None, rig.clock.now())
    rig.clock.advance(8 * DAY)
    report = await collect(rig)
    assert (report.runs, report.logs, report.events) == (1, 1, 0)
    assert not log.exists()
    rig.clock.advance(10 * DAY)
    report = await collect(rig)
    assert (report.events, report.deliveries, report.hashes) == (1, 1, 0)
    rig.clock.advance(10 * DAY)
    assert (await collect(rig)).hashes == 1


@pytest.mark.parametrize("state", ["held", "pending", "claimed"])
async def test_what_has_not_ended_loses_nothing(open_engine: Rig, state: str) -> None:
    rig = open_engine
    row = await rig.add()
    await rig.accept(row, "head")
    claim = rig.taken.pop()
    if state == "pending":
        await rig.settle(claim, failed())
        rig.claims.close()
    if state == "held":
        await rig.accept(row, "behind")
    rig.clock.advance(400 * DAY)
    await rig.write(lambda tx: None)
    assert (await collect(rig)) == HistoryGivenUp()
    assert state in await rig.states(row)
    assert all([(await delivered(rig, event)).envelope for event in await rig.events(row)])


async def test_what_lost_its_payload_is_not_tried_or_told_again(open_engine: Rig) -> None:
    rig = open_engine
    claim = await claimed(rig, await rig.add(spec(max_attempts=1)))
    assert await rig.settle(claim, failed())
    rig.clock.advance(3 * DAY)
    assert (await collect(rig)).payloads == 1
    for again in (
        rig.controls.second_thoughts.retry([claim.event.id]),
        rig.controls.second_thoughts.replay([claim.event.id], cause=None),
    ):
        with pytest.raises(Refused, match=r"given up on 2026-01-04T12:00:00Z \(retention.payloads\)"):
            await again


async def test_an_event_that_came_back_between_look_and_write_keeps_everything(open_engine: Rig) -> None:
    rig = open_engine
    claim = await claimed(rig, await rig.add(spec(max_attempts=1)))
    assert await rig.settle(claim, failed())
    rig.claims.close()
    rig.clock.advance(400 * DAY)
    await asyncio.gather(collect(rig), rig.controls.second_thoughts.retry([claim.event.id]))
    assert (await delivered(rig, claim.event)).envelope
    assert len(await rig.runs(claim.event.id)) == 1


async def test_requeue_brings_back_what_still_has_its_payload(open_engine: Rig) -> None:
    rig = open_engine
    rig.claims.close()
    row = await rig.add()
    await rig.accept(row, "old")
    rig.clock.advance(3 * DAY)
    await rig.accept(row, "young")
    await rig.disarm(row)
    assert (await collect(rig)).payloads == 1
    assert await rig.enable(row, requeue_dropped=True) == 1
    assert await rig.states(row) == ["dropped", "pending"]


async def test_the_reason_why_a_trigger_is_off_stays_as_long_as_it_is(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add()
    for _ in range(2):
        await rig.disarm(row, DisabledReason.FAILURES)
        await rig.enable(row)
    await rig.disarm(row, DisabledReason.USER)
    rig.clock.advance(100 * DAY)
    await rig.write(lambda tx: journal.write(tx, "newest", now=rig.clock.now()))
    await collect(rig)
    assert await entries(rig) == ["disarmed user", "newest"]
    await rig.enable(row)
    await collect(rig)
    assert await entries(rig) == ["newest", "enabled"]


async def test_the_last_word_of_a_pause_stays_as_long_as_it_lasts(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add()
    for _ in range(2):
        await rig.write(
            lambda tx: journal.write(tx, "paused", registration_id=row.id, reason="user", now=rig.clock.now())
        )
    await on_writer(rig.store, "UPDATE registrations SET paused_at = 1")
    rig.clock.advance(100 * DAY)
    await rig.write(lambda tx: journal.write(tx, "newest", now=rig.clock.now()))
    await collect(rig)
    assert await entries(rig) == ["paused user", "newest"]
    await on_writer(rig.store, "UPDATE registrations SET paused_at = NULL")
    await collect(rig)
    assert await entries(rig) == ["newest"]


async def entries(rig: Rig) -> list[str]:
    """What the journal says, in order."""
    rows = await on_writer(rig.store, "SELECT what, reason FROM journal ORDER BY seq")
    return [" ".join(filter(None, row)) for row in rows]


async def test_a_known_delivery_is_answered_after_its_event_is_gone(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add()
    event = await ended(rig, row)
    rig.clock.advance(25 * DAY)
    await newest(rig)
    assert (await collect(rig)).events == 1
    assert await rig.accept(row) == Duplicate(event_id=event.id)
    rig.clock.advance(29 * DAY)
    assert (await collect(rig)).hashes == 0, "it was seen again"
    rig.clock.advance(2 * DAY)
    assert (await collect(rig)).hashes == 1
    await ended(rig, row)


async def test_a_key_fired_before_whose_event_is_gone_is_refused(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add()
    await rig.acceptor.accept(by_hand(row, None, "key", None, rig.clock.now()))
    await succeed(rig, rig.taken.pop())
    rig.clock.advance(25 * DAY)
    await newest(rig)
    await collect(rig)
    with pytest.raises(Refused, match="fired before, as evt_"):
        await rig.controls.fire("t", payload=None, key="key", cause=None)


async def test_a_copy_outlives_its_original(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add()
    event = await ended(rig, row)
    rig.clock.advance(DAY)
    [copy] = await rig.controls.second_thoughts.replay([event.id], cause=None)
    await rig.take()
    await succeed(rig, rig.taken.pop())
    rig.clock.advance(20 * DAY)
    assert (await collect(rig)).events == 1
    assert (await rig.event(copy.id)).replay_of == event.id


async def test_skips_behind_one_blocker_go_with_their_hashes(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add(scheduled(overlap=Overlap.SKIP))
    for minute in range(4):
        await rig.accept(row, f"1:{minute}")
        rig.clock.advance(60)
    assert await rig.states(row) == ["claimed", "skipped"]
    await succeed(rig, rig.taken.pop())
    rig.clock.advance(31 * DAY)
    await newest(rig)
    report = await collect(rig)
    assert (report.events, report.hashes) == (2, 4)


async def test_a_number_of_a_row_is_never_given_to_another(open_engine: Rig) -> None:
    """Followers go on behind the last row that they saw."""
    rig = open_engine
    row = await rig.add()
    for name in ("a", "b"):
        event = await ended(rig, row, name)
    rig.clock.advance(400 * DAY)
    assert (await collect(rig)).events == 1
    assert [left.id for left in await rig.events()] == [event.id]
    assert (await ended(rig, row, "c")).seq == event.seq + 1


async def test_logs_without_a_run_go_when_they_are_a_day_old(open_engine: Rig) -> None:
    rig = open_engine
    event = await ended(rig, await rig.add())
    mine = rig.paths.logs / f"{event.run_id}.log"
    old, young = (rig.paths.logs / f"run_{digit * 32}.log" for digit in "ab")
    other = rig.paths.logs / "up.log"
    for path in (old, young, other):
        path.write_bytes(b"12345")
    for path in (old, mine, other):
        os.utime(path, (0, 0))
    os.utime(young, (rig.clock.now().timestamp(),) * 2)
    assert await collect(rig) == HistoryGivenUp(logs=1, bytes=5)
    assert sorted(path.name for path in rig.paths.logs.iterdir()) == sorted(
        path.name for path in (mine, young, other)
    )


async def test_the_last_report_can_be_asked_for(open_engine: Rig) -> None:
    rig = open_engine
    await ended(rig, await rig.add())
    rig.clock.advance(3 * DAY)
    report = await collect(rig)
    assert rig.notices.of(HistoryGivenUp) == [report]
    fact = await rig.read(lambda tx: journal.fact(tx, "retention"))
    assert isinstance(fact, dict)
    assert (fact["at"], fact["payloads"]) == ("2026-01-04T12:00:00Z", 1)
    await collect(rig)
    assert len(rig.notices.of(HistoryGivenUp)) == 1, "nothing was removed"


async def test_it_looks_after_a_minute_then_hourly_and_at_once_for_other_settings(open_engine: Rig) -> None:
    rig = open_engine
    rig.keeper.kept = KEPT
    await ended(rig, await rig.add())
    rig.clock.advance(3 * DAY)
    assert await rig.keeper.once(rig.clock.now()) == 60
    rig.clock.advance(59)
    assert await rig.keeper.once(rig.clock.now()) == 1
    assert rig.notices.of(HistoryGivenUp) == []
    rig.clock.advance(1)
    assert await rig.keeper.once(rig.clock.now()) == 3600
    assert [report.payloads for report in rig.notices.of(HistoryGivenUp)] == [1]
    row = await rig.add(spec("second"))
    await ended(rig, row, "d2")
    rig.clock.advance(600)
    rig.keeper.read(EngineSettings(retention=KEPT))
    assert await rig.keeper.once(rig.clock.now()) == 3000
    rig.keeper.read(EngineSettings(retention=replace(KEPT, payloads=timedelta(seconds=1))))
    assert await rig.keeper.once(rig.clock.now()) == 3600
    assert [report.payloads for report in rig.notices.of(HistoryGivenUp)] == [1, 1]
    rig.clock.jump(-DAY)
    assert await rig.keeper.once(rig.clock.now()) == 3600, "the clock was set back"


async def look(rig: Rig) -> int:
    """One hourly look; how many payloads it gave up."""
    await rig.keeper.once(rig.clock.advance(3600))
    return sum(report.payloads for report in rig.notices.of(HistoryGivenUp))


async def test_a_leap_of_the_clock_is_believed_a_day_later(open_engine: Rig) -> None:
    rig = open_engine
    rig.keeper.kept = KEPT
    await rig.keeper.once(rig.clock.now())
    assert await look(rig) == 0
    await ended(rig, await rig.add())
    rig.clock.jump(365 * DAY)
    assert [await look(rig) for _ in range(24)] == [0] * 24
    assert len(rig.notices.of(Trouble)) == 1
    rig.clock.jump(-365 * DAY)
    assert [await look(rig) for _ in range(3)] == [0, 0, 0], "it had been an accident"
    rig.clock.jump(10 * DAY)
    assert [await look(rig) for _ in range(25)][-2:] == [0, 1], "it had lain in a drawer"


async def test_a_future_row_does_not_keep_what_is_behind_it(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add()
    rig.clock.jump(3650 * DAY)
    await ended(rig, row, "future")
    rig.clock.jump(-3650 * DAY)
    await ended(rig, row, "past")
    rig.clock.advance(31 * DAY)
    await newest(rig)
    report = await collect(rig)
    assert (report.runs, report.events, report.hashes) == (1, 1, 1)


async def test_many_rows_go_in_batches_while_deliveries_come_in(open_engine: Rig) -> None:
    rig, rows = open_engine, 20_000
    row = await rig.add(spec(overlap=Overlap.ALLOW))
    rig.claims.close()
    await furnish(rig, row, rows)
    rig.clock.advance(31 * DAY)
    await rig.accepted(row, "newest")
    pages = await rig.count("PRAGMA page_count")
    work = asyncio.create_task(rig.keeper.collect(KEPT, rig.clock.now()))
    came = 0
    while not work.done():
        await rig.accepted(row, f"meanwhile {came}")
        came += 1
    report, _ = await work
    assert (report.payloads, report.events, report.deliveries, report.hashes) == (rows,) * 4
    assert came > rows // 500, "each batch lets others in"
    assert await rig.count("PRAGMA freelist_count") < 256
    assert await rig.count("PRAGMA page_count") < pages // 2
    assert report.bytes > pages * 4096 // 2
    assert (await rig.read(audited)).ok
