"""When nothing can be recorded: 503, and nothing that could stop the retry."""

from __future__ import annotations

from pathlib import Path

from tests.fakes import Notices
from tests.web.rig import JSON, OpenedLater, Rig, open_rig
from tocsin.engine.accept import Acceptor
from tocsin.engine.claims import Claims
from tocsin.settings import EngineSettings
from tocsin.store.connection import on_thread, open_reader, open_store


async def test_a_draining_engine_is_503_and_takes_the_same_delivery_later(rig: Rig) -> None:
    path = await rig.hook()
    rig.is_accepting = False
    reply = await rig.post(path, b"{}", JSON)
    assert reply.error == (503, "unavailable")
    assert int(reply.headers["retry-after"]) > 0
    assert (await rig.post("/api/triggers/unknown", b"{}", JSON)).status == 404
    rig.is_accepting = True
    assert (await rig.post(path, b"{}", JSON)).status == 202


async def test_a_full_disk_is_503_and_the_same_delivery_is_new_afterwards(rig: Rig) -> None:
    path = await rig.hook(dedupe={"header": "X-Delivery"})
    big, headers = b'"' + b"x" * 200_000 + b'"', {**JSON, "X-Delivery": "d-1"}
    pages = await pragma(rig, "page_count")
    await pragma(rig, f"max_page_count = {pages}")
    reply = await rig.post(path, big, headers)
    assert reply.error == (503, "unavailable")
    assert "retry-after" in reply.headers
    assert await rig.events() == []
    await pragma(rig, "max_page_count = 1000000")
    assert (await rig.post(path, big, headers)).status == 202


async def pragma(rig: Rig, text: str) -> int:
    return await on_thread(
        rig.store._writer, lambda writer: int(writer.execute(f"PRAGMA {text}").fetchone()[0])
    )


async def test_a_read_only_database_is_503(tmp_path: Path) -> None:
    async with open_store(tmp_path / "tocsin.db"), open_reader(tmp_path / "tocsin.db") as reader:
        claims = Claims(owner="own_x", settings=EngineSettings(), logs=tmp_path, announce=Notices())
        door = OpenedLater(claims)
        async with open_rig(tmp_path, accept=door) as rig:
            door.acceptor = Acceptor(store=reader, clock=rig.clock, announce=rig.notices, claims=claims)
            reply = await rig.post(await rig.hook(), b"{}", JSON)
            assert await rig.events() == []
    assert reply.error == (503, "unavailable")
    assert str(tmp_path) not in reply.document["message"]
