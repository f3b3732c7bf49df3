"""Doors: opened, refused, private, closed without leaving anything behind."""

from __future__ import annotations

import asyncio
import socket
import stat
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.web.rig import JSON, Rig, health, open_rig, request
from tocsin.errors import Refused
from tocsin.event import Answer, Limited, Occurrence
from tocsin.seams import Accept
from tocsin.settings import EngineSettings
from tocsin.trigger import Rate
from tocsin.web.app import WebContext
from tocsin.web.serve import Server, url_of


@pytest.fixture
async def server(rig: Rig) -> AsyncIterator[Server]:
    """A second server on the same engine, not started yet."""
    second = Server(context_of(rig))
    yield second
    await second.stop()


def context_of(rig: Rig) -> WebContext:
    return WebContext(
        store=rig.store,
        accept=rig.controls._acceptor,
        controls=rig.controls,
        clock=rig.clock,
        settings=EngineSettings(),
        api_token="t",
        is_accepting=lambda: True,
        request_stop=rig.stops.append,
        secrets=rig.references,
        health=health,
        listen=rig.notices.listeners.append,
    )


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_the_socket_and_its_folder_are_private(rig: Rig) -> None:
    assert (mode(rig.socket), mode(rig.socket.parent)) == (0o600, 0o700)


async def test_the_socket_is_gone_after_a_stop_and_a_second_stop_is_nothing(rig: Rig, server: Server) -> None:
    path = rig.home / "second" / "s.sock"
    assert await server.start("127.0.0.1", 0, path, http=False) is None
    assert path.is_socket()
    await server.stop()
    await server.stop()
    assert not path.exists()


async def test_a_dead_engines_socket_is_replaced(rig: Rig, server: Server) -> None:
    path = rig.home / "stale.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    await server.start("127.0.0.1", 0, path, http=False)
    assert (await rig.send(request("GET", "/api/health", None), over=path)).status == 200


async def test_something_else_in_the_sockets_place_is_left_alone(rig: Rig, server: Server) -> None:
    path = rig.home / "precious"
    path.write_text("text")
    with pytest.raises(Refused, match="no socket is there"):
        await server.start("127.0.0.1", 0, path, http=True)
    assert path.read_text() == "text"


async def test_a_socket_path_that_is_too_long_is_left_out(rig: Rig, server: Server) -> None:
    path = rig.home / ("x" * 100)
    url = await server.start("127.0.0.1", 0, path, http=True)
    assert url is not None
    assert not path.exists()


async def test_a_taken_port_is_refused_by_number_and_nothing_stays_open(rig: Rig, server: Server) -> None:
    path = rig.home / "second.sock"
    with pytest.raises(Refused, match=f"port {rig.port} is taken: "):
        await server.start("127.0.0.1", rig.port, path, http=True)
    assert not path.exists()
    assert await server.start("127.0.0.1", 0, path, http=True) is not None


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("127.0.0.1", 70_000)])
async def test_an_address_that_is_not_ours_is_refused(server: Server, host: str, port: int) -> None:
    with pytest.raises(Refused, match=f"cannot listen on {host} port {port}: "):
        await server.start(host, port, None, http=True)


async def test_a_stop_lets_a_request_under_way_end(tmp_path: Path) -> None:
    async with open_rig(tmp_path) as rig:
        door = Gate(rig.controls._acceptor)
        server = Server(replace(context_of(rig), accept=door))
        rig.url = await server.start("127.0.0.1", 0, None, http=True)
        delivery = asyncio.create_task(rig.post(await rig.hook(), b"{}", JSON))
        await door.reached.wait()
        stopping = asyncio.create_task(server.stop())
        await asyncio.wait([stopping], timeout=0.05)
        assert not stopping.done()
        door.opened.set()
        assert (await delivery).status == 202
        await stopping


class Gate:
    """A door that opens when the test says so."""

    def __init__(self, behind: Accept) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()
        self._behind = behind

    async def accept(self, occurrence: Occurrence) -> Answer:
        raise NotImplementedError

    async def accept_all(
        self, occurrences: Sequence[Occurrence], *, rate: Rate | None = None
    ) -> Sequence[Answer] | Limited:
        self.reached.set()
        await self.opened.wait()
        return await self._behind.accept_all(occurrences, rate=rate)


async def test_idle_connections_do_not_hold_up_a_stop(rig: Rig, server: Server) -> None:
    url = await server.start("127.0.0.1", 0, None, http=True)
    assert url is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
    async with asyncio.timeout(1):
        await server.stop()
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:7"),
        ("localhost", "http://localhost:7"),
        ("::1", "http://[::1]:7"),
        ("0.0.0.0", "http://127.0.0.1:7"),
        ("::", "http://127.0.0.1:7"),
    ],
)
def test_the_url_is_one_that_a_client_on_this_machine_can_use(host: str, url: str) -> None:
    assert url_of(host, 7) == url
