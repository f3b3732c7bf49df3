"""An id is forgotten when it was not seen for `dedupe`, never before its event, and never sooner."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.engine.rig import Rig, spec
from tests.fakes import succeeded
from tocsin.event import Accepted, Answer, Duplicate
from tocsin.registration import Registration
from tocsin.settings import Retention
from tocsin.store.audit import audited

DAY = timedelta(days=1)


def kept(*, events: int, dedupe: int) -> Retention:
    return Retention(
        payloads=DAY,
        events=timedelta(days=events),
        runs=timedelta(days=events),
        dedupe=timedelta(days=dedupe),
    )


async def collect(rig: Rig, retention: Retention) -> None:
    """With proof that what is left fits together."""
    await rig.keeper.collect(retention, rig.clock.now())
    found = await rig.read(audited)
    assert found.ok, found.problems


async def again(rig: Rig, row: Registration, delivery: str = "d1", **more: Any) -> Answer:
    """A delivery; when it is new, its run succeeds."""
    answer = await rig.accept(row, delivery, given_id=delivery, **more)
    if rig.taken:
        await rig.settle(rig.taken.pop(), succeeded())
    return answer


@pytest.mark.parametrize(
    ("events", "dedupe", "seen_on", "asked_on", "new"),
    [
        (90, 90, (), 90, False),
        (90, 90, (), 91, True),
        (90, 90, (60,), 149, False),
        (90, 90, (60,), 151, True),
        (10, 90, (), 89, False),
        (10, 90, (89, 178), 267, False),
        (10, 90, (), 91, True),
        (90, 10, (), 89, False),
        (90, 10, (), 91, True),
        (90, 10, (85,), 94, False),
        (90, 10, (85,), 96, True),
        (1, 1, (), 1, False),
        (1, 1, (), 2, True),
    ],
)
async def test_when_a_repeat_is_new(
    open_engine: Rig, events: int, dedupe: int, seen_on: tuple[int, ...], asked_on: int, new: bool
) -> None:
    rig, retention = open_engine, kept(events=events, dedupe=dedupe)
    row = await rig.add()
    first = await again(rig, row)
    assert isinstance(first, Accepted)
    at = rig.clock.now()
    for day in sorted({*range(9, asked_on, 9), *seen_on, asked_on}):
        rig.clock.advance(at + day * DAY - rig.clock.now())
        await again(rig, row, f"other {day}")
        await rig.keeper.collect(retention, rig.clock.now())
        if day in seen_on:
            assert isinstance(await again(rig, row), Duplicate)
    answer = await again(rig, row)
    assert isinstance(answer, Accepted) == new
    if isinstance(answer, Duplicate):
        assert answer.event_id == first.event_id
    await collect(rig, retention)


async def test_the_greatest_id_stays_the_mark_when_its_event_is_gone(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add(spec(props={"dedupe": {"strategy": "greatest", "order": "number"}}))
    first = await again(rig, row, "7")
    rig.clock.advance(100 * DAY)
    other = await rig.add(spec("other"))
    await again(rig, other, "newest")
    await collect(rig, kept(events=10, dedupe=10))
    assert isinstance(first, Accepted)
    for stale in ("7", "6"):
        answer = await again(rig, row, stale)
        assert answer == Duplicate(event_id=first.event_id, reason="stale")
    assert isinstance(await again(rig, row, "8"), Accepted)
    await collect(rig, kept(events=10, dedupe=10))


async def test_the_last_ids_are_counted_on_after_older_ones_are_gone(open_engine: Rig) -> None:
    """An id that was forgotten by its strategy and again by its age has a key of its own each time."""
    rig, retention = open_engine, kept(events=10, dedupe=5)
    row = await rig.add(spec(props={"dedupe": {"strategy": "last", "n": 2}}))
    told: list[bool] = []
    for delivery in ("a", "b", "a", "c", "d", "a", "b", "b"):
        told.append(isinstance(await again(rig, row, delivery), Accepted))
        rig.clock.advance(4 * DAY)
        await collect(rig, retention)
    assert told == [True, True, False, True, True, True, True, False]
    rig.clock.advance(100 * DAY)
    await again(rig, await rig.add(spec("other")), "newest")
    await collect(rig, retention)
    assert isinstance(await again(rig, row, "b"), Accepted)
    await collect(rig, retention)


async def test_an_id_whose_event_has_not_ended_is_never_forgotten(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add()
    first = await rig.accepted(row)
    for _ in range(5):
        rig.clock.advance(100 * DAY)
        await collect(rig, kept(events=1, dedupe=1))
    answer = await rig.accept(row)
    assert isinstance(answer, Duplicate)
    assert answer.event_id == first.event_id
