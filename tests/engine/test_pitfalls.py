"""What was met when the queue was tried on SQLite (DESIGN section 5, "Pitfalls"), one test for each.

That a full disk inside a savepoint rolls the whole transaction back is `store/test_group_commit.py`'s
`TestFullDisk`.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.engine.rig import Rig, limits, spec
from tests.fakes import succeeded
from tests.store.raw import on_writer
from tocsin.event import Accepted, Duplicate, State
from tocsin.trigger import Overlap


async def test_a_claim_without_a_lane_stands_in_nobodys_way(open_engine: Rig) -> None:
    """`NOT IN (SELECT serialize_key …)` is never true once one claimed row has a NULL key."""
    free = await open_engine.add(spec("free", overlap=Overlap.ALLOW))
    laned = await open_engine.add(spec("laned", serialize_key="k"))
    assert (await open_engine.accepted(free)).run_id is not None
    (event,) = await open_engine.events()
    assert (event.state, event.lane) == (State.CLAIMED, None)
    assert (await open_engine.accepted(laned)).run_id is not None
    assert (await open_engine.accepted(free, "d2")).run_id is not None


@pytest.mark.parametrize("together", [True, False], ids=["in-one-commit", "one-after-the-other"])
async def test_of_two_due_events_of_one_key_one_is_claimed(rig: Rig, *, together: bool) -> None:
    """One UPDATE over all due rows whose key is not claimed yet would claim both."""
    rows = [
        await rig.add(spec(name, workflow=name, overlap=overlap, serialize_key="k"))
        for name, overlap in (("a", Overlap.QUEUE), ("b", Overlap.QUEUE), ("c", Overlap.REPLACE))
    ]
    if together:
        await asyncio.gather(*(rig.accept(row) for row in rows))
    else:
        for row in rows:
            await rig.accept(row)
    rig.open()
    order = []
    for _ in rows:
        await rig.look()
        assert (await rig.states()).count("claimed") == len(rig.taken) == 1
        order.append(rig.taken[0].registration.spec.name)
        await rig.settle(rig.taken.pop(), succeeded())
    assert order == ["a", "b", "c"]


async def test_no_unique_index_has_a_column_that_may_be_null(rig: Rig) -> None:
    """`UNIQUE (a, b)` takes any number of rows in which one of the two is NULL.

    Unless the index leaves NULL out by its own condition, which says that such rows may be many.
    """
    sql = """
        SELECT tables.name || '.' || columns.name FROM sqlite_schema AS tables
        JOIN pragma_index_list(tables.name) AS indexes ON indexes."unique" AND NOT indexes.partial
        JOIN pragma_index_info(indexes.name) AS parts
        JOIN pragma_table_info(tables.name) AS columns ON columns.name = parts.name
        WHERE tables.type = 'table' AND columns."notnull" = 0 AND columns.pk = 0
          AND (SELECT count(*) FROM pragma_index_info(indexes.name)) > 1
    """
    assert await on_writer(rig.store, sql) == []


async def test_deliveries_without_anything_that_tells_them_apart_are_told_apart(open_engine: Rig) -> None:
    """Nothing that a delivery is known by is NULL, not even an empty id without a payload."""
    row = await open_engine.add(spec(overlap=Overlap.ALLOW))
    first = await open_engine.accept(row, "", payload=None)
    again = await open_engine.accept(row, "", payload=None)
    assert isinstance(first, Accepted)
    assert again == Duplicate(event_id=first.event_id, run_id=first.run_id)


async def test_a_duplicate_is_answered_with_what_was_there_first(open_engine: Rig) -> None:
    """`ON CONFLICT DO NOTHING RETURNING id` returns no row for a duplicate, also within one transaction."""
    row = await open_engine.add(spec(overlap=Overlap.ALLOW))
    open_engine.claims.settings = limits(total=9, per_workflow=9)
    answers = await asyncio.gather(*(open_engine.accept(row, "same") for _ in range(20)))
    assert {answer.event_id for answer in answers if isinstance(answer, Accepted | Duplicate)} == {
        (await open_engine.events())[0].id
    }
    assert [type(answer) for answer in answers].count(Accepted) == 1
    assert len(await open_engine.events()) == 1
