"""Dedupe strategies as a sender meets them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.web.rig import JSON, Reply, Rig
from tocsin.dedupe import Greatest, Last, Order, written
from tocsin.settings import Retention

NUMBERS = written(Greatest(order=Order.NUMBER))


async def send(rig: Rig, path: str, id_: str) -> Reply:
    return await rig.post(path, b"{}", {**JSON, "X-Id": id_})


async def test_what_is_not_above_the_last_is_a_duplicate_with_its_reason(rig: Rig) -> None:
    path = await rig.hook(dedupe={"header": "X-Id", **NUMBERS})
    first, below, same = [await send(rig, path, id_) for id_ in ("7", "6", "7")]
    assert (first.status, below.status, same.status) == (202, 200, 200)
    ids = {key: first.document[key] for key in ("event_id", "status_url")}
    assert below.document == ids | {"duplicate": True, "reason": "stale"}
    assert same.document == ids | {"duplicate": True}


@pytest.mark.parametrize(
    ("order", "id_", "said"),
    [
        (Order.NUMBER, "seven", "the delivery's id 'seven' is not a decimal number"),
        (Order.TIME, "yesterday", "the delivery's id 'yesterday' is not an RFC 3339 time"),
        (Order.TEXT, "\xff", "the delivery's id '\\udcff' is not text"),
        (Order.NUMBER, "1" * 4301, "has 4301 characters, at most 4300 can be ordered"),
        (Order.TEXT, "  ", "the delivery has no id"),
    ],
)
async def test_an_id_that_cannot_be_ordered_is_a_bad_body(
    rig: Rig, order: Order, id_: str, said: str
) -> None:
    path = await rig.hook(dedupe={"header": "X-Id", **written(Greatest(order=order))})
    for _ in range(2):
        reply = await send(rig, path, id_)
        assert (reply.status, reply.document["error"]) == (400, "bad_body")
        assert said in reply.document["message"]
    assert await rig.events() == []
    assert (await send(rig, path, "2026-01-01T00:00:00Z" if order is Order.TIME else "8")).status == 202


@pytest.mark.parametrize("lacks", [b"{}", b'{"id": null}', b'{"id": [1]}', b"", b"[]"])
async def test_a_delivery_without_an_id_has_no_place_in_an_order(rig: Rig, lacks: bytes) -> None:
    path = await rig.hook(dedupe={"payload": "id", **NUMBERS})
    assert (await rig.post(path, lacks, JSON)).status == 400


async def test_a_number_in_the_payload_is_compared_as_it_is_written(rig: Rig) -> None:
    """A double would not tell these apart."""
    path = await rig.hook(dedupe={"payload": "id", **NUMBERS})
    ids = ("1700000000.00000000001", "1700000000.00000000002", "1700000000.00000000001", "17e8", "9" * 40)
    statuses = [(await rig.post(path, f'{{"id": {id_}}}'.encode(), JSON)).status for id_ in ids]
    assert statuses == [202, 202, 200, 200, 202]


async def test_the_payload_keeps_its_numbers(rig: Rig) -> None:
    path = await rig.hook(dedupe={"payload": "id", **NUMBERS})
    reply = await rig.post(path, b'{"id": 1.50, "list": [2e3, -0.0]}', JSON)
    assert await rig.payload(reply) == {"id": 1.5, "list": [2000.0, -0.0]}


async def test_an_id_longer_than_rows_show_is_ordered_all_the_same(rig: Rig) -> None:
    path = await rig.hook(dedupe={"payload": "id", **NUMBERS})
    ids = ("2" + "0" * 1000, "1" + "0" * 1000, "2" + "0" * 999 + "1")
    statuses = [(await rig.post(path, f'{{"id": "{id_}"}}'.encode(), JSON)).status for id_ in ids]
    assert statuses == [202, 200, 202]


@pytest.mark.parametrize("place", [{"header": "X-Id"}, {"body_window_ms": 0}])
async def test_last_takes_deliveries_without_an_id_too(rig: Rig, place: dict[str, Any]) -> None:
    path = await rig.hook(dedupe={**place, **written(Last(n=2))})
    reply = await rig.post(path, b"{}", JSON)
    assert (reply.status, reply.document["dedupe"]) == (202, "body")


async def test_last_forgets(rig: Rig) -> None:
    path = await rig.hook(dedupe={"header": "X-Id", **written(Last(n=2))})
    replies = [await send(rig, path, id_) for id_ in ("a", "b", "a", "c", "d", "a")]
    assert [reply.status for reply in replies] == [202, 202, 200, 202, 202, 202]
    assert replies[2].document["event_id"] == replies[0].document["event_id"]
    assert replies[5].document["event_id"] != replies[0].document["event_id"]


async def test_a_repeat_is_a_duplicate_when_its_event_is_long_gone(rig: Rig) -> None:
    path = await rig.hook(dedupe={"header": "X-Id"})
    first = await send(rig, path, "1")
    await send(rig, path, "newest")
    await rig.controls.second_thoughts.cancel([event.id for event in await rig.events()])
    moment, now = timedelta(seconds=1), rig.clock.advance(3600)
    await rig.controls.keeper.collect(Retention(payloads=moment, runs=moment, events=moment), now)
    assert len(await rig.events()) == 1
    again = await send(rig, path, "1")
    assert again.status == 200
    assert again.document["event_id"] == first.document["event_id"]
    assert again.document["duplicate"] is True
