"""`POST /trigger/instance/{id}`: one source, one signature, every trigger that it feeds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.store.raw import on_writer
from tests.web.rig import JSON, Rig
from tests.web.signing import B1, S1, A, headers_of, hub, signed
from tocsin.errors import Refused
from tocsin.event import State

NAMES = ("one", "two", "three")


@pytest.fixture
async def path(rig: Rig) -> str:
    """A source with github's preset and the key A that feeds three triggers."""
    rig.environ["A"] = A
    return await rig.instance("partner", *NAMES, **signed("github"))


def sent(body: bytes = B1, delivery: str = "d-1") -> dict[str, str]:
    return {**JSON, **hub(body), "X-GitHub-Delivery": delivery}


async def test_one_delivery_makes_an_event_for_each_trigger_and_one_row_of_what_arrived(
    rig: Rig, path: str
) -> None:
    reply = await rig.post(path, B1, sent())
    events = await rig.events()
    assert reply.status == 202
    assert set(reply.document) == {"events"}
    assert {one["event_id"] for one in reply.document["events"]} == {event.id for event in events}
    assert {event.registration for event in events} == set(NAMES)
    rows = await on_writer(rig.store, "SELECT id FROM deliveries")
    assert len(rows) == 1
    envelope = await rig.envelope(events[0].id)
    assert (envelope["mode"], envelope["provider"], envelope["delivery_id"]) == ("instance", "github", "d-1")


async def test_the_same_delivery_is_200_with_the_ids_of_each(rig: Rig, path: str) -> None:
    first = await rig.post(path, B1, sent())
    again = await rig.post(path, B1, sent())
    assert again.status == 200
    ids = [[one["event_id"] for one in reply.document["events"]] for reply in (first, again)]
    assert ids[0] == ids[1]
    assert all(one["duplicate"] for one in again.document["events"])


async def test_a_delivery_without_an_id_is_one_row_too(rig: Rig, path: str) -> None:
    headers = {**JSON, **hub(B1)}
    assert (await rig.post(path, B1, headers)).status == 202
    assert (await rig.post(path, B1, headers)).status == 200
    assert len(await on_writer(rig.store, "SELECT id FROM deliveries")) == 1


async def test_one_trigger_is_answered_as_if_it_had_the_address_to_itself(rig: Rig) -> None:
    rig.environ["A"] = A
    path = await rig.instance("partner", "only", **signed("github"))
    reply = await rig.post(path, B1, sent())
    [event] = await rig.events()
    assert (reply.status, reply.document["event_id"]) == (202, event.id)


async def test_standard_webhooks_is_signed_by_id_time_and_body(rig: Rig) -> None:
    rig.environ["A"] = S1
    path = await rig.instance(**signed("standard-webhooks"))
    headers = headers_of(rig, "standard-webhooks", B1, S1, delivery_id="msg_1")
    assert (await rig.post(path, B1, {**headers, "webhook-id": "msg_2"})).status == 401
    assert (await rig.post(path, B1, headers)).status == 202


async def test_only_those_that_are_on_are_told_and_410_is_for_all_of_them(rig: Rig, path: str) -> None:
    await rig.controls.disable(["one", "two"], tag=None)
    reply = await rig.post(path, B1, sent())
    [event] = await rig.events()
    assert (reply.status, reply.document["event_id"], event.registration) == (202, event.id, "three")
    await rig.controls.disable(["three"], tag=None)
    assert (await rig.post(path, B1, sent(delivery="d-2"))).error == (410, "gone")
    assert (await rig.post(path, B1, JSON)).error == (401, "bad_signature")
    await rig.controls.remove(list(NAMES), tag=None)
    assert (await rig.post(path, B1, sent(delivery="d-2"))).error == (410, "gone")


async def test_what_is_for_a_paused_one_beside_others_is_kept_for_the_end_of_its_pause(
    rig: Rig, path: str
) -> None:
    await rig.controls.pauses.pause(["one"], tag=None, everything=False, until=None)
    assert (await rig.post(path, B1, sent())).status == 202
    states = {event.registration: event.state for event in await rig.events()}
    assert states == {"one": State.HELD, "two": State.PENDING, "three": State.PENDING}


async def test_all_paused_is_503_until_the_first_pause_ends(rig: Rig, path: str) -> None:
    for name, minutes in (("one", 5), ("two", 3), ("three", 60)):
        until = rig.clock.now() + timedelta(minutes=minutes)
        await rig.controls.pauses.pause([name], tag=None, everything=False, until=until)
    reply = await rig.post(path, B1, sent())
    assert reply.error == (503, "paused")
    assert reply.headers["retry-after"] == "180"
    assert await rig.events() == []


async def test_one_that_drifted_keeps_the_delivery_with_its_sender(rig: Rig, path: str) -> None:
    await on_writer(rig.store, "UPDATE registrations SET component_version = 0 WHERE name = 'two'")
    assert (await rig.post(path, B1, sent())).error == (503, "unavailable")
    assert await rig.events() == []


async def test_each_trigger_has_its_own_filter(rig: Rig) -> None:
    rig.environ["A"] = A
    for name, number in (("forty-two", 42), ("seven", 7)):
        path = await rig.instance(
            "partner", name, filter=f"event.raw_payload.id == {number}", **signed("github")
        )
    reply = await rig.post(path, B1, sent())
    [event] = await rig.events()
    assert reply.status == 202
    assert [one.get("filtered", False) for one in reply.document["events"]] == [False, True]
    assert event.registration == "forty-two"
    body = b'{"id": 1}'
    reply = await rig.post(path, body, sent(body, "d-2"))
    assert (reply.status, reply.document) == (200, {"events": [{"filtered": True}] * 2})


async def test_what_does_not_fit_a_schema_is_kept_and_said(rig: Rig) -> None:
    rig.environ["A"] = A
    schema = {"type": "object", "required": ["order"]}
    path = await rig.instance(schema=schema, **signed("github"))
    reply = await rig.post(path, B1, sent())
    [kept] = await rig.strays()
    assert (reply.status, reply.document["quarantine_id"]) == (202, kept.id)
    assert (kept.stray.provider, kept.stray.delivery_id) == ("github", "d-1")


async def test_a_limited_delivery_leaves_no_trace_and_is_taken_when_it_comes_again(rig: Rig) -> None:
    rig.environ["A"] = A
    rate = {"count": 1, "per_ms": 60_000}
    path = await rig.instance("partner", "one", "two", rate=rate, **signed("github"))
    assert (await rig.post(path, B1, sent())).status == 202
    reply = await rig.post(path, B1, sent(delivery="d-2"))
    assert reply.error == (429, "rate_limited")
    assert reply.headers["retry-after"] == "60"
    assert len(await rig.events()) == 2
    rig.clock.advance(60)
    assert (await rig.post(path, B1, sent(delivery="d-2"))).status == 202


async def test_other_installations_and_other_ids_are_no_address(rig: Rig, path: str) -> None:
    await rig.hook("own")
    await rig.shared("github", "shared", **signed("github"))
    rows = await on_writer(rig.store, "SELECT id FROM installations WHERE name <> 'partner'")
    others = [row[0] for row in rows]
    assert len(others) == 2
    for id_ in [*others, "ins_0", "x", path[-4:], "%00", "%ED%A0%80", "a" * 300]:
        assert (await rig.post(f"/trigger/instance/{id_}", B1, sent())).error == (404, "not_found")


async def test_a_trigger_of_a_source_has_no_address_of_its_own(rig: Rig, path: str) -> None:
    with pytest.raises(Refused, match=r"one is fed by \[sources\."):
        await rig.controls.token("one", rotate=False)


@pytest.mark.parametrize("auth", ["token", "signed", "nonsense"])
async def test_a_source_that_says_nothing_of_how_it_is_signed_takes_nothing(rig: Rig, auth: str) -> None:
    path = await rig.instance(auth=auth)
    assert (await rig.post(path, B1, JSON)).error == (401, "bad_signature")


async def test_a_source_may_be_open_to_anybody(rig: Rig) -> None:
    assert (await rig.post(await rig.instance(auth="none"), B1, JSON)).status == 202


async def test_a_mapping_gives_the_payload_names_of_ones_own(rig: Rig) -> None:
    rig.environ["A"] = A
    mapping = {"model": "build", "fields": {"number": "id", "who": "sender.login"}, "hint": "event"}
    path = await rig.instance(normalize=mapping, **signed("github"))
    reply = await rig.post(path, B1, sent())
    envelope = await rig.envelope(reply.document["event_id"])
    assert envelope["normalized_payload"] == {"number": 42, "who": None}
    assert envelope["normalized_model_key"] == "build"
    assert envelope["reconciliation_hint"] == "build.done"
    [again] = await rig.controls.second_thoughts.replay([reply.document["event_id"]], cause=None)
    replayed = await rig.envelope(again.id)
    kept = ("normalized_payload", "normalized_model_key", "reconciliation_hint", "provider", "mode")
    assert {key: replayed[key] for key in kept} == {key: envelope[key] for key in kept}
