"""Dedupe strategies: what counts as new, what is answered otherwise, what an edit keeps."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from tests.engine.rig import Rig, open_rig, spec
from tests.fakes import succeeded
from tests.store.raw import on_writer
from tocsin.dedupe import Greatest, Last, Order, Strategy, Unique, written
from tocsin.event import Accepted, Answer, Declined, Duplicate, Origin, State, Unreadable
from tocsin.identity import dedupe_hash, idempotency_key
from tocsin.notices import DuplicateSeen
from tocsin.registration import TENANT, Mark, Registration
from tocsin.store import journal
from tocsin.trigger import Kind, Overlap, TriggerSpec

NUMBERS = Greatest(order=Order.NUMBER)


def deduping(strategy: Strategy, *, header: str = "X-Id", **changes: Any) -> TriggerSpec:
    """A webhook trigger with a strategy."""
    return spec(props={"dedupe": {"header": header, "payload": None, **written(strategy)}}, **changes)


async def give(rig: Rig, row: Registration, id_: str) -> Answer:
    """What a sender sends with this id."""
    return await rig.accept(row, id_, given_id=id_)


async def new(rig: Rig, row: Registration, *ids: str) -> list[str]:
    """Those of the ids that counted as new."""
    return [id_ for id_ in ids if isinstance(await give(rig, row, id_), Accepted)]


async def edited(rig: Rig, row: Registration, strategy: Strategy, *, header: str = "X-Id") -> Registration:
    """The same trigger after its strategy was edited and applied."""
    wanted = deduping(strategy, header=header)
    now = rig.clock.now()
    await rig.write(lambda tx: rig.applier._change(tx, wanted, {"w": 1}, now))
    return await rig.row(row.id)


class TestGreatest:
    async def test_only_ids_above_the_mark_are_new_and_the_mark_follows(self, rig: Rig) -> None:
        row = await rig.add(deduping(NUMBERS))
        assert row.mark is None
        assert await new(rig, row, "5", "4", "9", "10", "9.5", "10.0") == ["5", "9", "10"]
        last = (await rig.events())[-1]
        assert (await rig.row(row.id)).mark == Mark(delivery_id="10", event_id=last.id)

    async def test_what_is_below_is_recorded_as_discarded_and_answered_with_the_marks_event(
        self, open_engine: Rig
    ) -> None:
        row = await open_engine.add(deduping(NUMBERS))
        first = await open_engine.accepted(row, "7", given_id="7")
        stale = Duplicate(event_id=first.event_id, run_id=first.run_id, reason="stale")
        assert first.run_id is not None
        assert [await give(open_engine, row, id_) for id_ in ("6", "6", "7.0")] == [stale] * 3
        assert await give(open_engine, row, "7") == Duplicate(event_id=first.event_id, run_id=first.run_id)
        found = await on_writer(open_engine.store, "SELECT verdict, event_id FROM seen ORDER BY verdict")
        assert found == [("accepted", first.event_id), ("discarded", None), ("discarded", None)]
        story = await open_engine.read(lambda tx: journal.of_event(tx, first.event_id))
        assert [(entry.what, entry.reason) for entry in story] == [
            ("discarded", "'6' is not above '7'"),
            ("discarded", "'7.0' is not above '7'"),
        ]
        notice = DuplicateSeen(event_id=first.event_id, registration="t", reason="stale")
        assert open_engine.notices.of(DuplicateSeen).count(notice) == 3
        assert len(await open_engine.events()) == 1

    @pytest.mark.parametrize("given", ["seven", "", None])
    async def test_an_id_that_cannot_be_read_is_refused_with_a_reason_and_leaves_a_journal_row(
        self, rig: Rig, given: str | None
    ) -> None:
        row = await rig.add(deduping(NUMBERS))
        answer = await rig.accept(row, "seven", given_id=given)
        assert isinstance(answer, Unreadable)
        assert ("has no id" in answer.reason) == (given is None)
        assert await rig.count("SELECT (SELECT count(*) FROM seen) + (SELECT count(*) FROM events)") == 0
        last = "SELECT what, reason, registration_id FROM journal ORDER BY seq DESC LIMIT 1"
        assert await on_writer(rig.store, last) == [("refused", "id", row.id)]

    async def test_a_long_id_is_compared_whole_though_rows_hold_its_hash(self, rig: Rig) -> None:
        row = await rig.add(deduping(NUMBERS))
        long = "1" + "0" * 400
        await rig.accepted(row, "sha256:a", given_id=long + "1")
        assert isinstance(await rig.accept(row, "sha256:b", given_id=long), Duplicate)
        assert isinstance(await rig.accept(row, "sha256:c", given_id=long + "2"), Accepted)

    @pytest.mark.parametrize("seed", range(3))
    async def test_fifty_at_once_in_any_order_are_accepted_in_rising_order_only(
        self, open_engine: Rig, seed: int
    ) -> None:
        row = await open_engine.add(deduping(NUMBERS, overlap=Overlap.ALLOW))
        ids = [str(n) for n in range(1, 51)]
        random.Random(seed).shuffle(ids)  # noqa: S311 - any order will do
        async with open_rig(open_engine.paths.home) as second:  # and from two processes
            answers = await asyncio.gather(
                *(give((open_engine, second)[n % 2], row, id_) for n, id_ in enumerate(ids))
            )
        taken = [int(event.delivery_id) for event in await open_engine.events()]
        assert taken == sorted(set(taken))
        assert taken[-1] == 50
        assert sum(isinstance(answer, Accepted) for answer in answers) == len(taken)
        assert await open_engine.count("SELECT count(*) FROM seen WHERE verdict = 'discarded'") == 50 - len(
            taken
        )

    async def test_the_mark_survives_a_restart(self, tmp_path: Path) -> None:
        async with open_rig(tmp_path) as first:
            row = await first.add(deduping(NUMBERS))
            await give(first, row, "8")
        async with open_rig(tmp_path) as second:
            assert await new(second, row, "7", "8", "9") == ["9"]

    async def test_the_mark_and_the_event_come_together_or_not_at_all(self, rig: Rig) -> None:
        row = await rig.add(deduping(NUMBERS))
        await on_writer(
            rig.store,
            "CREATE TEMP TRIGGER broken AFTER UPDATE OF dedupe_mark ON main.registrations "
            "BEGIN SELECT RAISE(ABORT, 'broken'); END",
        )
        with pytest.raises(Exception, match="broken"):
            await give(rig, row, "8")
        await on_writer(rig.store, "DROP TRIGGER temp.broken")
        assert await rig.events() == []
        assert await new(rig, row, "7") == ["7"]

    async def test_what_overlap_skips_moves_the_mark_and_what_is_declined_does_not(
        self, open_engine: Rig
    ) -> None:
        row = await open_engine.add(deduping(NUMBERS, overlap=Overlap.SKIP))
        answers = [await give(open_engine, row, id_) for id_ in ("1", "5", "4")]
        assert [type(answer).__name__ for answer in answers] == ["Accepted", "Skipped", "Duplicate"]
        await open_engine.disarm(row)
        assert isinstance(await give(open_engine, row, "9"), Declined)
        await open_engine.enable(row)
        await open_engine.settle(open_engine.taken.pop(), succeeded())
        assert isinstance(await give(open_engine, row, "6"), Accepted)

    async def test_a_fire_by_hand_neither_needs_an_order_nor_moves_the_mark(self, rig: Rig) -> None:
        row = await rig.add(deduping(NUMBERS))
        await give(rig, row, "5")
        await rig.fire(row, "by hand")
        await rig.fire(row, "100")
        assert await new(rig, row, "6", "100", "7") == ["6", "7"]


class TestLast:
    async def test_an_id_is_forgotten_after_n_others_and_then_counts_as_new(self, rig: Rig) -> None:
        row = await rig.add(deduping(Last(n=2)))
        assert await new(rig, row, "a", "b", "a", "c", "d", "a") == ["a", "b", "c", "d", "a"]

    async def test_a_repetition_keeps_an_id_remembered(self, rig: Rig) -> None:
        row = await rig.add(deduping(Last(n=2)))
        assert await new(rig, row, "a", "b", "a", "c", "a", "d", "a") == ["a", "b", "c", "d"]

    async def test_each_time_it_is_another_event_with_a_key_of_its_own(self, rig: Rig) -> None:
        row = await rig.add(deduping(Last(n=1)))
        assert await new(rig, row, *"abab") == [*"abab"]
        found = [event for event in await rig.events() if event.delivery_id == "a"]
        wanted = [
            dedupe_hash(
                tenant=TENANT, registration_id=row.id, kind=Kind.WEBHOOK, delivery_id="a", generation=n
            )
            for n in (1, 2)
        ]
        assert [event.idempotency_key for event in found] == [idempotency_key(hash_) for hash_ in wanted]
        await give(rig, row, "a")
        answer = await give(rig, row, "a")
        assert answer == Duplicate(event_id=(await rig.events())[-1].id)
        assert await rig.count("SELECT count(*) FROM seen") == 2

    async def test_what_is_remembered_survives_a_restart(self, tmp_path: Path) -> None:
        async with open_rig(tmp_path) as first:
            row = await first.add(deduping(Last(n=2)))
            await new(first, row, "a", "b", "c")
        async with open_rig(tmp_path) as second:
            assert await new(second, row, "c", "b", "a") == ["a"]

    async def test_a_hundred_at_once_of_one_id_make_one_event(self, rig: Rig) -> None:
        row = await rig.add(deduping(Last(n=1)))
        answers = await asyncio.gather(*(give(rig, row, "a") for _ in range(100)))
        assert sum(isinstance(answer, Accepted) for answer in answers) == 1

    async def test_triggers_do_not_push_each_others_ids_out(self, rig: Rig) -> None:
        one, other = [await rig.add(deduping(Last(n=1), name=name)) for name in ("one", "other")]
        await new(rig, one, "a")
        await new(rig, other, "b", "c")
        assert await new(rig, one, "a") == []

    async def test_a_fire_by_hand_counts_once_however_many_came_after_it(self, rig: Rig) -> None:
        row = await rig.add(deduping(Last(n=1)))
        await rig.fire(row, "k")
        await new(rig, row, "a", "b")
        assert isinstance(await rig.accept(row, "k", origin=Origin.MANUAL), Duplicate)


class TestEdited:
    async def test_to_greatest_the_greatest_so_far_is_the_mark(self, rig: Rig) -> None:
        row = await rig.add(deduping(Unique()))
        await new(rig, row, "3", "12", "x", "7")
        await rig.accept(row, "body:ab:1")
        await rig.fire(row, "99")
        row = await edited(rig, row, NUMBERS)
        assert row.mark is not None
        assert row.mark.delivery_id == "12"
        assert await new(rig, row, "11", "12", "13") == ["13"]

    async def test_another_order_reads_the_same_ids_anew(self, rig: Rig) -> None:
        row = await rig.add(deduping(NUMBERS))
        await new(rig, row, "9", "10")
        row = await edited(rig, row, Greatest(order=Order.TEXT))
        assert await new(rig, row, "10a", "9", "91") == ["91"]

    async def test_ids_from_another_place_start_afresh(self, rig: Rig) -> None:
        row = await rig.add(deduping(NUMBERS))
        await new(rig, row, "1000")
        row = await edited(rig, row, NUMBERS, header="X-Other")
        assert await new(rig, row, "1", "1000", "2") == ["1", "2"]

    async def test_to_unique_everything_ever_seen_is_known(self, rig: Rig) -> None:
        row = await rig.add(deduping(Last(n=1)))
        await new(rig, row, "a", "b", "c")
        row = await edited(rig, row, Unique())
        assert await new(rig, row, "a", "b", "c", "d") == ["d"]

    async def test_what_was_discarded_stays_discarded(self, rig: Rig) -> None:
        row = await rig.add(deduping(NUMBERS))
        await new(rig, row, "9", "3")
        row = await edited(rig, row, Unique())
        answer = await give(rig, row, "3")
        assert answer == Duplicate(event_id=(await rig.events())[0].id, reason="stale")

    async def test_to_last_the_most_recently_seen_are_remembered(self, rig: Rig) -> None:
        row = await rig.add(deduping(Unique()))
        for id_ in ("a", "b", "c", "d", "a"):
            rig.clock.advance(1)
            await give(rig, row, id_)
        row = await edited(rig, row, Last(n=2))
        assert await new(rig, row, "a", "d") == []
        assert await new(rig, row, "c") == ["c"]

    async def test_there_and_back_again_remembers_what_came_between(self, rig: Rig) -> None:
        row = await rig.add(deduping(Last(n=2)))
        for strategy, id_ in ((None, "a"), (None, "b"), (Unique(), "c"), (None, "d")):
            rig.clock.advance(1)
            row = row if strategy is None else await edited(rig, row, strategy)
            await give(rig, row, id_)
        row = await edited(rig, row, Last(n=2))
        assert await new(rig, row, "d", "c") == []
        assert await new(rig, row, "a") == ["a"]

    async def test_a_larger_n_recalls_ids_that_a_smaller_one_had_forgotten(self, rig: Rig) -> None:
        row = await rig.add(deduping(Last(n=1)))
        for id_ in ("a", "b", "c"):
            rig.clock.advance(1)
            await give(rig, row, id_)
        row = await edited(rig, row, Last(n=3))
        assert await new(rig, row, "a", "b", "c") == []

    async def test_an_edit_of_anything_else_touches_neither(self, rig: Rig) -> None:
        row = await rig.add(deduping(NUMBERS))
        await new(rig, row, "4")
        before = (await rig.row(row.id)).mark
        assert before is not None
        assert (await edited(rig, row, NUMBERS)).mark == before


async def test_an_edited_strategy_is_shown_by_plan(rig: Rig) -> None:
    workflow = '[workflows.w]\ncommand = ["true"]\n'
    text = workflow + '[triggers.t]\nworkflow = "w"\nwebhook = {}\ndedupe = { header = "N"'
    await rig.apply(text + " }\n")
    rig.configure(text + ', strategy = "greatest", order = "number" }\n')
    (change,) = (await rig.controls.configuring.plan(by_hand=False)).plan.changed
    (difference,) = change.what
    assert difference.key == "webhook.dedupe"
    assert isinstance(difference.after, dict)
    assert (difference.after["strategy"], difference.after["order"]) == ("greatest", "number")
    await rig.controls.configuring.apply(prune=False, by_hand=False)
    assert (await rig.controls.configuring.plan(by_hand=False)).plan.empty
    row = await rig.named("t")
    assert await new(rig, row, "2", "1") == ["2"]
    assert [event.state for event in await rig.events()] == [State.PENDING]
