"""What holds at every address that deliveries come to: sizes, framing, silence, encodings, pages."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.web.rig import JSON, Reply, Rig, open_rig, parsed, request
from tests.web.signing import B1, A, hub, signed
from tocsin.settings import MIB
from tocsin.store.connection import on_thread
from tocsin.web.app import Limits

CAP = 1000
HURRY = Limits(idle_seconds=0.3, body_seconds=0.3, lingering_seconds=0.1, connections=3)
Opening = Callable[[Rig], Awaitable[str]]


async def at_token(rig: Rig) -> str:
    return await rig.hook(body_limit=CAP, **signed("github"))


async def at_instance(rig: Rig) -> str:
    return await rig.instance(body_limit=CAP, **signed("github"))


async def at_provider(rig: Rig) -> str:
    connections = [{"name": "ours", "account": None, "secrets": ["env:A"]}]
    return await rig.shared("github", body_limit=CAP, connections=connections, **signed("github"))


@dataclass(frozen=True, kw_only=True)
class Route:
    """A server with one trigger behind one address. unknown: an address beside it."""

    rig: Rig
    path: str

    @property
    def unknown(self) -> str:
        return self.path.rpartition("/")[0] + "/unknown"

    async def post(self, body: bytes, headers: Mapping[str, str] = JSON) -> Reply:
        """Signed by whom it says."""
        return await self.rig.post(self.path, body, {**headers, **hub(body)})


@pytest.fixture(params=[at_token, at_instance, at_provider], ids=["token", "instance", "shared"])
async def route(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Route]:
    opening: Opening = request.param
    async with open_rig(tmp_path, limits=HURRY) as rig:
        rig.environ["A"] = A
        yield Route(rig=rig, path=await opening(rig))


async def test_only_post_is_spoken(route: Route) -> None:
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        reply = await route.rig.send(request(method, route.path, None))
        assert (reply.error, reply.headers["allow"]) == ((405, "method_not_allowed"), "POST")


async def test_pages_and_strange_names_are_refused_first(route: Route) -> None:
    for headers, error in (
        ({"Origin": "https://evil.example"}, (403, "forbidden_origin")),
        ({"Sec-Fetch-Site": "cross-site"}, (403, "forbidden_origin")),
        ({"Host": "evil.example"}, (421, "forbidden_host")),
    ):
        assert (await route.post(B1, {**JSON, **headers})).error == error


async def test_sizes_are_judged_in_order(route: Route) -> None:
    for path, length, status in (
        (route.unknown, 4 * MIB + 1, 413),
        (route.unknown, 4 * MIB, 404),
        (route.path, CAP + 1, 413),
    ):
        announced = request("POST", path, b"", {**JSON, "Content-Length": str(length)})
        reader, writer = await route.rig.connect()
        writer.write(announced)
        async with asyncio.timeout(5):
            assert int((await reader.readline()).split()[1]) == status
        writer.close()
        await writer.wait_closed()


async def test_the_cap_counts_chunks_and_what_gzip_unpacks(route: Route) -> None:
    exact = b'"' + b"x" * (CAP - 2) + b'"'
    packed = {**JSON, "Content-Encoding": "gzip"}
    assert (await route.post(exact)).status == 202
    assert (await route.post(exact + b" ")).error == (413, "payload_too_large")
    assert (await route.post(gzip.compress(exact), packed)).status == 202
    assert (await route.post(gzip.compress(exact + b" "), packed)).error == (413, "payload_too_large")
    chunked = {**JSON, "Content-Length": "", "Transfer-Encoding": "chunked"}
    parts = [b"64\r\n" + b"x" * 100 + b"\r\n"] * 11
    reply = await route.rig.send(request("POST", route.path, b"", chunked), *parts, b"0\r\n\r\n")
    assert reply.error == (413, "payload_too_large")


NOT_TAKEN = [
    (b"{", JSON),
    (b'{"v":NaN}', JSON),
    (b"[" * 900 + b"]" * 90, JSON),
    (b"1" * 900, {"Content-Type": "application/json; charset=rot13"}),
    (b"{}", {**JSON, "Content-Encoding": "br"}),
    (b"{}", {**JSON, "Content-Encoding": "gzip"}),
]


async def test_a_body_that_cannot_be_read_is_400_once_its_sender_is_known(route: Route) -> None:
    for body, headers in NOT_TAKEN:
        assert (await route.post(body, headers)).error == (400, "bad_body")
        assert (await route.rig.post(route.path, body, headers)).error == (401, "bad_signature")
    assert await route.rig.events() == []


TAKEN = [
    (b'{"role":"user","role":"admin"}', JSON, {"role": "admin"}),
    (b'\xef\xbb\xbf{"ok":true}', JSON, {"ok": True}),
    (b'{"name":"H\xebllo"}', {"Content-Type": "application/json; charset=latin-1"}, {"name": "H\xebllo"}),
    (b'{"n":123456789012345678901234567890}', JSON, {"n": 123456789012345678901234567890}),
    (b"a=1&a=2", {"Content-Type": "application/x-www-form-urlencoded"}, {"a": "2"}),
    (b"\x00\xff", {"Content-Type": "image/png"}, {"raw_base64": "AP8="}),
]


async def test_bodies_of_every_shape_are_taken_and_kept_as_they_were_sent(route: Route) -> None:
    for body, headers, payload in TAKEN:
        reply = await route.post(body, headers)
        assert await route.rig.payload(reply) == payload
        assert await route.rig.body(reply) == body


async def test_silence_is_cut_off_while_others_are_served(route: Route) -> None:
    head = request("POST", route.path, b"", {**JSON, "Content-Length": "30"})
    silent = asyncio.create_task(route.rig.exchange(head + b'{"a"'))
    assert (await route.post(B1)).status == 202
    assert parsed(await silent).error == (408, "bad_body")
    async with asyncio.timeout(5):
        assert await route.rig.exchange(head[:-10]) == b""


async def test_one_connection_too_many_is_told_so(route: Route) -> None:
    idle = [await route.rig.connect() for _ in range(3)]
    for reader, writer in idle[:1]:
        writer.write(request("GET", "/api/health", None, {"Connection": "keep-alive"}))
        assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
    assert parsed(await route.rig.exchange()).error == (503, "unavailable")
    for _, writer in idle:
        writer.close()
        await writer.wait_closed()


async def test_a_body_is_asked_for_only_by_a_known_address(route: Route) -> None:
    expecting = {**JSON, "Expect": "100-continue"}
    answer = await route.rig.exchange(request("POST", route.unknown, B1, expecting))
    assert answer.startswith(b"HTTP/1.1 404 ")
    answer = await route.rig.exchange(request("POST", route.path, B1, expecting | hub(B1)))
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 ")


async def test_a_full_disk_is_503_and_the_same_delivery_is_new_afterwards(route: Route) -> None:
    body = b'"' + b"x" * 900 + b'"'

    async def pragma(text: str) -> int:
        return await on_thread(
            route.rig.store._writer, lambda writer: int(writer.execute(f"PRAGMA {text}").fetchone()[0])
        )

    await pragma(f"max_page_count = {await pragma('page_count')}")
    answers = [await route.post(body, {**JSON, "X-GitHub-Delivery": f"d-{number}"}) for number in range(30)]
    refused = [reply for reply in answers if reply.status != 202]
    assert {reply.error for reply in refused} == {(503, "unavailable")}
    assert len(await route.rig.events()) == 30 - len(refused)
    assert (await route.rig.post(route.path, body, JSON)).status == 401
    await pragma("max_page_count = 1000000")
    assert (await route.post(body, {**JSON, "X-GitHub-Delivery": "d-29"})).status == 202


async def test_a_draining_engine_takes_the_same_delivery_later(route: Route) -> None:
    route.rig.is_accepting = False
    assert (await route.post(B1)).error == (503, "unavailable")
    assert (await route.rig.post(route.path, B1, JSON)).error == (401, "bad_signature")
    route.rig.is_accepting = True
    assert (await route.post(B1)).status == 202
