"""Bodies in memory: so much at one time, and free again whatever became of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.web.rig import JSON, open_rig, parsed, request
from tocsin.settings import MIB
from tocsin.web.app import Limits
from tocsin.web.refusals import Refusal
from tocsin.web.room import Room


def test_what_is_held_is_bounded_and_given_back() -> None:
    room = Room(10)
    with room.share() as one, room.share() as other:
        one(6)
        other(4)
        with pytest.raises(Refusal) as refused:
            other(1)
        assert (refused.value.status, refused.value.headers) == (503, {"Retry-After": "5"})
    with room.share() as again:
        again(10)


async def test_a_body_without_room_is_503_and_taken_when_there_is_some(tmp_path: Path) -> None:
    body = b'"' + b"x" * (MIB - 2) + b'"'
    async with open_rig(tmp_path, limits=Limits(body_bytes=MIB + 1000)) as rig:
        path = await rig.hook(dedupe={"body_window_ms": 0})
        reader, writer = await rig.connect()
        sent = request("POST", path, body, JSON)
        writer.write(sent[:-1])
        async with asyncio.timeout(10):
            await writer.drain()
            while (refused := await rig.post(path, body[:2000] + b'"', JSON)).status == 202:
                pass
        assert refused.error == (503, "unavailable")
        writer.write(sent[-1:])
        assert parsed(await reader.read()).status == 202
        writer.close()
        await writer.wait_closed()
        assert (await rig.post(path, body, JSON)).status == 202
