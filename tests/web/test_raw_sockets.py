"""Sizes, framing, silence: what comes over the wire without a well-behaved client."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.web.rig import JSON, Rig, open_rig, parsed, request
from tocsin.settings import MIB
from tocsin.web.app import Limits

CAP = 1000
HURRY = Limits(idle_seconds=0.3, body_seconds=0.3, lingering_seconds=0.1)
CHUNKED = {**JSON, "Content-Length": "", "Transfer-Encoding": "chunked"}


@pytest.fixture
async def hurried(tmp_path: Path) -> AsyncIterator[Rig]:
    """A server that waits for nobody long."""
    async with open_rig(tmp_path, limits=HURRY) as opened:
        yield opened


def head(path: str, *lines: str) -> bytes:
    first = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    return "\r\n".join([*first, *lines, "", ""]).encode()


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def text(size: int) -> bytes:
    """A JSON string of exactly this many bytes."""
    return b'"' + b"x" * (size - 2) + b'"'


async def test_a_body_of_exactly_the_cap_is_taken_and_one_byte_more_is_not(rig: Rig) -> None:
    path = await rig.hook(body_limit=CAP)
    assert (await rig.post(path, text(CAP), JSON)).status == 202
    assert (await rig.post(path, text(CAP + 1), JSON)).error == (413, "payload_too_large")


async def test_the_cap_counts_what_is_chunked_too(rig: Rig) -> None:
    path = await rig.hook(body_limit=CAP)
    for size, status in ((CAP, 202), (CAP + 1, 413)):
        body = text(size)
        parts = [chunk(body[at : at + 100]) for at in range(0, size, 100)]
        reply = await rig.send(request("POST", path, b"", CHUNKED), *parts, b"0\r\n\r\n")
        assert reply.status == status


async def test_a_body_in_chunks_is_put_together(rig: Rig) -> None:
    path = await rig.hook()
    reply = await rig.send(
        request("POST", path, b"", CHUNKED), b'3\r\n{"a\r\n', b'4\r\n":1}\r\n', b"0\r\n\r\n"
    )
    assert await rig.payload(reply) == {"a": 1}


async def test_no_source_may_take_more_than_four_mebibytes(rig: Rig) -> None:
    path = await rig.hook(body_limit=64 * MIB)
    assert (await rig.post(path, text(4 * MIB), JSON)).status == 202
    assert (await rig.post(path, text(4 * MIB + 1), JSON)).error == (413, "payload_too_large")
    parts = [chunk(bytes(MIB))] * 5
    assert (await rig.send(request("POST", path, b"", CHUNKED), *parts, b"0\r\n\r\n")).status == 413


ANNOUNCED = [(10**12, 413), (4 * MIB + 1, 413), (4 * MIB, 404), (CAP + 1, 404)]


async def test_an_announced_size_is_judged_before_a_byte_of_it_came(rig: Rig) -> None:
    path = await rig.hook(body_limit=CAP)
    for length, status in ANNOUNCED:
        announced = request("POST", "/api/triggers/unknown", b"", {**JSON, "Content-Length": str(length)})
        assert await first_status(rig, announced) == status
        announced = request("POST", path, b"", {**JSON, "Content-Length": str(length)})
        assert await first_status(rig, announced) == 413


async def first_status(rig: Rig, sent: bytes) -> int:
    """The status that comes although the request is not finished."""
    reader, writer = await rig.connect()
    async with asyncio.timeout(5):
        writer.write(sent)
        line = await reader.readline()
    writer.close()
    await writer.wait_closed()
    return int(line.split()[1])


async def test_a_body_is_asked_for_only_after_the_checks_without_one(rig: Rig) -> None:
    path = await rig.hook(body_limit=CAP)
    expecting = {**JSON, "Expect": "100-continue"}
    announced = {**expecting, "Content-Length": str(CAP + 1)}
    assert await first_status(rig, request("POST", path, b"", announced)) == 413
    assert await first_status(rig, request("POST", "/api/triggers/unknown", b"", announced)) == 404
    assert await first_status(rig, request("POST", path, b"", {**announced, "Host": "evil.example"})) == 421
    answer = await rig.exchange(request("POST", path, b"{}", expecting))
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 ")


AMBIGUOUS = [
    ("Content-Length: 2", "Content-Length: 30"),
    ("Content-Length: 2", "Content-Length: 2"),
    ("Content-Length: 2", "Transfer-Encoding: chunked"),
    ("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
    ("Transfer-Encoding: gzip, chunked", "Content-Length: 2"),
    ("Content-Length: +30",),
    ("Content-Length: -1",),
    ("Content-Length: 0x2",),
    ("Content-Length: 2, 2",),
    ("Content-Length:",),
    ("X" * 9000 + ": 1",),
    ("Bad Header: 1", "Content-Length: 2"),
]


async def test_ambiguous_framing_is_400_in_json_and_prints_no_traceback(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    path = await rig.hook()
    for lines in AMBIGUOUS:
        caplog.set_level(logging.DEBUG)
        answer = await rig.exchange(head(path, *lines) + b"{}")
        assert parsed(answer).error == (400, "bad_body")
        assert answer.count(b"HTTP/1.1") == 1
        assert "Traceback" not in caplog.text
        assert await rig.events() == []


NO_HTTP = [b"\x16\x03\x01\x02\x00\x01", b"GET\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n", b"\x00" * 100]


async def test_what_is_no_http_is_400(rig: Rig) -> None:
    for sent in NO_HTTP:
        assert parsed(await rig.exchange(sent)).error == (400, "bad_body")


@pytest.mark.parametrize("lines", [("Content-Length: 30",), ("Transfer-Encoding: chunked",)])
async def test_a_body_that_ends_early_records_nothing(rig: Rig, lines: tuple[str, ...]) -> None:
    path = await rig.hook()
    start = b"4\r\n" if "chunked" in lines[0] else b""
    await rig.exchange(head(path, *lines) + start + b'{"a"', ends=True)
    assert await rig.events() == []
    assert (await rig.post(path, b"{}", JSON)).status == 202


BROKEN_CHUNKS = [b"zz\r\n{}\r\n", b"-2\r\n{}\r\n", b"2\r\n{}xx\r\n", b"ffffffffffffffffff\r\n{}\r\n"]


async def test_a_broken_chunk_is_400(rig: Rig) -> None:
    path = await rig.hook()
    for size in BROKEN_CHUNKS:
        answer = await rig.exchange(head(path, "Transfer-Encoding: chunked") + size + b"0\r\n\r\n")
        assert parsed(answer).error == (400, "bad_body")
        assert await rig.events() == []


async def test_a_silent_body_is_cut_off_while_others_are_served(hurried: Rig) -> None:
    path = await hurried.hook()
    silent = asyncio.create_task(hurried.exchange(head(path, "Content-Length: 30") + b'{"a": 1234'))
    assert (await hurried.post(path, b"{}", JSON)).status == 202
    assert parsed(await silent).error == (408, "bad_body")
    assert len(await hurried.events()) == 1


async def test_a_dribbled_body_is_cut_off_as_well(hurried: Rig) -> None:
    reader, writer = await hurried.connect()
    writer.write(head(await hurried.hook(), "Content-Length: 100000"))
    status = asyncio.create_task(reader.readline())
    async with asyncio.timeout(5):
        while not status.done():
            writer.write(b" ")
            await writer.drain()
            await asyncio.wait([status], timeout=0.02)
    assert (await status).startswith(b"HTTP/1.1 408 ")
    writer.close()
    await writer.wait_closed()


@pytest.mark.parametrize("sent", [b"", b"POST /api/tri", b"POST / HTTP/1.1\r\nHost: local"])
async def test_headers_that_never_end_are_cut_off(hurried: Rig, sent: bytes) -> None:
    async with asyncio.timeout(5):
        assert await hurried.exchange(sent) == b""


async def test_a_connection_is_used_again_and_closed_when_idle(hurried: Rig) -> None:
    path = await hurried.hook()
    again = request("POST", path, b"{}", {**JSON, "Connection": "keep-alive"})
    answer = await hurried.exchange(again + again)
    assert answer.count(b"HTTP/1.1 202 ") == 1
    assert answer.count(b"HTTP/1.1 200 ") == 1


async def test_one_connection_too_many_is_told_so_and_the_next_is_served(tmp_path: Path) -> None:
    async with open_rig(tmp_path, limits=Limits(connections=3)) as rig:
        path = await rig.hook()
        idle = [await rig.connect() for _ in range(3)]
        for reader, writer in idle[:1]:
            writer.write(request("GET", "/api/health", None, {"Connection": "keep-alive"}))
            assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
        assert parsed(await rig.exchange()).error == (503, "unavailable")
        assert (await rig.send(request("GET", "/api/health", None), over=rig.socket)).status == 200
        for _, writer in idle:
            writer.close()
            await writer.wait_closed()
        async with asyncio.timeout(5):
            while await is_crowded(rig, path):
                pass


async def is_crowded(rig: Rig, path: str) -> bool:
    """Whether a delivery meets the limit; the answer may be lost when the server closes under it."""
    try:
        return (await rig.post(path, b"{}", JSON)).status == 503
    except ConnectionError:
        return True
