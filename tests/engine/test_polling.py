"""`accept_poll`: items and cursor in one transaction, by whoever holds the cursor."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.engine.rig import Rig, open_rig, spec
from tests.store.raw import beside
from tocsin.dedupe import Last, written
from tocsin.engine.polling import Item, Poll, Polls
from tocsin.errors import BindingMismatch, StaleCursor
from tocsin.event import Accepted, Declined, Duplicate
from tocsin.registration import Registration
from tocsin.store import installations
from tocsin.trigger import Json, Kind

# No component of this kind is built yet; the engine asks of one only that its name and version agree.
FEED = spec(kind=Kind.POLL, component="webhook")


def polls(rig: Rig) -> Polls:
    return Polls(store=rig.store, clock=rig.clock, announce=rig.notices, claims=rig.claims)


def poll(rig: Rig, row: Registration, *ids: str, cursor: Json = None, then: Json = None, **more: Any) -> Poll:
    items = [Item(id=id_, occurred_at=rig.clock.now(), payload={"id": id_}) for id_ in ids]
    plain: dict[str, Any] = {"component": "webhook", "component_version": 1} | more
    return Poll(installation_id=row.installation_id, cursor=cursor, items=items, next_cursor=then, **plain)


async def cursor_of(rig: Rig, row: Registration) -> Json:
    return await rig.read(lambda tx: installations.cursor(tx, row.installation_id))


async def share(rig: Rig, *rows: Registration) -> None:
    """Let one installation feed them all."""
    with beside(rig.paths.database) as connection:
        for row in rows[1:]:
            connection.execute(
                "UPDATE registrations SET installation_id = ? WHERE id = ?", (rows[0].installation_id, row.id)
            )


async def test_each_item_is_an_event_and_the_cursor_moves_with_them(open_engine: Rig) -> None:
    row = await open_engine.add(FEED)
    answers = await polls(open_engine).accept_poll(poll(open_engine, row, "a", "b", then={"at": 2}))
    assert [type(answer) for answer in answers] == [Accepted, Accepted]
    assert isinstance(answers[0], Accepted)
    assert answers[0].run_id is not None
    assert [event.delivery_id for event in await open_engine.events()] == ["a", "b"]
    assert await cursor_of(open_engine, row) == {"at": 2}


async def test_what_was_known_is_no_event_again_and_costs_no_place(open_engine: Rig) -> None:
    row, source = await open_engine.add(FEED), polls(open_engine)
    await source.accept_poll(poll(open_engine, row, "a", then=1))
    answers = await source.accept_poll(poll(open_engine, row, "a", "b", "b", cursor=1, then=2))
    assert [type(answer) for answer in answers] == [Duplicate, Accepted, Duplicate]
    assert len(await open_engine.events()) == 2


@pytest.mark.parametrize("presented", [None, 0, True, 1.0, "1", {"a": 1}])
async def test_another_cursor_is_stale_and_nothing_is_written(open_engine: Rig, presented: Json) -> None:
    row, source = await open_engine.add(FEED), polls(open_engine)
    await source.accept_poll(poll(open_engine, row, then=1))
    with pytest.raises(StaleCursor) as caught:
        await source.accept_poll(poll(open_engine, row, "a", cursor=presented, then=2))
    assert str(caught.value) == "Polling cursor is stale or unauthorized."
    assert await open_engine.events() == []
    assert await cursor_of(open_engine, row) == 1


async def test_the_order_of_a_cursors_keys_does_not_matter(open_engine: Rig) -> None:
    row, source = await open_engine.add(FEED), polls(open_engine)
    await source.accept_poll(poll(open_engine, row, then={"a": 1, "b": 2}))
    await source.accept_poll(poll(open_engine, row, "x", cursor={"b": 2, "a": 1}, then=3))
    assert len(await open_engine.events()) == 1


async def test_a_source_that_is_not_there_is_not_told_so(open_engine: Rig) -> None:
    row = await open_engine.add(FEED)
    unknown = Poll(
        installation_id="ins_none",
        component="webhook",
        component_version=1,
        cursor=None,
        items=[],
        next_cursor=1,
    )
    with pytest.raises(StaleCursor, match=r"Polling cursor is stale or unauthorized\."):
        await polls(open_engine).accept_poll(unknown)
    assert await cursor_of(open_engine, row) is None


async def test_of_many_pollers_with_one_cursor_one_advances(open_engine: Rig) -> None:
    row = await open_engine.add(FEED)

    async def one(n: int) -> bool:
        try:
            await polls(open_engine).accept_poll(poll(open_engine, row, f"i{n}", then=n))
        except StaleCursor:
            return False
        return True

    done = await asyncio.gather(*(one(n) for n in range(8)))
    assert sum(done) == 1
    assert [event.delivery_id for event in await open_engine.events()] == [f"i{done.index(True)}"]


async def test_one_source_feeds_all_its_triggers(open_engine: Rig) -> None:
    rows = [await open_engine.add(spec(name, kind=Kind.POLL, component="webhook")) for name in "abc"]
    await share(open_engine, *rows)
    answers = await polls(open_engine).accept_poll(poll(open_engine, rows[0], "x", "y", then=1))
    assert len(answers) == 6
    told = [(event.delivery_id, event.registration) for event in await open_engine.events()]
    assert told == [(id_, name) for id_ in "xy" for name in "abc"]


async def test_one_that_is_off_remembers_and_never_runs_what_it_saw(open_engine: Rig) -> None:
    on, off = [await open_engine.add(spec(name, kind=Kind.POLL, component="webhook")) for name in ("on", "z")]
    await share(open_engine, on, off)
    await open_engine.disarm(off)
    source = polls(open_engine)
    answers = await source.accept_poll(poll(open_engine, on, "x", then=1))
    assert [type(answer) for answer in answers] == [Accepted, Declined]
    await open_engine.enable(off)
    answers = await source.accept_poll(poll(open_engine, on, "x", "y", cursor=1, then=2))
    assert [type(answer) for answer in answers] == [Duplicate, Duplicate, Accepted, Accepted]
    assert answers[1] == Duplicate(event_id="", reason="seeded")


async def test_one_that_is_removed_is_not_asked(open_engine: Rig) -> None:
    rows = [await open_engine.add(spec(name, kind=Kind.POLL, component="webhook")) for name in "ab"]
    await share(open_engine, *rows)
    await open_engine.remove(rows[1])
    assert len(await polls(open_engine).accept_poll(poll(open_engine, rows[0], "x", then=1))) == 1


@pytest.mark.parametrize("more", [{"component": "files"}, {"component_version": 2}])
async def test_a_poller_that_speaks_for_another_component_is_refused_whole(
    open_engine: Rig, more: dict[str, Any]
) -> None:
    row = await open_engine.add(FEED)
    with pytest.raises(BindingMismatch, match=r"Trigger event does not match its authorized subscription\."):
        await polls(open_engine).accept_poll(poll(open_engine, row, "a", then=1, **more))
    assert (await open_engine.events(), await cursor_of(open_engine, row)) == ([], None)


async def test_the_last_n_are_remembered_across_polls(open_engine: Rig) -> None:
    row = await open_engine.add(
        spec(kind=Kind.POLL, component="webhook", props={"dedupe": written(Last(n=2))})
    )
    source = polls(open_engine)
    await source.accept_poll(poll(open_engine, row, "a", "b", "c", then=1))
    answers = await source.accept_poll(poll(open_engine, row, "c", "b", "a", cursor=1, then=2))
    assert [type(answer) for answer in answers] == [Duplicate, Duplicate, Accepted]


async def test_a_crash_leaves_all_of_a_poll_or_nothing(rig: Rig) -> None:
    """The next engine finds the cursor and the items of one and the same poll."""
    row = await rig.add(FEED)
    await polls(rig).accept_poll(poll(rig, row, *(f"i{n}" for n in range(50)), then=50))
    async with open_rig(rig.paths.home, owner="own_2") as after:
        assert await cursor_of(after, row) == 50
        assert len(await after.events()) == 50
