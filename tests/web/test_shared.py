"""`POST /app-webhook/{provider}`: whose delivery it is, and what becomes of it when nobody can tell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.web.rig import JSON, Reply, Rig
from tests.web.signing import A, B, headers_of, signed
from tocsin.quarantine import Kept, Reason
from tocsin.web.strays import MAX_TAKERS

SHOPS = [
    {"name": "shop-a", "account": "a.example", "secrets": ["env:A"]},
    {"name": "shop-b", "account": "B.example", "secrets": ["env:B"]},
]
BODY = b'{"order": 1}'


@pytest.fixture
async def path(rig: Rig) -> str:
    """Shopify for two shops, each with a secret of its own."""
    rig.environ |= {"A": A, "B": B}
    return await rig.shared("shopify", "orders", "stock", **shops(SHOPS))


def shops(connections: list[dict[str, Any]], preset: str = "shopify") -> dict[str, Any]:
    return signed(preset) | {"secrets": [], "connections": connections}


async def from_shop(
    rig: Rig, path: str, secret: str, domain: str | None, *, id_: str = "w-1", body: bytes = BODY
) -> Reply:
    headers = headers_of(rig, "shopify", body, secret, delivery_id=id_, event_type="orders/create")
    shop = {} if domain is None else {"X-Shopify-Shop-Domain": domain}
    return await rig.post(path, body, {**headers, **shop})


async def stray_of(rig: Rig, reply: Reply) -> Kept:
    """What was kept and answered for, with no event beside it."""
    [kept] = await rig.strays()
    assert await rig.events() == []
    if reply.status == 202:
        assert reply.document == {"quarantine_id": kept.id, "reason": kept.stray.reason}
    return kept


@pytest.mark.parametrize(
    ("secret", "domain", "name"),
    [
        (A, "a.example", "shop-a"),
        (B, "b.example", "shop-b"),
        (B, None, "shop-b"),
        (A, " A.EXAMPLE ", "shop-a"),
    ],
)
async def test_the_account_that_is_named_chooses_the_secret(
    rig: Rig, path: str, secret: str, domain: str | None, name: str
) -> None:
    reply = await from_shop(rig, path, secret, domain)
    assert reply.status == 202
    assert len(reply.document["events"]) == 2
    envelope = await rig.envelope(reply.document["events"][0]["event_id"])
    told = {key: envelope[key] for key in ("connection_id", "provider", "mode", "event_type", "delivery_id")}
    assert told == {
        "connection_id": name,
        "provider": "shopify",
        "mode": "shared",
        "event_type": "orders/create",
        "delivery_id": "w-1",
    }


async def test_the_secret_of_one_account_says_nothing_for_another(rig: Rig, path: str) -> None:
    assert (await from_shop(rig, path, B, "a.example")).error == (401, "bad_signature")
    kept = (await rig.strays())[0]
    assert kept.stray.reason is Reason.FAILED_VERIFICATION
    assert (kept.stray.route, kept.stray.provider) == ("/app-webhook/shopify", "shopify")
    assert (kept.stray.delivery_id, kept.stray.payload) == (kept.id, None)


async def test_an_account_that_no_connection_is_for_is_kept_when_somebody_vouches_for_it(
    rig: Rig, path: str
) -> None:
    assert (await from_shop(rig, path, "stranger", "c.example")).error == (401, "bad_signature")
    [_] = await rig.strays()
    reply = await from_shop(rig, path, A, "c.example")
    assert (reply.status, reply.document["reason"]) == (202, "missing_subscription")
    kept = (await rig.strays())[0]
    assert kept.stray.detail == "no connection is for the account 'c.example'"
    assert (kept.stray.event_type, kept.stray.delivery_id) == ("orders/create", "w-1")
    assert kept.stray.connection is None


async def test_two_connections_that_fit_are_one_too_many(rig: Rig) -> None:
    rig.environ["A"] = A
    both = [{"name": name, "account": None, "secrets": ["env:A"]} for name in ("one", "two")]
    path = await rig.shared("shopify", **shops(both))
    kept = await stray_of(rig, await from_shop(rig, path, A, None))
    assert kept.stray.reason is Reason.AMBIGUOUS_ATTRIBUTION
    assert kept.stray.detail == "the secrets of one, two fit"


async def test_a_connection_without_an_account_is_for_those_that_no_other_is_for(rig: Rig) -> None:
    rig.environ |= {"A": A, "B": B}
    path = await rig.shared(
        "shopify", **shops([SHOPS[0], {"name": "rest", "account": None, "secrets": ["env:B"]}])
    )
    reply = await from_shop(rig, path, B, "c.example")
    envelope = await rig.envelope(reply.document["event_id"])
    assert envelope["connection_id"] == "rest"
    assert (await from_shop(rig, path, B, "a.example", id_="w-2")).status == 401


async def test_a_secret_that_is_not_to_be_had_stops_only_its_own_account(rig: Rig, path: str) -> None:
    del rig.environ["B"]
    assert (await from_shop(rig, path, A, "a.example")).status == 202
    assert (await from_shop(rig, path, A, None, id_="w-2")).status == 202
    assert (await from_shop(rig, path, B, "b.example")).error == (503, "unavailable")
    assert (await from_shop(rig, path, "stranger", None)).error == (503, "unavailable")


async def test_an_unknown_provider_is_404(rig: Rig, path: str) -> None:
    for provider in ("github", "Shopify", "shopify2", "%00", "x" * 300):
        assert (await rig.post(f"/app-webhook/{provider}", BODY, JSON)).error == (404, "not_found")
    assert (await rig.post("/app-webhook/", BODY, JSON)).error == (404, "not_found")


async def test_without_a_trigger_it_is_kept_and_with_all_of_them_off_it_is_410(rig: Rig, path: str) -> None:
    await rig.controls.disable(["orders", "stock"], tag=None)
    assert (await from_shop(rig, path, A, "a.example")).error == (410, "gone")
    assert (await from_shop(rig, path, B, "a.example")).error == (401, "bad_signature")
    await rig.controls.remove(["orders", "stock"], tag=None)
    reply = await from_shop(rig, path, A, "a.example")
    assert (reply.status, reply.document["reason"]) == (202, "missing_subscription")
    assert (await rig.strays())[0].stray.connection == "shop-a"


async def test_two_sources_of_a_provider_each_get_what_is_theirs(rig: Rig, path: str) -> None:
    await rig.shared("shopify", "other", source="only-b", **shops(SHOPS[1:]))
    await from_shop(rig, path, A, "a.example")
    assert {event.registration for event in await rig.events()} == {"orders", "stock"}
    reply = await from_shop(rig, path, B, "b.example", id_="w-2")
    assert len(reply.document["events"]) == 3
    assert (await from_shop(rig, path, B, "b.example", id_="w-2")).status == 200


async def test_more_triggers_than_one_delivery_may_start_are_an_overflow(rig: Rig) -> None:
    rig.environ["A"] = A
    names = [f"t{number}" for number in range(MAX_TAKERS)]
    path = await rig.shared("shopify", *names, **shops(SHOPS[:1]))
    assert (await from_shop(rig, path, A, "a.example")).status == 202
    assert len(await rig.events()) == MAX_TAKERS
    await rig.shared("shopify", "one-more", **shops(SHOPS[:1]))
    reply = await from_shop(rig, path, A, "a.example", id_="w-2")
    assert (reply.status, reply.document["reason"]) == (202, "overflow")
    assert len(await rig.events()) == MAX_TAKERS


@pytest.mark.parametrize(
    ("provider", "payload"),
    [
        ("github", {"repository": {"owner": {"login": "octo-org"}}}),
        ("github", {"organization": {"login": "Octo-Org"}, "repository": {"owner": {"login": "other"}}}),
        ("stripe", {"id": "evt_1", "account": "octo-org"}),
        ("slack", {"event_id": "Ev1", "team_id": "octo-org"}),
    ],
)
async def test_other_providers_name_the_account_in_the_payload(
    rig: Rig, provider: str, payload: dict[str, Any]
) -> None:
    rig.environ |= {"A": A, "B": B}
    connections = [
        {"name": "ours", "account": "octo-org", "secrets": ["env:A"]},
        {"name": "theirs", "account": "other", "secrets": ["env:B"]},
    ]
    path = await rig.shared(provider, **shops(connections, provider))
    body = json.dumps(payload).encode()
    assert (await rig.post(path, body, headers_of(rig, provider, body, B, delivery_id="d"))).status == 401
    reply = await rig.post(path, body, headers_of(rig, provider, body, A, delivery_id="d"))
    assert (await rig.envelope(reply.document["event_id"]))["connection_id"] == "ours"


async def test_the_same_id_from_another_account_is_another_delivery_where_senders_choose_ids(
    rig: Rig,
) -> None:
    rig.environ |= {"A": A, "B": B}
    path = await rig.shared("gitlab", **shops(SHOPS, "gitlab"))
    for secret in (A, B):
        headers = headers_of(rig, "gitlab", BODY, secret, delivery_id="1")
        assert (await rig.post(path, BODY, headers)).status == 202
        assert (await rig.post(path, BODY, headers)).status == 200
    assert {event.delivery_id for event in await rig.events()} == {"shop-a:1", "shop-b:1"}


async def test_a_replay_from_the_quarantine_is_as_it_would_have_been(rig: Rig, path: str) -> None:
    await rig.controls.remove(["orders", "stock"], tag=None)
    kept = (await from_shop(rig, path, A, "a.example")).document["quarantine_id"]
    await rig.shared("shopify", "late", **shops(SHOPS))
    [done] = await rig.controls.quarantine.replay([kept], vouched=False)
    [decision] = done.decisions
    assert decision.answer == "accepted"
    envelope = await rig.envelope(str(decision.event_id))
    told = {key: envelope[key] for key in ("connection_id", "provider", "mode", "event_type", "raw_payload")}
    assert told == {
        "connection_id": "shop-a",
        "provider": "shopify",
        "mode": "shared",
        "event_type": "orders/create",
        "raw_payload": {"order": 1},
    }
    again = await from_shop(rig, path, A, "a.example")
    assert (again.status, again.document["event_id"]) == (200, decision.event_id)


async def test_what_is_replayed_is_known_again_by_the_ids_of_its_account(rig: Rig) -> None:
    rig.environ |= {"A": A, "B": B}
    path = await rig.shared("gitlab", **shops(SHOPS, "gitlab"))
    await rig.controls.remove(["hook"], tag=None)
    headers = headers_of(rig, "gitlab", BODY, A, delivery_id="1")
    kept = (await rig.post(path, BODY, headers)).document["quarantine_id"]
    await rig.shared("gitlab", "late", **shops(SHOPS, "gitlab"))
    await rig.controls.quarantine.replay([kept], vouched=False)
    assert (await rig.post(path, BODY, headers)).status == 200


async def test_triggers_that_are_off_are_not_counted_against_the_most(rig: Rig) -> None:
    rig.environ["A"] = A
    names = [f"t{number}" for number in range(MAX_TAKERS + 1)]
    path = await rig.shared("shopify", *names, **shops(SHOPS[:1]))
    await rig.controls.disable(names[1:], tag=None)
    assert (await from_shop(rig, path, A, "a.example")).status == 202
    assert [event.registration for event in await rig.events()] == ["t0"]
