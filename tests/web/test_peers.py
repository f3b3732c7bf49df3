"""Who is refused too often: nothing of it is kept or logged, and what is good is taken all the same."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest

from tests.fakes import FakeClock
from tests.web.rig import JSON, Rig
from tests.web.signing import B1, A, hub, signed
from tocsin.trigger import Rate
from tocsin.web.peers import MAX_PEERS, REFUSED, Peers, site

FEW = Rate(count=3, per=timedelta(minutes=1))


def refuse(peers: Peers, times: int, peer: str = "192.0.2.1") -> int | None:
    """Several refusals; what the last one was told."""
    return [peers.note(peer) for _ in range(times)][-1]


def test_six_hundred_a_minute_are_few() -> None:
    clock = FakeClock()
    peers = Peers(clock)
    assert refuse(peers, 600) is None
    assert peers.is_over("192.0.2.1")
    assert refuse(peers, 1) == 1
    clock.advance(60)
    assert refuse(peers, 600) is None
    assert REFUSED.count == 600


def test_each_peer_is_counted_by_itself_and_the_socket_is_not() -> None:
    peers = Peers(FakeClock(), FEW)
    assert refuse(peers, 4) == 20
    assert refuse(peers, 3, "192.0.2.2") is None
    assert all(peers.note(None) is None for _ in range(10))
    assert not peers.is_over(None)


def test_a_stranger_cannot_fill_the_memory() -> None:
    peers = Peers(FakeClock(), FEW)
    for number in range(MAX_PEERS + 5):
        peers.note(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(peers._kept) == MAX_PEERS
    assert not peers.is_over("10.0.0.0")


@pytest.mark.parametrize(
    ("peer", "whom"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("unknown", "unknown"),
    ],
)
def test_an_ipv6_site_is_one_peer(peer: str, whom: str) -> None:
    assert site(peer) == whom


async def test_over_the_limit_a_refusal_is_429_and_leaves_no_trace(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.environ["A"] = A
    path, open_path = await rig.hook(**signed("github")), await rig.hook("open")
    kept = await use_up(rig, path)
    caplog.set_level(logging.INFO)
    caplog.clear()
    before = len(await rig.strays())
    for method_path in (path, "/api/triggers/unknown", "/nowhere", "/control/list"):
        reply = await rig.post(method_path, B1, JSON)
        assert reply.error == (429, "rate_limited")
        assert int(reply.headers["retry-after"]) >= 1
    assert caplog.text == ""
    assert len(await rig.strays()) == before == kept
    assert (await rig.post(path, B1, {**JSON, **hub(B1)})).status == 202
    assert (await rig.post(open_path, B1, JSON)).status == 202
    rig.clock.advance(60)
    assert (await rig.post(path, b"2", JSON)).status == 401
    assert len(await rig.strays()) == before + 1


async def use_up(rig: Rig, path: str) -> int:
    """Refusals until one is too many, over one connection; how many strays were kept."""
    reader, writer = await rig.connect()
    bad = b"POST /api/triggers/unknown HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    writer.write(bad * 599)
    await writer.drain()
    for _ in range(599):
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 404 ")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
    writer.close()
    await writer.wait_closed()
    assert (await rig.post(path, B1, JSON)).status == 401
    return len(await rig.strays())


async def test_a_sources_own_limit_is_not_counted_against_its_peer(rig: Rig) -> None:
    path = await rig.hook(rate={"count": 1, "per_ms": 3_600_000}, dedupe={"body_window_ms": 0})
    assert (await rig.post(path, B1, JSON)).status == 202
    assert (await rig.post(path, B1, JSON)).error == (429, "rate_limited")
    reply = await rig.post("/api/triggers/unknown", B1, JSON)
    assert reply.error == (404, "not_found")
