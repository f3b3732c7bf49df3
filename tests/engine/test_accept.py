"""The one door: the binding is checked, a delivery counts once, and all of it commits together."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import timedelta
from typing import Any

import pytest

from tests.engine.rig import Rig, commits_of, limits, open_rig, spec
from tests.fakes import failed
from tests.store.raw import on_writer
from tocsin.errors import BindingMismatch, StoreUnusable
from tocsin.event import Accepted, Cause, Declined, Duplicate, Origin, State
from tocsin.identity import dedupe_hash, idempotency_key
from tocsin.notices import DuplicateSeen, EventRecorded
from tocsin.registration import TENANT, DisabledReason
from tocsin.store import ledger
from tocsin.trigger import Kind

ROWS = (
    "SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM events) + (SELECT count(*) FROM seen)"
)


class TestBinding:
    @pytest.mark.parametrize(
        ("field", "wrong", "wanted"),
        [
            ("tenant", {"tenant": "other"}, "local"),
            ("connection", {"connection": "github-2"}, "None"),
            ("component", {"component": "files"}, "webhook"),
            ("component version", {"component_version": 2}, "1"),
            ("kind", {"kind": Kind.FILE}, "webhook"),
        ],
    )
    async def test_a_claim_to_another_binding_is_refused_and_leaves_a_journal_row(
        self, rig: Rig, field: str, wrong: dict[str, Any], wanted: str
    ) -> None:
        row = await rig.add()
        before = await rig.count("SELECT count(*) FROM journal")
        with pytest.raises(
            BindingMismatch, match=r"^Trigger event does not match its authorized subscription\.$"
        ) as caught:
            await rig.accept(row, **wrong)
        assert (caught.value.field, caught.value.wanted) == (field, wanted)
        assert caught.value.registration_id == row.id
        assert await rig.count(ROWS) == 0
        assert await rig.count("SELECT count(*) FROM journal") == before + 1
        last = "SELECT what, reason, registration_id FROM journal ORDER BY seq DESC LIMIT 1"
        assert await on_writer(rig.store, last) == [("refused", "binding", row.id)]

    async def test_a_registration_that_does_not_exist(self, rig: Rig) -> None:
        row = await rig.add()
        with pytest.raises(BindingMismatch, match="authorized subscription"):
            await rig.acceptor.accept(rig.occurrence(row, registration_id="trg_none"))
        assert await rig.count(ROWS) == 0

    async def test_a_wrong_binding_is_refused_even_when_the_registration_is_off(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.disarm(row)
        with pytest.raises(BindingMismatch):
            await rig.accept(row, kind=Kind.FILE)


class TestNotActive:
    async def test_disabled(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.disarm(row, DisabledReason.MAX_RUNS)
        assert await rig.accept(row) == Declined(reason="max_runs")
        assert await rig.count(ROWS) == 0

    async def test_written_as_disabled(self, rig: Rig) -> None:
        assert await rig.accept(await rig.add(spec(enabled=False))) == Declined(reason="config")

    async def test_expired_before_anybody_noticed(self, rig: Rig) -> None:
        row = await rig.add(spec(expires_at=rig.clock.now() + timedelta(hours=1)))
        rig.clock.advance(timedelta(hours=1) - timedelta(microseconds=1))
        assert isinstance(await rig.accept(row, "in time"), Accepted)
        rig.clock.advance(timedelta(microseconds=1))
        assert await rig.accept(row, "late") == Declined(reason="expired")

    async def test_removed(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.remove(row)
        assert await rig.accept(row) == Declined(reason="removed")
        assert await rig.count(ROWS) == 0

    async def test_what_was_declined_may_come_again(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.disarm(row)
        await rig.accept(row)
        await rig.enable(row)
        assert isinstance(await rig.accept(row), Accepted)


class TestDuplicates:
    async def test_the_answer_names_the_original_event_and_run(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        first = await open_engine.accepted(row)
        assert first.run_id is not None
        assert await open_engine.accept(row) == Duplicate(event_id=first.event_id, run_id=first.run_id)
        assert await open_engine.states() == ["claimed"]
        assert open_engine.notices.of(DuplicateSeen) == [
            DuplicateSeen(event_id=first.event_id, registration="t")
        ]

    async def test_a_repetition_makes_the_memory_of_it_young_again(self, rig: Rig) -> None:
        row = await rig.add()
        await rig.accept(row)
        later = rig.clock.advance(timedelta(days=80))
        await rig.accept(row)
        times = await on_writer(rig.store, "SELECT first_seen_at, last_seen_at FROM seen")
        assert times == [(times[0][1] - 80 * 86_400_000_000, round(later.timestamp()) * 1_000_000)]

    async def test_it_is_one_however_long_ago_and_however_it_ended(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        first = await open_engine.accepted(row)
        await open_engine.settle(open_engine.taken[0], failed())
        open_engine.clock.advance(timedelta(days=3650))
        answer = await open_engine.accept(row)
        assert isinstance(answer, Duplicate)
        assert answer.event_id == first.event_id

    async def test_other_content_under_the_same_id_is_a_duplicate(self, rig: Rig) -> None:
        row = await rig.add()
        first = await rig.accepted(row, payload={"a": 1})
        assert await rig.accept(row, payload={"a": 2}, body=b"other") == Duplicate(event_id=first.event_id)

    async def test_registrations_do_not_share_their_ledgers(self, rig: Rig) -> None:
        one, other = await rig.add(spec("one")), await rig.add(spec("other"))
        answers = [await rig.accept(row, "same") for row in (one, other)]
        assert all(isinstance(answer, Accepted) for answer in answers)

    async def test_a_hundred_at_once_make_one_event(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        answers = await asyncio.gather(*(open_engine.accept(row) for _ in range(100)))
        first = [answer for answer in answers if isinstance(answer, Accepted)]
        again = [answer for answer in answers if isinstance(answer, Duplicate)]
        assert (len(first), len(again)) == (1, 99)
        assert {answer.event_id for answer in again} == {first[0].event_id}
        assert await open_engine.count(ROWS) == 3
        assert len(open_engine.taken) == 1

    async def test_two_writers_on_one_database_make_one_event(self, rig: Rig) -> None:
        """A fire from the command line beside an engine."""
        row = await rig.add()
        async with open_rig(rig.paths.home) as second:
            answers = await asyncio.gather(
                *(one.accept(row, f"d{n}") for n in range(20) for one in (rig, second))
            )
        assert sum(isinstance(answer, Accepted) for answer in answers) == 20
        assert len(await rig.events()) == 20


class TestRecord:
    async def test_the_event_tells_what_it_came_from(self, rig: Rig) -> None:
        row = await rig.add()
        answer = await rig.accepted(
            row,
            "d-7",
            payload={"a": [1, None]},
            body=b'{"a": [1, null]}',
            cause=Cause(run_id="run_0", lineage=("trg_a", "trg_b")),
            origin=Origin.MANUAL,
        )
        event = await rig.event(answer.event_id)
        hash_ = dedupe_hash(tenant=TENANT, registration_id=row.id, kind=Kind.WEBHOOK, delivery_id="d-7")
        assert event.idempotency_key == idempotency_key(hash_)
        assert (event.registration, event.workflow, event.kind) == ("t", "w", Kind.WEBHOOK)
        assert (event.origin, event.delivery_id) == (Origin.MANUAL, "d-7")
        assert (event.state, event.attempts, event.count, event.missed) == (State.PENDING, 0, 1, 0)
        assert (event.next_fire_at, event.created_at) == (rig.clock.now(), rig.clock.now())
        assert event.cause == Cause(run_id="run_0", lineage=("trg_a", "trg_b"))

    async def test_the_delivery_keeps_the_exact_bytes_and_the_envelope(self, rig: Rig) -> None:
        row = await rig.add()
        answer = await rig.accepted(row, payload={"z": 1, "a": 2}, body=b'{"z": 1,\xff "a": 2}')
        envelope = await rig.read(lambda tx: ledger.envelope_of(tx, answer.event_id))
        assert envelope["raw_payload"] == {"z": 1, "a": 2}
        assert envelope["trust"] == "untrusted"
        assert await on_writer(rig.store, "SELECT body FROM deliveries") == [(b'{"z": 1,\xff "a": 2}',)]

    async def test_delivery_ledger_and_event_come_in_one_transaction(self, rig: Rig) -> None:
        row = await rig.add()
        commits = await commits_of(rig)
        await rig.accept(row)
        assert len(commits) == 1
        assert await rig.count(ROWS) == 3

    async def test_nothing_is_recorded_when_a_part_of_it_cannot_be(self, rig: Rig) -> None:
        row = await rig.add()
        await on_writer(
            rig.store,
            "CREATE TEMP TRIGGER broken AFTER INSERT ON main.seen BEGIN SELECT RAISE(ABORT, 'broken'); END",
        )
        with pytest.raises(sqlite3.IntegrityError, match="broken"):
            await rig.accept(row)
        assert await rig.count(ROWS) == 0
        assert rig.notices.of(EventRecorded) == []

    async def test_a_full_disk_acknowledges_nothing(self, rig: Rig) -> None:
        row = await rig.add()
        ((pages,),) = await on_writer(rig.store, "PRAGMA page_count")
        await on_writer(rig.store, f"PRAGMA max_page_count = {pages}")
        for n in range(200):  # until the pages that there are are full
            try:
                await rig.accept(row, f"d{n}", body=b"x" * 2000)
            except StoreUnusable:
                break
        else:
            raise AssertionError("the disk never filled up")
        await on_writer(rig.store, f"PRAGMA max_page_count = {pages + 1000}")
        assert len(await rig.events()) == n
        assert len(rig.notices.of(EventRecorded)) == n
        assert isinstance(await rig.accept(row, f"d{n}"), Accepted)

    async def test_the_notice_comes_after_the_commit(self, rig: Rig) -> None:
        row = await rig.add()
        answer = await rig.accepted(row)
        assert rig.notices.of(EventRecorded) == [
            EventRecorded(event_id=answer.event_id, registration="t", state=State.PENDING)
        ]

    async def test_rows_keep_the_order_in_which_they_were_accepted(self, rig: Rig) -> None:
        row = await rig.add()
        wanted = [f"d{n}" for n in range(30)]
        await asyncio.gather(*(rig.accept(row, delivery) for delivery in wanted))
        assert [event.delivery_id for event in await rig.events()] == wanted

    @pytest.mark.parametrize(
        "delivery", ["", "x" * 10_000, "a\nb", "/in/é🔔:3", "'; DROP TABLE events; --", "nul\0byte"]
    )
    async def test_any_text_is_a_delivery_id(self, rig: Rig, delivery: str) -> None:
        row = await rig.add()
        first = await rig.accepted(row, delivery)
        assert await rig.accept(row, delivery) == Duplicate(event_id=first.event_id)
        assert (await rig.event(first.event_id)).delivery_id == delivery


class TestEagerClaim:
    async def test_the_claim_rides_in_the_accepting_transaction(self, open_engine: Rig) -> None:
        row = await open_engine.add()
        commits = await commits_of(open_engine)
        answer = await open_engine.accepted(row)
        assert len(commits) == 1
        (claim,) = open_engine.taken
        assert answer.run_id == claim.ref.run_id == (await open_engine.event(answer.event_id)).run_id
        assert [run.id for run in await open_engine.runs(answer.event_id)] == [answer.run_id]

    async def test_without_a_free_seat_there_is_no_run_id(self, open_engine: Rig) -> None:
        open_engine.claims.settings = limits(total=1)
        one, other = await open_engine.add(spec("one")), await open_engine.add(spec("other"))
        assert (await open_engine.accepted(one)).run_id is not None
        assert (await open_engine.accepted(other)).run_id is None

    async def test_the_answer_never_carries_the_run_of_another_event(self, rig: Rig) -> None:
        one, other = await rig.add(spec("one")), await rig.add(spec("other"))
        waiting = await rig.accepted(one)
        rig.open()
        answer = await rig.accepted(other)
        assert len(rig.taken) == 2
        assert answer.run_id == (await rig.event(answer.event_id)).run_id
        assert answer.run_id != (await rig.event(waiting.event_id)).run_id

    async def test_a_closed_engine_takes_nothing(self, rig: Rig) -> None:
        assert (await rig.accepted(await rig.add())).run_id is None


async def test_an_accepted_event_says_so_only_once_it_is_on_disk(rig: Rig) -> None:
    row = await rig.add()
    answer = await rig.accepted(row)
    async with open_rig(rig.paths.home) as second:
        assert (await second.event(answer.event_id)).state is State.PENDING
