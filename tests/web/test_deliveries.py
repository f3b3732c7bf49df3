"""What a delivery is answered, in the order of the checks, and what is on disk by then."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from tests.fakes import Notices
from tests.web.rig import JSON, OpenedLater, Rig, open_rig, registration_id, request
from tocsin.engine.accept import Acceptor
from tocsin.engine.claims import Claims
from tocsin.event import State
from tocsin.notices import EventRecorded
from tocsin.settings import EngineSettings
from tocsin.store import registrations
from tocsin.store.connection import open_reader, open_store
from tocsin.trigger import Kind, Overlap


async def test_a_delivery_is_answered_202_with_the_ids_of_its_event(rig: Rig) -> None:
    path = await rig.hook(dedupe={"header": "X-Delivery"})
    reply = await rig.post(path, b'{"a": 1}', {**JSON, "X-Delivery": "d-1"})
    [event] = await rig.events()
    assert reply.status == 202
    assert reply.document == {
        "event_id": event.id,
        "duplicate": False,
        "status_url": f"http://127.0.0.1/api/events/{event.id}",
    }
    assert (event.state, event.kind, event.delivery_id) == (State.PENDING, Kind.WEBHOOK, "d-1")
    assert await rig.payload(reply) == {"a": 1}
    assert reply.headers["content-type"] == "application/json; charset=utf-8"
    assert "aiohttp" not in reply.headers["server"]


async def test_the_same_delivery_is_answered_200_with_the_original_ids(rig: Rig) -> None:
    path = await rig.hook(dedupe={"header": "X-Delivery"})
    first = await rig.post(path, b"{}", {**JSON, "X-Delivery": "d-1"})
    again = await rig.post(path, b'{"other": true}', {**JSON, "x-delivery": "d-1"})
    assert again.status == 200
    assert again.document == first.document | {"duplicate": True}
    assert len(await rig.events()) == 1


async def test_fifty_concurrent_deliveries_of_one_body_make_one_event(rig: Rig) -> None:
    path = await rig.hook()
    replies = await asyncio.gather(*(rig.post(path, b'{"a": 1}', JSON) for _ in range(50)))
    assert sorted(reply.status for reply in replies) == [200] * 49 + [202]
    assert len({reply.document["event_id"] for reply in replies}) == 1
    assert len(await rig.events()) == 1


async def test_one_body_for_two_triggers_makes_two_events(rig: Rig) -> None:
    for path in (await rig.hook("one"), await rig.hook("two")):
        assert (await rig.post(path, b"{}", JSON)).status == 202


async def test_a_busy_lane_skips_and_says_so(rig: Rig) -> None:
    path = await rig.hook(overlap=Overlap.SKIP)
    first = await rig.post(path, b"1", JSON)
    reply = await rig.post(path, b"2", JSON)
    assert (first.status, reply.status, reply.document["skipped"]) == (202, 202, "overlap")
    assert reply.document["event_id"] != first.document["event_id"]


async def test_a_run_id_is_in_the_answer_when_the_door_gave_one(tmp_path: Path) -> None:
    async with open_store(tmp_path / "tocsin.db") as store:
        claims = Claims(owner="own_x", settings=EngineSettings(), logs=tmp_path, announce=Notices())
        claims.open(lambda _: None)
        door = OpenedLater(claims)
        async with open_rig(tmp_path, accept=door) as rig:
            door.acceptor = Acceptor(store=store, clock=rig.clock, announce=rig.notices, claims=claims)
            reply = await rig.post(await rig.hook(), b"{}", JSON)
            [event] = await rig.events()
    assert reply.document["run_id"] == event.run_id is not None


async def test_the_status_address_is_under_the_public_url(tmp_path: Path) -> None:
    settings = EngineSettings(public_url="https://hooks.example.org/t/")
    async with open_rig(tmp_path, settings=settings) as rig:
        reply = await rig.post(await rig.hook(), b"{}", {**JSON, "Host": "hooks.example.org"})
    assert (
        reply.document["status_url"] == f"https://hooks.example.org/t/api/events/{reply.document['event_id']}"
    )


NO_TOKENS = ["x", "A" * 32, "%00", "%ED%A0%80", "a%2Fb", "A" * 300]


async def test_an_unknown_address_is_404_whatever_it_looks_like(rig: Rig) -> None:
    for token in NO_TOKENS:
        reply = await rig.post(f"/api/triggers/{token}", b"{}", JSON)
        assert reply.error == (404, "not_found")


async def test_only_the_exact_token_is_an_address(rig: Rig) -> None:
    path = await rig.hook()
    for near in (path[:-1], path + "x", path.swapcase(), path + "?token=x#", path + "/"):
        expected = 202 if "?" in near else 404
        assert (await rig.post(near, b"{}", JSON)).status == expected


async def test_an_old_token_is_no_address_once_it_was_rotated(rig: Rig) -> None:
    path = await rig.hook()
    fresh = await rig.controls.token("hook", rotate=True)
    assert (await rig.post(path, b"{}", JSON)).error == (404, "not_found")
    assert (await rig.post(f"/api/triggers/{fresh}", b"{}", JSON)).status == 202


OTHER_METHODS = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]


async def test_anything_but_post_is_405_and_fires_nothing(rig: Rig) -> None:
    path = await rig.hook()
    for method in OTHER_METHODS:
        reply = await rig.send(request(method, path, None))
        assert (reply.status, reply.headers["allow"]) == (405, "POST")
        if method != "HEAD":
            assert reply.error == (405, "method_not_allowed")
        assert await rig.events() == []


async def test_a_disabled_trigger_is_410_and_records_nothing(rig: Rig) -> None:
    path = await rig.hook()
    await rig.controls.disable(["hook"], tag=None)
    assert (await rig.post(path, b"{}", JSON)).error == (410, "gone")
    assert await rig.events() == []
    await rig.controls.enable(["hook"], tag=None, requeue_dropped=False)
    assert (await rig.post(path, b"{}", JSON)).status == 202


async def test_a_removed_and_an_expired_trigger_are_410(rig: Rig) -> None:
    removed, expiring = await rig.hook("one"), await rig.hook("two", expires_at=rig.clock.now())
    await rig.controls.remove(["one"], tag=None)
    for path in (removed, expiring):
        assert (await rig.post(path, b"{}", JSON)).error == (410, "gone")


async def test_a_trigger_that_is_no_webhook_any_more_is_410(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    path = await rig.hook()
    id_ = await registration_id(rig)
    row = await rig.store.read(lambda tx: registrations.by_id(tx, id_))
    assert row is not None
    await rig.store.write(
        lambda tx: (
            tx._connection.execute(
                "UPDATE registrations SET component = 'manual', kind = 'manual' WHERE id = ?", (id_,)
            ).rowcount
        )
    )
    assert (await rig.post(path, b"{}", JSON)).error == (410, "gone")
    assert "webhook" in caplog.text


async def test_a_body_is_looked_at_only_when_the_trigger_is_on(rig: Rig) -> None:
    path = await rig.hook()
    await rig.controls.disable(["hook"], tag=None)
    assert (await rig.post(path, b"{broken", JSON)).status == 410


async def test_a_trigger_without_a_secret_has_the_same_route(rig: Rig) -> None:
    assert (await rig.post(await rig.hook(auth="none"), b"{}", JSON)).status == 202


async def test_a_token_is_in_no_log_line_and_no_row(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    path = await rig.hook()
    token = path.rpartition("/")[2]
    await rig.post(f"{path}?token={token}&from=here", b"{}", {**JSON, "Referer": path, "X-Token": token})
    await rig.post(path, b"{broken", JSON)
    await rig.get(path)
    await rig.get(path + "x")
    assert token not in caplog.text
    assert "from 127.0.0.1: 400 bad_body" in caplog.text
    [event] = await rig.events()
    assert token not in repr(await rig.envelope(event.id))


async def test_the_event_is_on_disk_before_the_answer(rig: Rig) -> None:
    reply = await rig.post(await rig.hook(), b"{}", JSON)
    async with open_reader(rig.home / "tocsin.db") as other:
        row = await other.read(
            lambda tx: tx._connection.execute(
                "SELECT count(*) AS n FROM events WHERE id = ?", (reply.document["event_id"],)
            ).fetchone()
        )
    assert row["n"] == 1
    assert len(rig.notices.of(EventRecorded)) == 1


async def test_what_describes_the_delivery_is_kept_and_what_sounds_secret_is_not(rig: Rig) -> None:
    headers = {
        **JSON,
        "User-Agent": "gh",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": "g-1",
        "X-Hub-Signature-256": "sha256=aa",
        "Authorization": "Bearer b",
        "Cookie": "c=1",
        "X-Token-Event": "t",
        "X-Api-Key": "k",
        "X-Forwarded-For": "10.0.0.1",
    }
    reply = await rig.post(await rig.hook() + "?source=phone&api_key=k&sig=s&a%20b=1", b"{}", headers)
    envelope = await rig.envelope(reply.document["event_id"])
    assert envelope["safe_headers"] == {
        "content-type": "application/json",
        "user-agent": "gh",
        "x-github-event": "push",
        "x-github-delivery": "g-1",
    }
    assert envelope["safe_query"] == {"source": "phone"}
    assert envelope["event_type"] is None
    assert envelope["trust"] == "untrusted"


async def test_bytes_that_are_no_text_in_a_header_are_kept_as_replacement(rig: Rig) -> None:
    reply = await rig.post(await rig.hook(), b"{}", {**JSON, "User-Agent": "caf\xe9\xff"})
    envelope = await rig.envelope(reply.document["event_id"])
    assert envelope["safe_headers"]["user-agent"] == "caf\ufffd\ufffd"
