"""Webhooks against an engine of its own process: what a sender is told, and what a person sees then."""

from __future__ import annotations

import json
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Home
from tests.cli.conftest import running
from tocsin.presets import PRESETS
from tocsin.signature import sign

KEY_A, KEY_B = "shared-key-A7", "shared-key-B9"
S1 = "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u"
CONFIG = """
[engine]
port = 0
[workflows.hello]
command = ["sh", "-c", 'echo "{\\"greeting\\": \\"hi\\"}" >> "$TOCSIN_OUTPUT"']
[workflows.fails]
command = ["sh", "-c", "exit 3"]
[workflows.missing]
command = ["no-such-program-of-ours"]
[workflows.slow]
command = ["sleep", "30"]

[defaults]
max_attempts = 1
[triggers.hello]
workflow = "hello"
webhook = {}
dedupe = { header = "X-Delivery" }
[triggers.fails]
workflow = "fails"
webhook = {}
[triggers.missing]
workflow = "missing"
webhook = {}
[triggers.slow]
workflow = "slow"
webhook = {}

[sources.partner]
webhook = { secret = "env:PARTNER" }
[triggers.one]
workflow = "hello"
source = "partner"
[triggers.two]
workflow = "hello"
source = "partner"

[connections.shop-a]
provider = "shopify"
account = "a.example"
webhook_secret = "env:SHOP_A"
[connections.shop-b]
provider = "shopify"
account = "b.example"
webhook_secret = "env:SHOP_B"
[sources.shop]
shared = { use = "shopify", connections = ["shop-a", "shop-b"] }
[triggers.orders]
workflow = "hello"
source = "shop"
"""


@dataclass(frozen=True, kw_only=True)
class Told:
    """An answer."""

    status: int
    headers: Mapping[str, str]
    document: Any


@pytest.fixture(scope="module")
def posting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    path = tmp_path_factory.mktemp("posting") / "home"
    home = Home(path=path, environ={"PARTNER": S1, "SHOP_A": KEY_A, "SHOP_B": KEY_B})
    path.mkdir(mode=0o700)
    home.config.write_text(CONFIG)
    with running(home):
        yield home


def post(address: str, body: bytes = b"{}", headers: Mapping[str, str] | None = None) -> Told:
    sent = {"Content-Type": "application/json", **(headers or {})}
    try:
        with urllib.request.urlopen(urllib.request.Request(address, body, sent), timeout=20) as answer:
            return Told(status=answer.status, headers=dict(answer.headers), document=json.load(answer))
    except urllib.error.HTTPError as error:
        with error:
            return Told(status=error.code, headers=dict(error.headers), document=json.load(error))


def to_trigger(home: Home, name: str, headers: Mapping[str, str] | None = None) -> Told:
    return post(home.ok("url", name).out.strip(), headers=headers)


def base(home: Home) -> str:
    return str(home.ok("status", "--json").json["engine"]["url"])


def installation(path: Path, name: str) -> str:
    with sqlite3.connect(path / "tocsin.db") as database:
        (id_,) = database.execute("SELECT id FROM installations WHERE name = ?", (name,)).fetchone()
    database.close()
    return str(id_)


def test_a_caller_that_waits_gets_the_result(posting: Home) -> None:
    told = to_trigger(posting, "hello", {"Prefer": "wait=15", "X-Delivery": "w-1"})
    assert (told.status, told.headers["Preference-Applied"]) == (200, "wait")
    assert told.document["state"] == "succeeded"
    assert told.document["result"] == {"greeting": "hi"}
    assert (told.document["exit_code"], told.document["error"]) == (0, None)
    assert told.document["run_id"].startswith("run_")
    again = to_trigger(posting, "hello", {"Prefer": "wait=15", "X-Delivery": "w-1"})
    assert (again.status, again.document["error"]) == (409, "duplicate")
    assert again.document["run_id"] == told.document["run_id"]


def test_a_caller_that_waits_for_a_failure_is_told_of_it(posting: Home) -> None:
    told = to_trigger(posting, "fails", {"Prefer": "wait=15"})
    assert (told.status, told.document["state"], told.document["exit_code"]) == (200, "failed", 3)


def test_wh_31_a_command_that_is_not_there_is_a_failure_that_can_be_seen(posting: Home) -> None:
    told = to_trigger(posting, "missing", {"Prefer": "wait=5"})
    assert (told.status, told.document["state"]) == (200, "failed")
    assert "command not found: no-such-program-of-ours" in told.document["error"]
    failing = {row["name"]: row["last_error"] for row in posting.ok("list", "--failing", "--json").json}
    assert "command not found" in failing["missing"]


def test_a_run_that_takes_longer_is_answered_202_and_goes_on(posting: Home) -> None:
    told = to_trigger(posting, "slow", {"Prefer": "wait=1"})
    assert told.status == 202
    assert posting.ok("event", told.document["event_id"], "--json").json["state"] == "claimed"
    posting.ok("cancel", told.document["event_id"])


def test_one_signed_delivery_runs_every_trigger_of_its_source(posting: Home) -> None:
    address = f"{base(posting)}/trigger/instance/{installation(posting.path, 'partner')}"
    scheme, body = PRESETS["standard-webhooks"], b'{"type": "ping"}'
    headers = sign(scheme, body, S1, delivery_id="msg_1", now=datetime.now(UTC))  # noqa: TID251 - real clock
    assert post(address, body).status == 401
    told = post(address, body, {**headers, "Prefer": "wait=15"})
    assert told.status == 200
    assert [one["state"] for one in told.document["events"]] == ["succeeded", "succeeded"]
    assert post(address, body, headers).status == 200


def test_a_shared_delivery_is_attributed_and_a_stranger_is_kept_out(posting: Home) -> None:
    address, scheme = f"{base(posting)}/app-webhook/shopify", PRESETS["shopify"]
    now = datetime.now(UTC)  # noqa: TID251 - real clock
    headers = sign(scheme, b"{}", KEY_B, delivery_id="", now=now)
    shop = {"X-Shopify-Shop-Domain": "b.example", "X-Shopify-Event-Id": "e-1", "Prefer": "wait=15"}
    told = post(address, b"{}", {**headers, **shop})
    assert (told.status, told.document["state"]) == (200, "succeeded")
    envelope = posting.ok("event", told.document["event_id"], "--json").json["envelope"]
    assert (envelope["connection_id"], envelope["provider"], envelope["mode"]) == (
        "shop-b",
        "shopify",
        "shared",
    )
    forged = post(address, b"{}", {**headers, "X-Shopify-Shop-Domain": "a.example"})
    assert forged.status == 401
    kept = posting.ok("quarantine", "list", "--json").json
    assert kept[0]["reason"] == "failed_verification"


def test_no_secret_is_on_disk(posting: Home) -> None:
    to_trigger(posting, "hello", {"Authorization": "Bearer sesame-1", "X-Api-Key": "sesame-2"})
    files = [file for file in posting.path.rglob("*") if file.is_file() and file.name != "secrets.toml"]
    for secret in (b"sesame", KEY_A.encode(), KEY_B.encode(), S1.encode()):
        assert not [file for file in files if secret in file.read_bytes()]
