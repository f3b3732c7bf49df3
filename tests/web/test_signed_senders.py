"""Signed deliveries: secrets, ids, types, challenges, and that nothing secret stays behind."""

from __future__ import annotations

import asyncio

import pytest

from tests.web.rig import JSON, Reply, Rig
from tests.web.signing import AT, B1, S1, A, B, headers_of, hub, set_clock, signed
from tests.web.test_signed import BY_S1, standard_headers
from tocsin.quarantine import Reason


@pytest.fixture
async def path(rig: Rig) -> str:
    """A trigger with github's preset and the key A."""
    rig.environ["A"] = A
    return await rig.hook(**signed("github"))


@pytest.fixture
async def standard(rig: Rig) -> str:
    """A trigger with the preset of Standard Webhooks and the key S1."""
    rig.environ["A"] = S1
    set_clock(rig)
    return await rig.hook(**signed("standard-webhooks"))


async def refused(rig: Rig, reply: Reply) -> None:
    """401, kept for a person, and nothing that runs."""
    assert reply.error == (401, "bad_signature")
    assert await rig.events() == []
    assert (await rig.strays())[0].stray.reason is Reason.FAILED_VERIFICATION


async def test_while_a_secret_rotates_both_are_taken(rig: Rig) -> None:
    rig.environ |= {"NEW": B, "OLD": A}
    path = await rig.hook(**signed("github", "env:NEW", "env:OLD"))
    for body, key, status in ((b"1", A, 202), (b"2", B, 202), (b"3", "other", 401)):
        assert (await rig.post(path, body, {**JSON, **hub(body, key)})).status == status


async def test_a_secret_that_is_not_to_be_had_is_503_whoever_asks(rig: Rig) -> None:
    path = await rig.hook(**signed("github", "env:GONE"))
    for headers in (JSON, {**JSON, **hub(B1)}):
        reply = await rig.post(path, B1, headers)
        assert reply.error == (503, "unavailable")
        assert "retry-after" in reply.headers
    assert await rig.strays() == []


async def test_a_stranger_does_not_learn_whether_a_trigger_is_on(rig: Rig) -> None:
    rig.environ["A"] = A
    paths = {name: await rig.hook(name, **signed("github")) for name in ("on", "off", "paused", "gone")}
    await rig.controls.disable(["off"], tag=None)
    await rig.controls.pauses.pause(["paused"], tag=None, everything=False, until=None)
    await rig.controls.remove(["gone"], tag=None)
    rejected = {name: (await rig.post(path, B1, JSON)).document for name, path in paths.items()}
    assert len({repr(document) for document in rejected.values()}) == 1
    proven = {name: (await rig.post(path, B1, {**JSON, **hub(B1)})).status for name, path in paths.items()}
    assert proven == {"on": 202, "off": 410, "paused": 503, "gone": 410}


async def test_slack_is_told_its_challenge_once_it_is_known_to_be_slack(rig: Rig) -> None:
    rig.environ["A"] = A
    path, body = await rig.hook(**signed("slack")), b'{"type":"url_verification","challenge":"c-1"}'
    headers = headers_of(rig, "slack", body, A, delivery_id="")
    assert (await rig.post(path, body, {**headers, "X-Slack-Signature": "v0=00"})).status == 401
    reply = await rig.post(path, body, headers)
    assert (reply.status, reply.document) == (200, {"challenge": "c-1"})
    assert await rig.events() == []


async def test_slack_sends_forms_too(rig: Rig) -> None:
    rig.environ["A"] = A
    body = b"command=%2Fdeploy&text=now"
    headers = headers_of(rig, "slack", body, A, delivery_id="")
    form = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    reply = await rig.post(await rig.hook(**signed("slack")), body, form)
    assert await rig.payload(reply) == {"command": "/deploy", "text": "now"}


DESCRIBED = [
    ("github", b"{}", "d-1", "push", "d-1", "push"),
    ("gitlab", b"{}", "d-1", "Push Hook", "d-1", "Push Hook"),
    ("shopify", b"{}", "d-1", "orders/create", "d-1", "orders/create"),
    ("standard-webhooks", b'{"type": "user.created"}', "d-1", None, "d-1", "user.created"),
    ("stripe", b'{"id": "evt_1", "type": "charge.failed"}', "", None, "evt_1", "charge.failed"),
    ("slack", b'{"event_id": "Ev1", "event": {"type": "message"}}', "", None, "Ev1", "message"),
]


@pytest.mark.parametrize(("preset", "body", "sent", "type_", "id_", "event_type"), DESCRIBED)
async def test_a_preset_says_where_id_and_type_are(
    rig: Rig, preset: str, body: bytes, sent: str, type_: str | None, id_: str, event_type: str
) -> None:
    rig.environ["A"] = S1
    headers = headers_of(rig, preset, body, S1, delivery_id=sent, event_type=type_)
    path = await rig.hook(**signed(preset))
    reply = await rig.post(path, body, headers)
    envelope = await rig.envelope(reply.document["event_id"])
    told = {key: envelope[key] for key in ("delivery_id", "event_type", "provider", "mode")}
    assert told == {"delivery_id": id_, "event_type": event_type, "provider": preset, "mode": "token"}
    assert "dedupe" not in reply.document
    again = await rig.post(path, body, headers)
    assert (again.status, again.document["event_id"]) == (200, reply.document["event_id"])


async def test_the_time_that_was_signed_is_when_it_occurred(rig: Rig, standard: str) -> None:
    set_clock(rig, AT + 60)
    reply = await rig.post(standard, B1, standard_headers(BY_S1))
    envelope = await rig.envelope(reply.document["event_id"])
    assert envelope["occurred_at"] == "2023-11-14T22:13:20Z"
    assert envelope["received_at"] == "2023-11-14T22:14:20Z"


async def test_a_type_that_does_not_count_is_filtered(rig: Rig) -> None:
    rig.environ["A"] = A
    path = await rig.hook(events=["issue_comment"], **signed("github"))
    for type_, status in (("push", 200), (None, 200), ("issue_comment", 202)):
        headers = headers_of(rig, "github", B1, A, delivery_id=f"d-{type_}", event_type=type_)
        reply = await rig.post(path, B1, headers)
        assert reply.status == status
        assert reply.document.get("filtered", False) is (status == 200)
    assert len(await rig.events()) == 1


async def test_a_hundred_of_one_delivery_make_one_event(rig: Rig, standard: str) -> None:
    headers = standard_headers(BY_S1)
    replies = await asyncio.gather(*(rig.post(standard, B1, headers) for _ in range(100)))
    assert sorted(reply.status for reply in replies) == [200] * 99 + [202]
    assert len({reply.document["event_id"] for reply in replies}) == 1
    assert len(await rig.events()) == 1


async def test_no_secret_is_left_anywhere_in_the_home(rig: Rig) -> None:
    rig.environ["A"] = "sesame-open-7"
    path = f"{await rig.hook(**signed('gitlab'))}?api_key=sesame-in-query&token=sesame-too"
    headers = {
        **JSON,
        "X-Gitlab-Token": "sesame-open-7",
        "Authorization": "Bearer sesame-b",
        "Cookie": "s=sesame-c",
    }
    assert (await rig.post(path, B1, headers)).status == 202
    assert (await rig.post(path, B1, {**headers, "X-Gitlab-Token": "sesame-wrong"})).status == 401
    assert (await rig.post(path, b"{", headers)).status == 400
    assert len(await rig.strays()) == 1
    for file in rig.home.rglob("*"):
        assert not file.is_file() or b"sesame" not in file.read_bytes(), file
