"""A caller that waits for the end of what it set off."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from tests.store.raw import on_writer
from tests.web.rig import JSON, Reply, Rig, request
from tests.web.signing import B1, A, hub, signed
from tocsin.event import State
from tocsin.notices import EventDropped, EventRecorded

WAIT = {**JSON, "Prefer": "wait=30"}
SHORT = {**JSON, "Prefer": "wait=1"}


async def waiting(
    rig: Rig, path: str, headers: Mapping[str, str] = WAIT, *, events: int = 1
) -> asyncio.Task[Reply]:
    """A caller that waits by now."""
    task = asyncio.create_task(rig.post(path, B1, headers))
    await rig.notices.wait_for(EventRecorded, count=events)
    assert not task.done()
    return task


async def cancel(rig: Rig) -> list[str]:
    """End every event; their ids."""
    ids = [event.id for event in await rig.events() if event.state is State.PENDING]
    await rig.controls.second_thoughts.cancel(ids)
    return ids


async def test_the_answer_comes_with_the_end_and_says_how_it_was(rig: Rig) -> None:
    task = await waiting(rig, await rig.hook())
    [id_] = await cancel(rig)
    reply = await task
    assert (reply.status, reply.headers["preference-applied"]) == (200, "wait")
    assert reply.document == {
        "event_id": id_,
        "duplicate": False,
        "dedupe": "body",
        "status_url": f"http://127.0.0.1/api/events/{id_}",
        "state": "dropped",
        "run_id": None,
        "result": None,
        "exit_code": None,
        "error": "cancelled",
    }


async def test_a_caller_that_has_waited_long_enough_is_answered_202_and_nothing_is_cancelled(
    rig: Rig,
) -> None:
    reply = await rig.post(await rig.hook(), B1, SHORT)
    [event] = await rig.events()
    assert (reply.status, reply.document["event_id"]) == (202, event.id)
    assert "preference-applied" not in reply.headers
    assert event.state is State.PENDING


async def test_what_was_recorded_before_is_409_with_its_ids_and_no_wait(rig: Rig) -> None:
    path = await rig.hook()
    first = await rig.post(path, B1, JSON)
    reply = await rig.post(path, B1, WAIT)
    assert (reply.status, reply.document["error"]) == (409, "duplicate")
    assert reply.document["event_id"] == first.document["event_id"]
    assert (await rig.post(path, B1, JSON)).status == 200


async def test_a_refusal_a_skip_and_a_filtered_one_are_said_at_once(rig: Rig) -> None:
    path = await rig.hook(filter="event.raw_payload.id == 7")
    reply = await rig.post(path, B1, WAIT)
    assert (reply.status, reply.document) == (200, {"filtered": True})
    assert (await rig.post(path, b"{", WAIT)).error == (400, "bad_body")


@pytest.mark.parametrize("value", ["wait=0", "wait=-1", "wait", "respond-async", "wait=1.5", "\xff"])
async def test_what_is_no_wait_is_ignored(rig: Rig, value: str) -> None:
    assert (await rig.post(await rig.hook(), B1, {**JSON, "Prefer": value})).status == 202


async def test_an_engine_about_to_stop_waits_for_nothing(rig: Rig) -> None:
    task = await waiting(rig, await rig.hook())
    rig.is_accepting = False
    async with asyncio.timeout(5):
        assert (await task).status == 202


async def test_a_caller_that_hangs_up_cancels_nothing(rig: Rig) -> None:
    path = await rig.hook()
    _, writer = await rig.connect()
    writer.write(request("POST", path, B1, WAIT))
    await rig.notices.wait_for(EventRecorded)
    writer.close()
    await writer.wait_closed()
    assert (await rig.post(path, b"other", {"Content-Type": "text/plain"})).status == 202
    assert {event.state for event in await rig.events()} == {State.PENDING}


async def test_others_are_served_while_many_wait(rig: Rig) -> None:
    path = await rig.hook(dedupe={"body_window_ms": 0})
    tasks = [await waiting(rig, path, events=number) for number in range(1, 21)]
    assert (await rig.post(path, B1, JSON)).status == 202
    ids = await cancel(rig)
    replies = [await task for task in tasks]
    assert {reply.document["event_id"] for reply in replies} < set(ids)
    assert {reply.status for reply in replies} == {200}
    assert len(rig.notices.of(EventDropped)) == 21


async def test_several_triggers_are_waited_for_until_the_last(rig: Rig) -> None:
    rig.environ["A"] = A
    path = await rig.instance("partner", "one", "two", **signed("github"))
    task = await waiting(rig, path, {**WAIT, **hub(B1)}, events=2)
    first, second = [event.id for event in await rig.events()]
    await rig.controls.second_thoughts.cancel([first])
    await asyncio.wait([task], timeout=0.05)
    assert not task.done()
    await rig.controls.second_thoughts.cancel([second])
    reply = await task
    assert reply.status == 200
    assert [one["state"] for one in reply.document["events"]] == ["dropped", "dropped"]
    known = await rig.post(path, B1, {**WAIT, **hub(B1)})
    assert (known.status, known.document["error"], len(known.document["events"])) == (409, "duplicate", 2)


async def test_an_end_that_no_notice_tells_of_is_found_by_looking(rig: Rig) -> None:
    task = await waiting(rig, await rig.hook())
    await on_writer(
        rig.store, "UPDATE events SET state = 'dropped', reason = 'gone', settled_at = 1, next_fire_at = NULL"
    )
    async with asyncio.timeout(5):
        assert (await task).document["error"] == "gone"
