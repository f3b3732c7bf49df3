"""What counts as the same delivery."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest

from tests.web.rig import JSON, Reply, Rig, open_rig


async def id_of(rig: Rig, reply: Reply) -> str:
    [event] = [event for event in await rig.events() if event.id == reply.document["event_id"]]
    return event.delivery_id


async def test_a_header_that_is_missing_or_empty_falls_back_to_the_body_and_the_answer_says_so(
    rig: Rig,
) -> None:
    path = await rig.hook(dedupe={"header": "X-Delivery"})
    without = await rig.post(path, b"1", JSON)
    empty = await rig.post(path, b"2", {**JSON, "X-Delivery": "  "})
    given = await rig.post(path, b"3", {**JSON, "X-Delivery": " d-1 "})
    assert [reply.document.get("dedupe") for reply in (without, empty, given)] == ["body", "body", None]
    assert await id_of(rig, given) == "d-1"
    assert (await id_of(rig, without)).startswith(f"body:{hashlib.sha256(b'1').hexdigest()}:")


async def test_two_different_ids_in_one_delivery_name_nothing(rig: Rig) -> None:
    path = await rig.hook(dedupe={"header": "X-Delivery"})
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n"
    for ids in (("a", "b"), ("b", "a")):
        lines = "".join(f"X-Delivery: {id_}\r\n" for id_ in ids)
        reply = await rig.send(f"{head}{lines}\r\n{{}}".encode())
        assert reply.document["dedupe"] == "body"


@pytest.mark.parametrize("id_", ["x" * 256, "caf\xe9\xff", "tab\there"])
async def test_an_id_that_is_long_or_unprintable_is_known_by_its_hash(rig: Rig, id_: str) -> None:
    path = await rig.hook(dedupe={"header": "X-Delivery"})
    first = await rig.post(path, b"1", {**JSON, "X-Delivery": id_})
    again = await rig.post(path, b"2", {**JSON, "X-Delivery": id_})
    assert (first.status, again.status) == (202, 200)
    assert (await id_of(rig, first)).startswith("sha256:")


@pytest.mark.parametrize(
    ("payload", "id_"),
    [
        (b'{"order": {"id": "o-1"}}', "o-1"),
        (b'{"order": {"id": 8202522731445525542}}', "8202522731445525542"),
        (b'{"order": {"id": true}}', None),
        (b'{"order": {"id": null}}', None),
        (b'{"order": {"id": ""}}', None),
        (b'{"order": [1]}', None),
        (b"[1]", None),
        (b"", None),
    ],
)
async def test_an_id_is_taken_from_the_payload(rig: Rig, payload: bytes, id_: str | None) -> None:
    path = await rig.hook(dedupe={"payload": "order.id"})
    reply = await rig.post(path, payload, JSON)
    assert reply.document.get("dedupe") == (None if id_ else "body")
    if id_:
        assert await id_of(rig, reply) == id_


async def test_a_position_in_a_list_is_part_of_a_path(rig: Rig) -> None:
    reply = await rig.post(
        await rig.hook(dedupe={"payload": "items.1.id"}), b'{"items": [0, {"id": 7}]}', JSON
    )
    assert await id_of(rig, reply) == "7"


async def test_the_same_body_is_new_again_when_its_window_has_passed(rig: Rig) -> None:
    path = await rig.hook()
    statuses = []
    for seconds in (0, 9.9, 0.2, 9.9):  # a window begins with the first of its bodies
        rig.clock.advance(seconds)
        statuses.append((await rig.post(path, b"{}", JSON)).status)
    assert statuses == [202, 200, 202, 200]


async def test_a_wall_clock_that_is_set_back_does_not_stretch_a_window(rig: Rig) -> None:
    path = await rig.hook()
    await rig.post(path, b"{}", JSON)
    rig.clock.advance(11)
    rig.clock.jump(timedelta(hours=-1))
    assert (await rig.post(path, b"{}", JSON)).status == 202


async def test_with_a_window_of_nothing_every_delivery_is_new(rig: Rig) -> None:
    path = await rig.hook(dedupe={"body_window_ms": 0})
    replies = [await rig.post(path, b"{}", JSON) for _ in range(3)]
    assert [reply.status for reply in replies] == [202, 202, 202]
    assert len(await rig.events()) == 3


async def test_a_window_outlives_a_restart(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        path = await rig.hook()
        first = await rig.post(path, b"{}", JSON)
    async with open_rig(tmp_path) as rig:  # the same time on its clock: the sender tries again at once
        again = await rig.post(path, b"{}", JSON)
        rig.clock.advance(10)
        later = await rig.post(path, b"{}", JSON)
    assert (again.status, again.document["event_id"]) == (200, first.document["event_id"])
    assert later.status == 202


async def test_a_refused_delivery_leaves_nothing_that_could_stop_its_retry(rig: Rig) -> None:
    path = await rig.hook(dedupe={"header": "X-Delivery"})
    headers = {**JSON, "X-Delivery": "d-1"}
    assert (await rig.post(path, b"{broken", headers)).status == 400
    assert (await rig.post(path, b"{}", headers)).status == 202
