"""The verbs and the status of an event: over the Unix socket, and over TCP with the token."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.web.rig import API_TOKEN, JSON, Reply, Rig, open_rig, registration_id, request
from tocsin.engine.verbs import Remote, error_of
from tocsin.errors import ConfigInvalid
from tocsin.runs import Outcome, Outputs, RunState, Verdict
from tocsin.store import events, runs
from tocsin.store.connection import Tx

BEARER = {"Authorization": f"Bearer {API_TOKEN}"}
CONFIG = """
[workflows.w]
command = ["true"]
[triggers.a]
workflow = "w"
webhook = {}
"""


async def control(rig: Rig, verb: str, arguments: Any = None) -> Reply:
    """A verb over the Unix socket."""
    body = b"" if arguments is None else json.dumps(arguments).encode()
    return await rig.send(request("POST", f"/control/{verb}", body), over=rig.socket)


async def over_tcp(rig: Rig, verb: str, headers: Mapping[str, str]) -> Reply:
    return await rig.post(f"/control/{verb}", b'{"name": "hook"}', headers)


async def test_a_verb_over_the_socket_needs_no_token(rig: Rig) -> None:
    path = await rig.hook()
    reply = await control(rig, "token", {"name": "hook"})
    assert (reply.status, reply.document) == (200, {"ok": {"token": path.rpartition("/")[2]}})


async def test_a_verb_over_tcp_needs_the_token(rig: Rig) -> None:
    await rig.hook()
    assert (await over_tcp(rig, "token", BEARER)).status == 200
    assert (await over_tcp(rig, "token", {"authorization": f"bearer  {API_TOKEN}"})).status == 200


async def test_second_thoughts_take_whole_ids_and_answer_for_each(rig: Rig) -> None:
    await rig.post(await rig.hook(), b"{}", JSON)
    (event,) = await rig.events()
    replayed = await control(rig, "replay", {"events": [event.id, event.id]})
    (new,) = [one for one in await rig.events() if one.id != event.id]
    assert replayed.document == {"ok": [{"event_id": new.id, "replay_of": event.id}]}
    cancelled = await control(rig, "cancel", {"events": [event.id, new.id]})
    dropped = [{"event_id": one, "state": "dropped"} for one in (event.id, new.id)]
    assert cancelled.document == {"ok": dropped}
    assert (await control(rig, "retry", {"events": [new.id]})).document["error"] == "Refused"
    assert (await control(rig, "retry", {"events": [new.id[:-1]]})).document["error"] == "NotFound"


@pytest.mark.parametrize("verb", ["cancel", "retry", "replay"])
async def test_second_thoughts_about_nothing_are_a_bad_request(rig: Rig, verb: str) -> None:
    wrong: list[Any] = [None, {"events": []}, {"events": "evt_1"}, {"events": [1]}, {"names": ["evt_1"]}]
    for arguments in wrong:
        reply = await control(rig, verb, arguments)
        assert (reply.status, reply.document["error"]) == (400, "BadRequest")


NOT_THE_TOKEN = [
    "",
    "Bearer",
    "Bearer ",
    f"Basic {API_TOKEN}",
    API_TOKEN,
    f"Bearer {API_TOKEN}x",
    f"Bearer {API_TOKEN[:-1]}",
    f"Bearer {API_TOKEN.upper()}",
    "Bearer \xff\xfe",
]


async def test_anything_but_the_exact_token_is_401(rig: Rig) -> None:
    for value in NOT_THE_TOKEN:
        reply = await over_tcp(rig, "token", {"Authorization": value})
        assert reply.error == (401, "unauthorized")
        assert reply.headers["www-authenticate"].startswith("Bearer")
        assert (await over_tcp(rig, "no-such-verb", {"Authorization": value})).status == 401


@pytest.mark.parametrize("order", [(API_TOKEN, "wrong"), ("wrong", API_TOKEN)])
async def test_two_tokens_are_none(rig: Rig, order: tuple[str, str]) -> None:
    lines = "".join(f"Authorization: Bearer {token}\r\n" for token in order)
    head = "POST /control/plan HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n"
    assert (await rig.send(f"{head}{lines}\r\n".encode())).error == (401, "unauthorized")


async def test_an_empty_token_lets_nobody_in(tmp_path: Path) -> None:
    async with open_rig(tmp_path, api_token="") as rig:
        for value in ("", "Bearer", "Bearer "):
            assert (await over_tcp(rig, "plan", {"Authorization": value})).status == 401


async def test_a_configuration_is_applied_and_fired_through_the_socket(rig: Rig) -> None:
    (rig.home / "tocsin.toml").write_text(CONFIG)
    applied = await control(rig, "apply", {"prune": False})
    assert applied.document["ok"]["added"] == ["a"]
    payload = {"n": 123456789012345678901234567890, "deep": [[["x"]]]}
    fired = await control(rig, "fire", {"name": "a", "payload": payload, "key": "k"})
    assert fired.document["ok"]["duplicate"] is False
    assert (await rig.envelope(fired.document["ok"]["event_id"]))["raw_payload"] == payload
    again = await control(rig, "fire", {"name": "a", "key": "k"})
    assert again.document["ok"]["duplicate"] is True


async def test_errors_come_through_as_their_client_reads_them(rig: Rig) -> None:
    (rig.home / "tocsin.toml").write_text("[triggers.x]\nworkflow = 'gone'\nmanual = true\n")
    missing = await control(rig, "fire", {"name": "nobody"})
    assert (missing.status, missing.document["error"]) == (400, "NotFound")
    assert isinstance(error_of(missing.document), Remote)
    invalid = await control(rig, "plan")
    assert invalid.status == 400
    error = error_of(invalid.document)
    assert isinstance(error, ConfigInvalid)
    assert error.problems[0].line == 2


UNFIT = [
    ("fire", {}),
    ("fire", None),
    ("disable", {"names": 5}),
    ("add", {"name": "x", "table": {}, "base": 5}),
    ("add", {"name": "x", "table": {}, "base": "\x00"}),
    ("fire", {"name": "hook", "cause": 5}),
]


async def test_arguments_that_do_not_fit_are_400(rig: Rig) -> None:
    await rig.hook()
    for verb, arguments in UNFIT:
        reply = await control(rig, verb, arguments)
        assert (reply.status, reply.document["error"]) in [(400, "BadRequest"), (400, "ConfigInvalid")]


NO_OBJECTS = [b"[]", b"5", b"{broken", b'{"name": NaN}', b"\xff", b"[" * 5000]


async def test_arguments_that_are_no_object_are_400(rig: Rig) -> None:
    for body in NO_OBJECTS:
        reply = await rig.send(request("POST", "/control/plan", body), over=rig.socket)
        assert reply.error == (400, "bad_body")


async def test_an_unknown_verb_is_404_and_a_wrong_method_405(rig: Rig) -> None:
    assert (await control(rig, "explode")).error == (404, "not_found")
    reply = await rig.send(request("GET", "/control/stop", None), over=rig.socket)
    assert reply.error == (405, "method_not_allowed")
    assert rig.stops == []


@pytest.mark.parametrize(
    ("arguments", "now"), [(None, False), ({"now": False}, False), ({"now": True}, True)]
)
async def test_stop_answers_and_then_asks_the_engine(rig: Rig, arguments: Any, now: bool) -> None:
    reply = await control(rig, "stop", arguments)
    assert (reply.status, reply.document, rig.stops) == (200, {"ok": True}, [now])


async def test_stop_over_tcp_needs_the_token_too(rig: Rig) -> None:
    assert (await over_tcp(rig, "stop", {})).status == 401
    assert rig.stops == []


async def test_an_events_status_is_for_the_owner(rig: Rig) -> None:
    reply = await rig.post(await rig.hook(), b"{}", JSON)
    path = reply.document["status_url"].removeprefix("http://127.0.0.1")
    assert (await rig.get(path)).error == (401, "unauthorized")
    expected = {
        "event_id": reply.document["event_id"],
        "state": "pending",
        "run_id": None,
        "result": None,
        "exit_code": None,
        "error": None,
    }
    assert (await rig.get(path, BEARER)).document == expected
    assert (await rig.send(request("GET", path, None), over=rig.socket)).document == expected
    assert (await rig.get("/api/events/evt_none", BEARER)).error == (404, "not_found")
    assert (await rig.get("/api/events/%ED%A0%80", BEARER)).error == (404, "not_found")


async def test_an_events_status_tells_how_its_last_run_ended(rig: Rig) -> None:
    reply = await rig.post(await rig.hook(), b"{}", JSON)
    event_id = reply.document["event_id"]
    await run_once(rig, event_id)
    found = (await rig.get(f"/api/events/{event_id}", BEARER)).document
    assert (found["run_id"], found["exit_code"]) == ("run_1", 3)
    assert (found["result"], found["error"]) == ({"n": 1}, "exit status 3")


async def run_once(rig: Rig, event_id: str) -> None:
    """Claim the event and write down a run that failed."""
    now, registration = rig.clock.now(), await registration_id(rig)
    outcome = Outcome(verdict=Verdict.FAILED, exit_code=3, outputs=Outputs(result={"n": 1}))
    new = runs.NewRun(
        id="run_1",
        event_id=event_id,
        registration_id=registration,
        workflow="w",
        workflow_version=1,
        attempt=1,
        engine_key="k",
        params={},
        log="x",
    )

    def step(tx: Tx) -> bool:
        events.claim(tx, event_id, claim_id="c", owner="o", run_id="run_1", now=now)
        runs.insert(tx, new, now)
        return runs.finish(tx, "run_1", RunState.FAILED, outcome, error="exit status 3", now=now)

    assert await rig.store.write(step)


async def test_a_dropped_events_status_says_why(rig: Rig) -> None:
    reply = await rig.post(await rig.hook(), b"{}", JSON)
    await rig.controls.disable(["hook"], tag=None)
    found = (await rig.get(f"/api/events/{reply.document['event_id']}", BEARER)).document
    assert found["state"] == "dropped"
    assert found["error"] is not None


async def test_over_the_socket_the_status_address_is_a_path(rig: Rig) -> None:
    path = await rig.hook()
    reply = await rig.send(request("POST", path, b"{}", {**JSON, "Host": "tocsin"}), over=rig.socket)
    assert reply.document["status_url"] == f"/api/events/{reply.document['event_id']}"


async def test_a_database_that_does_not_answer_is_503_without_its_cause_and_logged_with_it(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    await rig.store.write(lambda tx: tx._connection.execute("DROP TABLE tokens").rowcount)
    reply = await rig.post("/api/triggers/x", b"{}", JSON)
    assert reply.error == (503, "unavailable")
    assert "tokens" not in reply.document["message"]
    assert "no such table: tokens" in caplog.text
    assert (await rig.get("/api/health")).status == 200
