"""Signed webhooks over the wire: the vectors WH-01 to WH-31 of CASES, and what each answer keeps."""

from __future__ import annotations

import base64
import gzip
import hashlib
import hmac
import json
import time
from itertools import permutations

import pytest

from tests.web.rig import JSON, Reply, Rig, parsed, request
from tests.web.signing import AT, B1, S1, S2, A, B, hub, set_clock, signed
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


async def test_wh_01_the_published_vector_of_github(rig: Rig) -> None:
    rig.environ["A"] = "It's a Secret to Everybody"
    path, good = (
        await rig.hook(**signed("github")),
        "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    )
    headers = {"Content-Type": "text/plain"}
    wrong = {**headers, "X-Hub-Signature-256": f"sha256={good[:-1]}8"}
    await refused(rig, await rig.post(path, b"Hello, World!", wrong))
    right = {**headers, "X-Hub-Signature-256": f"sha256={good}"}
    reply = await rig.post(path, b"Hello, World!", right)
    assert await rig.payload(reply) == {"raw_base64": base64.b64encode(b"Hello, World!").decode()}


async def test_wh_03_the_signature_is_over_the_bytes_and_not_over_their_meaning(rig: Rig, path: str) -> None:
    body = b'{"text":"\\u001B[31mred","a": 1.0,  "b":1e2}\n'
    digest = "3df7e9e78bf01ab5765716bc62e40fc537a7996833bf8f84b666e5590b3f1f9c"
    await refused(rig, await rig.post(path, body, {**JSON, "X-Hub-Signature-256": f"sha256={digest}"}))
    digest = "32147c458210ccdfe4b213e4c1b5d6bae5cade2d9352f2e44407546f4390ada2"
    reply = await rig.post(path, body, {**JSON, "X-Hub-Signature-256": f"sha256={digest}"})
    assert await rig.payload(reply) == {"text": "\x1b[31mred", "a": 1.0, "b": 100.0}


SHA1 = hmac.new(A.encode(), B1, hashlib.sha1).hexdigest()
UNSIGNED = [
    "",
    " ",
    "sha256=",
    f"sha1={SHA1}",
    hub(B1)["X-Hub-Signature-256"][:-1],
    "sha256=caf\xe9",
    "sha256=\xff",
]


@pytest.mark.parametrize("value", UNSIGNED)
async def test_wh_05_without_a_whole_signature_nothing_is_taken(rig: Rig, path: str, value: str) -> None:
    await refused(rig, await rig.post(path, B1, {**JSON, "X-Hub-Signature-256": value}))


async def test_wh_05_two_different_signatures_are_none(rig: Rig, path: str) -> None:
    good = hub(B1)["X-Hub-Signature-256"]
    for values in ((good, "sha256=00"), ("sha256=00", good)):
        lines = "".join(f"X-Hub-Signature-256: {value}\r\n" for value in values)
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}"
        reply = await rig.send(f"{head}Content-Length: {len(B1)}\r\n\r\n".encode() + B1)
        assert reply.error == (401, "bad_signature")


@pytest.mark.parametrize("name", ["x-hub-signature-256", "X-HUB-SIGNATURE-256", "X-Hub-Signature-256"])
async def test_wh_05_a_headers_name_may_be_in_any_case(rig: Rig, path: str, name: str) -> None:
    assert (await rig.post(path, B1, {**JSON, name: hub(B1)["X-Hub-Signature-256"]})).status == 202


@pytest.mark.parametrize(
    "value", [f"SHA256={hub(B1)['X-Hub-Signature-256'][7:]}", hub(B1)["X-Hub-Signature-256"] + "  "]
)
async def test_wh_05_other_spellings_are_taken_or_refused_and_never_an_error(
    rig: Rig, path: str, value: str
) -> None:
    assert (await rig.post(path, B1, {**JSON, "X-Hub-Signature-256": value})).status in (202, 401)


@pytest.mark.parametrize(
    "secret", ["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
)
async def test_wh_09_the_reference_vector_of_standard_webhooks(rig: Rig, secret: str) -> None:
    set_clock(rig, 1614265330)
    rig.environ["A"] = secret
    headers = {
        **JSON,
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    path = await rig.hook(**signed("standard-webhooks"))
    assert (await rig.post(path, b'{"test": 2432232314}', headers)).status == 202


def standard_headers(signature: str, *, at: str = str(AT), id_: str = "msg_t1") -> dict[str, str]:
    return {**JSON, "webhook-id": id_, "webhook-timestamp": at, "webhook-signature": signature}


BY_S2 = "v1,4so50MIKPPc1MUsodfa3tkVIKUbyMfRG9HbBRlW5D4M="
BY_S1 = "v1,8WvzKLIt12zrlU6ZgcKefPQH40kgq+ZZCNJF95fP0U4="


@pytest.mark.parametrize("secret", [S1, S2])
async def test_wh_11_one_of_several_signatures_is_enough_in_any_order(rig: Rig, secret: str) -> None:
    set_clock(rig)
    rig.environ["A"] = secret
    path = await rig.hook(**signed("standard-webhooks"))
    for number, order in enumerate(permutations([BY_S2, "v1a,AAAA", BY_S1])):
        reply = await rig.post(path, B1, standard_headers(" ".join(order)))
        assert reply.status == (200 if number else 202)


NOT_ONE = [
    BY_S1.replace("v1,", "v2,"),
    BY_S1.replace("v1,", "v1a,"),
    BY_S1.replace(",", ""),
    "",
    "  ",
    "v1",
    "v1,",
]


@pytest.mark.parametrize("value", NOT_ONE)
async def test_wh_11_other_versions_and_malformed_ones_are_401(rig: Rig, standard: str, value: str) -> None:
    await refused(rig, await rig.post(standard, B1, standard_headers(value)))


async def test_wh_11_five_hundred_signatures_are_no_burden(rig: Rig, standard: str) -> None:
    junk = "v1,AAA " * 500
    began = time.monotonic()
    reply = await rig.post(standard, B1, standard_headers(junk + BY_S1))
    assert reply.status == 202
    assert time.monotonic() - began < 1


MILLIS = "v1,absAVvXXxZpYd27KH2CbOck3m+vZe7WIcub6ZPPYm5k="
TIMES = ["1700000000000", "abc", "", "-1", "1e9", "1700000000.5", "9" * 400, "NaN", "\u0661", "1" * 12]


@pytest.mark.parametrize("at", TIMES)
async def test_wh_13_a_timestamp_that_is_no_second_of_today_is_4xx(rig: Rig, standard: str, at: str) -> None:
    sent = at.encode().decode("latin-1")
    reply = await rig.post(standard, B1, standard_headers(MILLIS, at=sent))
    assert reply.error in ((400, "stale_timestamp"), (401, "bad_signature"))
    assert await rig.events() == []


async def test_wh_13_an_old_delivery_is_stale_and_its_id_stays_free(rig: Rig, standard: str) -> None:
    set_clock(rig, AT + 301)
    assert (await rig.post(standard, B1, standard_headers(BY_S1))).error == (400, "stale_timestamp")
    assert (await rig.post(standard, B1, standard_headers(BY_S1, at=str(AT + 301)))).status == 401
    set_clock(rig, AT - 301)
    assert (await rig.post(standard, B1, standard_headers(BY_S1))).error == (400, "stale_timestamp")
    set_clock(rig, AT + 300)
    assert (await rig.post(standard, B1, standard_headers(BY_S1))).status == 202


async def test_wh_15_a_body_in_chunks_is_verified_whole(rig: Rig, path: str) -> None:
    digest = "4c8eb92d27a9e085389667239adb6c114c8e86cfa95d4043183b9d131021bc87"
    chunked = {**JSON, "Content-Length": "", "Transfer-Encoding": "chunked"}
    head = request("POST", path, b"", {**chunked, "X-Hub-Signature-256": f"sha256={digest}"})
    reply = await rig.send(head, b'3\r\n{"a\r\n', b'4\r\n":1}\r\n', b"0\r\n\r\n")
    assert await rig.payload(reply) == {"a": 1}


@pytest.mark.parametrize("depth", [900, 20_000])
async def test_wh_17_deep_json_is_400_once_its_sender_is_known(rig: Rig, path: str, depth: int) -> None:
    body = b"[" * depth + b"]" * depth
    assert (await rig.post(path, body, {**JSON, **hub(body)})).error == (400, "bad_body")
    await refused(rig, await rig.post(path, body, JSON))
    assert (await rig.post(path, B1, {**JSON, **hub(B1)})).status == 202


async def test_wh_19_large_integers_reach_the_run_digit_for_digit(rig: Rig, path: str) -> None:
    body = b'{"id":8202522731445525542,"neg":-9223372036854775808,"big":123456789012345678901234567890}'
    reply = await rig.post(path, body, {**JSON, **hub(body)})
    assert await rig.payload(reply) == json.loads(body)
    body = b"1" * 5000
    assert (await rig.post(path, body, {**JSON, **hub(body)})).error == (400, "bad_body")


async def test_wh_21_a_byte_order_mark_is_signed_and_not_read(rig: Rig, path: str) -> None:
    body = b'\xef\xbb\xbf{"ok":true}'
    digest = "330cbb4903947b65ff1d6130b5e91aea7644a42ba51f3a511a5aee9c3976ee6f"
    reply = await rig.post(path, body, {**JSON, "X-Hub-Signature-256": f"sha256={digest}"})
    assert await rig.payload(reply) == {"ok": True}
    form = b"\xef\xbb\xbfa=1"
    reply = await rig.post(path, form, {"Content-Type": "application/x-www-form-urlencoded", **hub(form)})
    assert await rig.payload(reply) == {"a": "1"}


async def test_wh_23_an_empty_body_is_taken_when_it_is_signed(rig: Rig, path: str) -> None:
    await refused(rig, await rig.post(path, b"", JSON))
    digest = "7c45c03c7c10e3e2182c3193735e8a9db56c01d0785e5171960967a5ed46fc31"
    reply = await rig.post(path, b"", {**JSON, "X-Hub-Signature-256": f"sha256={digest}"})
    assert await rig.payload(reply) is None


async def test_wh_23_an_empty_body_of_standard_webhooks(rig: Rig, standard: str) -> None:
    signature = "v1,qUggv8jZuABUFbdy65q1MdMGbHwybFUzL15feGGjypc="
    assert (await rig.post(standard, b"", standard_headers(signature, id_="msg_t2"))).status == 202


@pytest.mark.parametrize("body", [b"null", b"[1,2,3]", b'"just a string"'])
async def test_wh_23_json_that_is_no_object_is_taken(rig: Rig, path: str, body: bytes) -> None:
    assert await rig.payload(await rig.post(path, body, {**JSON, **hub(body)})) == json.loads(body)


async def test_wh_23_truncated_json_is_400_and_records_nothing(rig: Rig, path: str) -> None:
    digest = "e104c2fe658fcf05d532d109bd26fe85954586c26851872bc38261b538b5cda2"
    reply = await rig.post(path, b'{"open":', {**JSON, "X-Hub-Signature-256": f"sha256={digest}"})
    assert reply.error == (400, "bad_body")
    assert await rig.events() == []


async def test_wh_25_a_bad_signature_burns_no_id(rig: Rig, standard: str) -> None:
    await refused(rig, await rig.post(standard, B1, standard_headers("v1,AAAA")))
    assert (await rig.post(standard, B1, standard_headers(BY_S1))).status == 202
    assert (await rig.post(standard, B1, standard_headers("v1,AAAA"))).status == 401
    assert (await rig.post(standard, B1, standard_headers(BY_S1))).status == 200
    [event] = await rig.events()
    assert event.delivery_id == "msg_t1"


@pytest.mark.parametrize("value", [A[:-1], A + "x", A.upper(), "", f" {B} "])
async def test_wh_27_only_the_exact_token_passes(rig: Rig, value: str) -> None:
    rig.environ["A"] = A
    path = await rig.hook(**signed("gitlab"))
    await refused(rig, await rig.post(path, B1, {**JSON, "X-Gitlab-Token": value}))
    await refused(rig, await rig.post(f"{path}?token={A}", B1, JSON))
    assert (await rig.post(path, B1, {**JSON, "X-Gitlab-Token": A})).status == 202


async def test_wh_27_two_tokens_are_none_in_either_order(rig: Rig) -> None:
    rig.environ["A"] = A
    path = await rig.hook(**signed("gitlab"))
    for values in ((A, "wrong"), ("wrong", A)):
        lines = "".join(f"X-Gitlab-Token: {value}\r\n" for value in values)
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}"
        reply = await rig.send(f"{head}Content-Length: 2\r\n\r\n{{}}".encode())
        assert reply.error == (401, "bad_signature")


@pytest.mark.parametrize(
    ("secrets", "error"), [([], (401, "bad_signature")), (["env:EMPTY"], (503, "unavailable"))]
)
async def test_wh_27_without_a_secret_nothing_is_taken(
    rig: Rig, secrets: list[str], error: tuple[int, str]
) -> None:
    rig.environ["EMPTY"] = ""
    path = await rig.hook(**(signed("gitlab") | {"secrets": secrets}))
    for value in ("", " ", "x"):
        assert (await rig.post(path, B1, {**JSON, "X-Gitlab-Token": value})).error == error


FRAMING = [
    ("Content-Length: 30", "Content-Length: 2"),
    ("Content-Length: 30", "Transfer-Encoding: chunked"),
    ("Content-Length: +30",),
]


@pytest.mark.parametrize("lines", FRAMING)
async def test_wh_29_an_ambiguous_end_of_the_body_is_400(rig: Rig, path: str, lines: tuple[str, ...]) -> None:
    signature = hub(B1)["X-Hub-Signature-256"]
    first = [f"POST {path} HTTP/1.1", "Host: localhost", f"X-Hub-Signature-256: {signature}"]
    sent = "\r\n".join([*first, *lines, "", ""]).encode() + B1
    assert parsed(await rig.exchange(sent)).error == (400, "bad_body")
    assert await rig.events() == []


async def test_wh_29_a_body_that_ends_early_is_not_even_verified(rig: Rig, path: str) -> None:
    head = request("POST", path, b"", {**JSON, **hub(B1[:10]), "Content-Length": "30"})
    await rig.exchange(head + B1[:10], ends=True)
    assert await rig.events() == []
    assert await rig.strays() == []


async def test_a_signature_over_gzip_is_over_the_bytes_as_sent(rig: Rig, path: str) -> None:
    packed = gzip.compress(B1)
    headers = {**JSON, "Content-Encoding": "gzip"}
    assert (await rig.post(path, packed, {**headers, **hub(B1)})).status == 401
    reply = await rig.post(path, packed, {**headers, **hub(packed)})
    assert await rig.payload(reply) == json.loads(B1)
    assert await rig.body(reply) == packed
