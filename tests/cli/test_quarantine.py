"""`quarantine`: the same with an engine and without one."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import CONFIG, Home
from tests.cli.conftest import running
from tests.engine.rig import open_rig
from tocsin.quarantine import Reason, Stray

LIST = ["id", "received_at", "route", "reason", "registration", "state", "detail"]
SHAPES = """
[triggers.shaped]
workflow = "hello"
webhook = {}
schema = "order.json"
filter = 'event.raw_payload.want'
"""


async def keep(home: Path, *strays: Stray, name: str = "hook") -> list[str]:
    """As the web's routes do. Each is for the source of one trigger."""
    async with open_rig(home) as rig:
        source = (await rig.named(name)).installation_id
        return [await rig.controls.quarantine.keep(replaced(stray, source)) for stray in strays]


def replaced(stray: Stray, source: str) -> Stray:
    return Stray(
        route=stray.route,
        reason=stray.reason,
        detail=stray.detail,
        installation_id=source,
        delivery_id=stray.delivery_id,
        headers=stray.headers,
        query=stray.query,
        body=stray.body,
    )


UNSIGNED = Stray(
    route="/trigger/instance",
    reason=Reason.FAILED_VERIFICATION,
    detail="no signature fits",
    delivery_id="d1",
    headers={"x-event": "push"},
    query={"a": "\x1b[31m"},
    body=b'{"n": 1}',
)
OVERFLOW = Stray(route="/app-webhook/shop", reason=Reason.OVERFLOW, delivery_id="d2", body=b"[2]")


@pytest.fixture
def strays(home: Home) -> list[str]:
    """Two of them, without an engine."""
    return asyncio.run(keep(home.path, UNSIGNED, OVERFLOW))


def test_a_home_without_any(home: Home, bare: Home) -> None:
    assert home.ok("quarantine", "list", "--json").json == []
    assert home.ok("quarantine", "list").err == "nothing is quarantined\n"
    assert home.ok("quarantine", "drop", "--all").err == "nothing waits in the quarantine\n"
    assert bare.ok("status", "--json").json["quarantine"] == 0


def test_list_and_status(home: Home, strays: list[str]) -> None:
    found = home.ok("quarantine", "list", "--json").json
    assert [list(one) for one in found] == [LIST, LIST]
    assert [one["id"] for one in found] == strays[::-1]
    assert (found[1]["reason"], found[1]["state"]) == ("failed_verification", "waiting")
    assert [
        one["id"] for one in home.ok("quarantine", "list", "--reason", "overflow", "--json").json
    ] == strays[1:]
    assert home.ok("quarantine", "list", "--state", "dropped").err == "nothing fits\n"
    assert home("quarantine", "list", "--reason", "overflew").code == 2
    assert home.ok("status", "--json").json["quarantine"] == 2
    assert "2 waiting" in home.ok("status").out
    assert "no signature fits" in home.ok("quarantine", "list").out


def test_show(home: Home, strays: list[str]) -> None:
    found = home.ok("quarantine", "show", strays[0], "--json").json
    assert base64.b64decode(found["body_base64"]) == b'{"n": 1}'
    assert (found["safe_headers"], found["truncated"], found["size"]) == ({"x-event": "push"}, False, 8)
    text = home.ok("quarantine", "show", strays[0].removeprefix("qua_")).out
    assert '{"n": 1}' in text
    assert "\x1b" not in text
    assert home("quarantine", "show", "qua_0000").code == 3


def test_a_beginning_that_fits_several_is_refused(home: Home, strays: list[str]) -> None:
    result = home("quarantine", "show", strays[0][:12])
    assert result.code == 3
    assert "qua_" in result.err


def test_replay_without_an_engine(home: Home, strays: list[str]) -> None:
    result = home("quarantine", "replay", strays[0])
    assert result.code == 6
    assert "could not be verified" in result.err
    before = home.ok("quarantine", "replay", strays[0], "--diff", "--json").json
    assert before["decisions"] == [
        {"registration": "hook", "answer": "accepted", "event_id": None, "reason": None}
    ]
    done = home.ok("quarantine", "replay", strays[0], "--yes", "--json")
    [decision] = done.json["decisions"]
    assert (done.json["quarantine_id"], done.json["state"]) == (strays[0], "replayed")
    assert "no engine is running" in done.err
    event = home.ok("event", decision["event_id"], "--json").json
    assert (event["delivery_id"], event["envelope"]["raw_payload"]) == ("d1", {"n": 1})
    assert "replayed from the quarantine" in [step["what"] for step in event["trace"]]
    assert home("quarantine", "replay", strays[0], "--yes").code == 6
    assert home.ok("audit", "--json").json["ok"]


def test_drop(home: Home, strays: list[str]) -> None:
    assert home.ok("quarantine", "drop", strays[0][:-2]).out == f"dropped {strays[0]}\n"
    assert home.ok("quarantine", "drop", "--all", "--json").json == strays[1:]
    assert home("quarantine", "drop", strays[0]).code == 6
    assert home("quarantine", "drop").code == 2
    assert home("quarantine", "drop", strays[0], "--all").code == 2
    assert home.ok("status", "--json").json["quarantine"] == 0


def post(address: str, payload: Any) -> tuple[int, Any]:
    """A webhook's answer."""
    from urllib.request import Request, urlopen

    data = json.dumps(payload).encode()
    request = Request(address, data, {"Content-Type": "application/json"})
    with urlopen(request, timeout=10) as response:
        return response.status, json.loads(response.read())


def test_a_delivery_of_the_wrong_shape_from_the_post_to_the_run(bare: Home) -> None:
    bare.path.mkdir(mode=0o700)
    bare.config.write_text(CONFIG + SHAPES)
    schema = bare.path / "order.json"
    schema.write_text('{"type": "object", "required": ["id"]}')
    with running(bare) as home:
        address = home.ok("url", "shaped").out.strip()
        assert post(address, {"want": False}) == (200, {"filtered": True})
        status, answer = post(address, {"want": True})
        assert (status, answer["reason"]) == (202, "schema_invalid")
        id_ = answer["quarantine_id"]
        assert home.ok("quarantine", "list", "--json").json[0]["registration"] == "shaped"
        result = home("quarantine", "replay", id_)
        assert (result.code, "'id' is a required property" in result.out) == (6, True)
        schema.write_text('{"type": "object"}')
        assert home.ok("apply", "--json").json["changed"] == ["shaped"]
        assert "shaped: accepted" in home.ok("quarantine", "replay", id_, "--diff").out
        done = home.ok("quarantine", "replay", id_, "--json").json
        event = done["decisions"][0]["event_id"]
        told = home.ok("event", event, "--json").json
        assert told["envelope"]["schema_status"] == "valid"
        assert "fits its schema" in [step["what"] for step in told["trace"]]
        status, _ = post(address, {"want": True})
        assert status in (200, 202)
        assert home.ok("status", "--json").json["quarantine"] == 0
