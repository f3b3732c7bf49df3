"""One delivery for several triggers: one transaction, one row of what arrived, one place in the rate."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.engine.rig import Rig, open_rig, spec
from tests.store.raw import on_writer
from tocsin.event import Accepted, Declined, Duplicate, Limited
from tocsin.registration import DisabledReason, Registration
from tocsin.trigger import Kind, Rate

TWO = Rate(count=2, per=timedelta(minutes=1))
ROWS = (
    "SELECT (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM seen) + (SELECT count(*) FROM journal)"
)


async def fan(rig: Rig, *names: str) -> list[Registration]:
    """Triggers of one source."""
    return [await rig.add(spec(name, source="hooks")) for name in names]


async def deliver(
    rig: Rig, rows: list[Registration], delivery: str, rate: Rate | None = None
) -> list[object] | Limited:
    answers = await rig.acceptor.accept_all([rig.occurrence(row, delivery) for row in rows], rate=rate)
    return answers if isinstance(answers, Limited) else list(answers)


async def test_it_is_written_down_once_however_many_it_feeds(open_engine: Rig) -> None:
    rows = await fan(open_engine, "a", "b", "c")
    answers = await deliver(open_engine, rows, "d1")
    assert isinstance(answers, list)
    assert [type(answer) for answer in answers] == [Accepted] * 3
    assert await open_engine.count("SELECT count(*) FROM deliveries") == 1
    assert await open_engine.count("SELECT count(DISTINCT delivery) FROM events") == 1
    assert [event.registration for event in await open_engine.events()] == ["a", "b", "c"]


async def test_triggers_of_different_sources_have_their_own_rows(rig: Rig) -> None:
    rows = [await rig.add(spec("a")), await rig.add(spec("b"))]
    await deliver(rig, rows, "d1")
    assert await rig.count("SELECT count(*) FROM deliveries") == 2


async def test_answers_keep_the_order_and_seats_ride_in_the_same_commit(open_engine: Rig) -> None:
    rows = await fan(open_engine, "a", "b", "c")
    await open_engine.disarm(rows[1], DisabledReason.USER)
    await open_engine.accept(rows[2], "d1")
    answers = await deliver(open_engine, rows, "d1")
    assert isinstance(answers, list)
    first, second, third = answers
    assert isinstance(first, Accepted)
    assert first.run_id is not None
    assert second == Declined(reason="user")
    assert isinstance(third, Duplicate)


async def test_a_wrong_binding_loses_only_itself(rig: Rig) -> None:
    rows = await fan(rig, "a", "b")
    wrong = rig.occurrence(rows[0], "d1", kind=Kind.FILE)
    answers = await rig.acceptor.accept_all([wrong, rig.occurrence(rows[1], "d1")])
    assert not isinstance(answers, Limited)
    assert answers[0] == Declined(reason="binding")
    assert isinstance(answers[1], Accepted)
    found = await on_writer(rig.store, "SELECT reason FROM journal WHERE what = 'refused'")
    assert found == [("binding",)]


async def test_one_too_many_leaves_no_trace_and_is_taken_when_it_comes_again(rig: Rig) -> None:
    rows = await fan(rig, "a", "b")
    assert isinstance(await deliver(rig, rows, "d1", TWO), list)
    assert isinstance(await deliver(rig, rows, "d2", TWO), list)
    before = await rig.count(ROWS)
    assert await deliver(rig, rows, "d3", TWO) == Limited(retry_after=timedelta(seconds=30))
    assert await rig.count(ROWS) == before
    rig.clock.advance(30)
    answers = await deliver(rig, rows, "d3", TWO)
    assert isinstance(answers, list)
    assert [type(answer) for answer in answers] == [Accepted, Accepted]


async def test_a_delivery_counts_once_however_many_triggers_it_feeds(rig: Rig) -> None:
    rows = await fan(rig, "a", "b", "c")
    for delivery in ("d1", "d2"):
        assert isinstance(await deliver(rig, rows, delivery, TWO), list)


async def test_what_nobody_takes_uses_up_nothing(rig: Rig) -> None:
    rows = await fan(rig, "a")
    await rig.disarm(rows[0], DisabledReason.USER)
    for delivery in ("d1", "d2", "d3"):
        assert await deliver(rig, rows, delivery, TWO) == [Declined(reason="user")]


async def test_a_restart_gives_no_burst_away(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        rows = await fan(rig, "a")
        for delivery in ("d1", "d2"):
            await deliver(rig, rows, delivery, TWO)
    async with open_rig(tmp_path) as rig:
        assert isinstance(await deliver(rig, rows, "d3", TWO), Limited)
