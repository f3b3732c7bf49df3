"""Signed webhooks with a real engine and real clients: `tocsin send`, curl, Standard Webhooks, openssl."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from tests.crash.rig import Home, until

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u"
CONFIG = """
[workflows.quick]
command = ["true"]
[sources.partner]
webhook = { secret = "store:partner" }
[connections.a]
provider = "shopify"
account = "a.example"
webhook_secret = "store:shop"
[sources.shop]
shared = { use = "shopify", connections = ["a"] }

[triggers.github]
workflow = "quick"
webhook = { preset = "github", secret = "store:github" }
[triggers.slack]
workflow = "quick"
webhook = { preset = "slack", secret = "store:github" }
[triggers.one]
workflow = "quick"
source = "partner"
[triggers.two]
workflow = "quick"
source = "partner"
filter = 'event.raw_payload.kind == "second"'
[triggers.order]
workflow = "quick"
source = "shop"
[triggers.plain]
workflow = "quick"
webhook = {}
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home", CONFIG)
    for name, value in (("partner", SECRET), ("github", "key"), ("shop", "shop-key")):
        assert home.tocsin("secret", "set", name, stdin=value).returncode == 0
    home.up()
    yield home
    home.end()


def address(home: Home, name: str) -> str:
    return home.tocsin("url", name).stdout.strip()


def sent(home: Home, *arguments: str) -> tuple[int, Any]:
    """(exit code, document) of `tocsin send`."""
    done = home.tocsin("send", *arguments, "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.mark.parametrize("name", ["github", "slack", "plain", "shop"])
def test_a_test_delivery_is_taken(home: Home, name: str) -> None:
    code, told = sent(home, name, "--payload", '{"id": 1}', "--event", "push", "--id", "d1")
    assert (code, told["status"]) == (0, 202)
    until(lambda: home.states() == {"succeeded": 1}, "it has run")


def test_a_sources_delivery_goes_to_each_by_its_own_filter(home: Home) -> None:
    _, told = sent(home, "partner", "--payload", '{"kind": "first"}')
    assert [set(one) & {"event_id", "filtered"} for one in told["answer"]["events"]] == [
        {"event_id"},
        {"filtered"},
    ]
    _, told = sent(home, "partner", "--payload", '{"kind": "second"}')
    assert all("event_id" in one for one in told["answer"]["events"])


def test_a_wrong_preset_is_refused_with_exit_6(home: Home) -> None:
    code, told = sent(home, "github", "--preset", "shopify")
    assert (code, told["status"], told["answer"]["error"]) == (6, 401, "bad_signature")
    (kept,) = home.json("quarantine", "list")
    assert (kept["reason"], kept["registration"], kept["state"]) == (
        "failed_verification",
        "github",
        "waiting",
    )


def test_without_an_engine_it_says_so(home: Home) -> None:
    home.interrupt()
    done = home.tocsin("send", "github")
    assert (done.returncode, "tocsin up" in done.stderr) == (5, True)


def test_the_reference_library_delivers(home: Home) -> None:
    body = '{"kind": "first"}'
    now = datetime.fromtimestamp(int(time.time()), UTC)  # noqa: TID251 - the engine's clock is this one
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(SECRET).sign("msg_1", now, body),
        "content-type": "application/json",
    }
    url = address(home, "partner")
    assert post(url, body.encode(), headers)[0] == 202
    assert post(url, body.encode(), headers)[0] == 200
    assert post(url, body.encode() + b" ", headers)[1]["error"] == "bad_signature"


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_curl_and_openssl_deliver(home: Home) -> None:
    body = '{"action": "opened"}'
    script = (
        'sig=$(printf %s "$2" | openssl dgst -sha256 -hmac key -r | cut -d" " -f1); '
        'curl -s -o /dev/null -w "%{http_code}" -H "X-Hub-Signature-256: sha256=$sig" '
        '-H "Content-Type: application/json" -H "X-GitHub-Delivery: c1" --data-binary "$3" "$1"'
    )
    url = address(home, "github")

    def status(wanted: str) -> str:
        done = subprocess.run(
            ["sh", "-c", script, "sh", url, body, wanted], capture_output=True, text=True, check=True
        )
        return done.stdout

    assert (status(body), status(body), status(body + " ")) == ("202", "200", "401")


def test_waiting_for_the_result(home: Home) -> None:
    status, told = post(
        address(home, "plain"), b"{}", {"Prefer": "wait=20", "Content-Type": "application/json"}
    )
    assert (status, told["state"], told["exit_code"]) == (200, "succeeded", 0)
