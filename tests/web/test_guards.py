"""Who may speak at all: names, web pages, unknown paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.web.rig import JSON, Rig, open_rig, request
from tocsin.settings import EngineSettings
from tocsin.web.guards import HostGuard

OWN_HOSTS = ["localhost", "LOCALHOST:1", "localhost.", "127.0.0.1", "127.0.0.1:7766", "[::1]", "[::1]:80"]


async def test_this_machines_names_are_served_at_any_port(rig: Rig) -> None:
    for host in OWN_HOSTS:
        assert (await rig.get("/api/health", {"Host": host})).status == 200


OTHER_HOSTS = [
    "evil.example",
    "localhost.evil.example",
    "evil.example:7766",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "[::2]",
    "localhost:x",
    "localhost:80:80",
    "user@localhost",
    "localhost evil.example",
    " ",
    "::1",
    "hooks.example.org",
]


async def test_any_other_name_is_421_even_with_the_right_address(rig: Rig) -> None:
    path = await rig.hook()
    for host in OTHER_HOSTS:
        assert (await rig.post(path, b"{}", {**JSON, "Host": host})).error == (421, "forbidden_host")
        assert await rig.events() == []


async def test_no_host_and_two_hosts_are_refused(rig: Rig) -> None:
    path = await rig.hook()
    head = f"POST {path} HTTP/1.0\r\nContent-Length: 2\r\n"
    assert (await rig.send(f"{head}\r\n{{}}".encode())).error == (421, "forbidden_host")
    twice = "Host: localhost\r\nHost: evil.example\r\n\r\n{}"
    for version in ("1.0", "1.1"):
        reply = await rig.send(head.replace("1.0", version).encode() + twice.encode())
        assert reply.status in {400, 421}
    assert await rig.events() == []


async def test_the_public_name_is_known(tmp_path: Path) -> None:
    settings = EngineSettings(public_url="https://Hooks.Example.org:8443/x")
    async with open_rig(tmp_path, settings=settings) as rig:
        assert (await rig.get("/api/health", {"Host": "hooks.example.org"})).status == 200
        assert (await rig.get("/api/health", {"Host": "example.org"})).status == 421


@pytest.mark.parametrize(
    ("bound", "host", "known"),
    [
        ("127.0.0.1", "192.168.1.5:7766", False),
        ("192.168.1.5", "192.168.1.5:7766", True),
        ("0.0.0.0", "192.168.1.5:7766", True),
        ("::", "[fe80::1]:7766", True),
        ("0.0.0.0", "evil.example", False),
    ],
)
def test_bound_to_every_address_any_address_is_a_name(bound: str, host: str, known: bool) -> None:
    assert HostGuard(host=bound, public_url=None).knows([host]) is known


FROM_PAGES = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:7766"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "Same-Site"},
]


async def test_a_web_page_is_403_wherever_it_comes_from(rig: Rig) -> None:
    path = await rig.hook()
    for headers in FROM_PAGES:
        assert (await rig.post(path, b"{}", {**JSON, **headers})).error == (403, "forbidden_origin")
        assert (await rig.get("/api/health", headers)).error == (403, "forbidden_origin")
        preflight = await rig.send(request("OPTIONS", path, None, headers))
        assert preflight.error == (403, "forbidden_origin")
        assert not [name for name in preflight.headers if name.startswith("access-control")]
        assert await rig.events() == []


async def test_an_address_typed_into_a_browser_is_no_web_page(rig: Rig) -> None:
    assert (await rig.get("/api/health", {"Sec-Fetch-Site": "none"})).status == 200


UNKNOWN_PATHS = ["/", "/api", "/api/triggers", "/api/triggers/", "/control/", "/x", "//api/health"]


async def test_an_unknown_path_is_404(rig: Rig) -> None:
    for path in UNKNOWN_PATHS:
        assert (await rig.get(path)).error == (404, "not_found")
        assert (await rig.post(path, b"{}", JSON)).error == (404, "not_found")


async def test_a_wrong_method_is_405_and_says_which_is_right(rig: Rig) -> None:
    reply = await rig.post("/api/health")
    assert reply.error == (405, "method_not_allowed")
    assert reply.headers["allow"] == "GET, HEAD"


async def test_health_is_for_anyone(rig: Rig) -> None:
    reply = await rig.get("/api/health")
    assert (reply.status, reply.document) == (200, {"ok": True, "version": "0"})
