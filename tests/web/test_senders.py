"""Signed deliveries on the wire: who gets in, what is said to whom does not, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from tests.web.rig import Rig
from tocsin.presets import GITHUB, PRESETS, SLACK, STANDARD
from tocsin.signature import Scheme, sign
from tocsin.store import quarantine
from tocsin.trigger import Json

A, B = "shared-key-A7", "shared-key-B9"
S1 = "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u"
BODY = b'{"event":"build.done","id":"d7","type":"push"}'


async def signed_hook(rig: Rig, scheme: Scheme = GITHUB, *references: str, **props: Json) -> str:
    rig.environ |= {"KEY": A, "OTHER": B, "STANDARD": S1}
    return await rig.signed(scheme.document(), list(references or ("env:KEY",)), **props)


def headers(
    rig: Rig,
    scheme: Scheme = GITHUB,
    body: bytes = BODY,
    secret: str = A,
    more: Mapping[str, str] | None = None,
) -> dict[str, str]:
    made = sign(scheme, body, secret, delivery_id="d7", now=rig.clock.now())
    return {**made, "Content-Type": "application/json", **(more or {})}


async def strays(rig: Rig) -> list[Any]:
    return list(await rig.store.read(lambda tx: quarantine.listed(tx, standing=None, reason=None, limit=100)))


@pytest.mark.parametrize("scheme", PRESETS.values(), ids=PRESETS)
async def test_every_presets_delivery_is_taken_once(rig: Rig, scheme: Scheme) -> None:
    secret = S1 if scheme is STANDARD else A
    path = await signed_hook(rig, scheme, "env:STANDARD" if scheme is STANDARD else "env:KEY")
    for status in (202, 200):
        reply = await rig.post(path, BODY, headers(rig, scheme, secret=secret))
        assert reply.status == status
    other = "whsec_AAAA" if scheme is STANDARD else B
    wrong = await rig.post(path, BODY, headers(rig, scheme, secret=other))
    assert wrong.error == (401, "bad_signature")


async def test_ids_and_types_are_taken_where_the_sender_puts_them(rig: Rig) -> None:
    path = await signed_hook(rig)
    more = {"X-GitHub-Delivery": "72d3162e", "X-GitHub-Event": "push"}
    reply = await rig.post(path, BODY, headers(rig, more=more))
    assert "dedupe" not in reply.document
    (event,) = await rig.events()
    assert event.delivery_id == "72d3162e"
    assert (await rig.envelope(event.id))["event_type"] == "push"


async def test_a_changed_byte_is_refused_and_kept_for_a_look(rig: Rig) -> None:
    path = await signed_hook(rig)
    reply = await rig.post(path, BODY + b" ", headers(rig))
    assert reply.error == (401, "bad_signature")
    assert await rig.events() == []
    (kept,) = await strays(rig)
    assert (kept.stray.reason, kept.size) == ("failed_verification", len(BODY) + 1)
    assert not any("signature" in name for name in kept.stray.headers)


async def test_an_id_is_not_burnt_by_a_bad_signature(rig: Rig) -> None:  # WH-25
    path = await signed_hook(rig)
    ids = {"X-GitHub-Delivery": "msg_x"}
    assert (await rig.post(path, BODY, headers(rig, secret=B, more=ids))).status == 401
    assert (await rig.post(path, BODY, headers(rig, more=ids))).status == 202
    assert len(await rig.events()) == 1


async def test_either_secret_is_good_while_one_replaces_the_other(rig: Rig) -> None:
    path = await signed_hook(rig, GITHUB, "env:KEY", "env:OTHER")
    for secret in (A, B):
        assert (await rig.post(path, BODY, headers(rig, secret=secret))).status in (200, 202)


async def test_an_old_timestamp_is_told_apart(rig: Rig) -> None:
    path = await signed_hook(rig, STANDARD, "env:STANDARD")
    old = headers(rig, STANDARD, secret=S1)
    rig.clock.advance(timedelta(minutes=6))
    assert (await rig.post(path, BODY, old)).error == (400, "stale_timestamp")


async def test_the_signed_time_is_when_it_occurred(rig: Rig) -> None:
    path = await signed_hook(rig, STANDARD, "env:STANDARD")
    sent = headers(rig, STANDARD, secret=S1)
    rig.clock.advance(timedelta(minutes=3))
    await rig.post(path, BODY, sent)
    (event,) = await rig.events()
    assert event.occurred_at == rig.clock.now() - timedelta(minutes=3)


async def test_the_signature_comes_before_the_state_of_the_trigger(rig: Rig) -> None:
    """A stranger cannot learn that it is off."""
    path = await signed_hook(rig)
    await rig.controls.disable(["hook"], tag=None)
    assert (await rig.post(path, BODY, headers(rig, secret=B))).error == (401, "bad_signature")
    assert (await rig.post(path, BODY, headers(rig))).error == (410, "gone")


async def test_a_secret_that_cannot_be_had_is_no_reason_to_let_it_in_or_lose_it(rig: Rig) -> None:
    path = await signed_hook(rig, GITHUB, "env:NOBODY")
    reply = await rig.post(path, BODY, headers(rig))
    assert reply.error == (503, "unavailable")
    assert "NOBODY" not in str(reply.document)
    rig.environ["NOBODY"] = A
    assert (await rig.post(path, BODY, headers(rig))).status == 202


async def test_slacks_challenge_is_answered_once_it_is_verified(rig: Rig) -> None:
    path = await signed_hook(rig, SLACK)
    body = b'{"type":"url_verification","challenge":"3eZbrw1aB","token":"x"}'
    reply = await rig.post(path, body, headers(rig, SLACK, body))
    assert (reply.status, reply.document) == (200, {"challenge": "3eZbrw1aB"})
    assert (await rig.post(path, body, headers(rig, SLACK, body, B))).status == 401
    assert await rig.events() == []


async def test_other_types_than_those_wanted_are_filtered(rig: Rig) -> None:
    path = await signed_hook(rig, events=["issues"])
    reply = await rig.post(path, BODY, headers(rig, more={"X-GitHub-Event": "push"}))
    assert (reply.status, reply.document) == (200, {"filtered": True})
    assert (await rig.post(path, BODY, headers(rig, more={"X-GitHub-Event": "issues"}))).status == 202


async def test_one_too_many_leaves_no_trace_and_is_taken_later(rig: Rig) -> None:
    path = await signed_hook(rig, rate={"count": 1, "per_ms": 60_000})
    first, second = {"X-GitHub-Delivery": "1"}, {"X-GitHub-Delivery": "2"}
    assert (await rig.post(path, BODY, headers(rig, more=first))).status == 202
    limited = await rig.post(path, BODY, headers(rig, more=second))
    assert limited.error == (429, "rate_limited")
    assert limited.headers["retry-after"] == "60"
    rig.clock.advance(60)
    assert (await rig.post(path, BODY, headers(rig, more=second))).status == 202


async def test_no_secret_is_found_anywhere(rig: Rig) -> None:
    path = await signed_hook(rig)
    secret = {"Authorization": "Bearer sesame-1", "X-Api-Key": "sesame-2", "Cookie": "s=sesame-3"}
    sent = headers(rig, more=secret)
    await rig.post(f"{path}?token=sesame-4&sig=sesame-5", BODY, sent)
    await rig.post(f"{path}?token=sesame-4", BODY + b" ", sent)
    found = b"".join(file.read_bytes() for file in rig.home.rglob("*") if file.is_file())
    assert b"sesame" not in found
    assert A.encode() not in found
