"""From bytes to payload, over the wire and down to the stored envelope."""

from __future__ import annotations

import base64
import gzip
import json

from tests.web.rig import JSON, Rig
from tocsin.settings import MIB

EACH = {"body_window_ms": 0}  # one trigger takes them all, equal or not
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def test_big_integers_are_kept_digit_for_digit(rig: Rig) -> None:
    body = b'{"id":8202522731445525542,"neg":-9223372036854775808,"big":123456789012345678901234567890}'
    reply = await rig.post(await rig.hook(), body, JSON)
    assert await rig.payload(reply) == {
        "id": 8202522731445525542,
        "neg": -9223372036854775808,
        "big": 123456789012345678901234567890,
    }
    assert await rig.body(reply) == body


NOT_TAKEN = [
    b'{"n": ' + b"9" * 5000 + b"}",
    b'{"n": NaN}',
    b"[Infinity]",
    b"-Infinity",
    b"1e400",
    b'{"open":',
    b"{'a': 1}",
    b"   ",
    b'{"a": 1} {"b": 2}',
    b'"\\ud800"',
    b'{"\\udfff": 1}',
    b'"\xff"',
    b'"tab\there"',
    b"[" * 201 + b"]" * 201,
    b"[" * 400 + b"]" * 400,
    b'{"a":' * 900 + b"1" + b"}" * 900,
    b"[" * 20_000 + b"]" * 20_000,
    b"[" * 20_000,
]


async def test_json_that_cannot_be_taken_is_400_and_records_nothing(rig: Rig) -> None:
    path = await rig.hook(dedupe=EACH)
    for body in NOT_TAKEN:
        assert (await rig.post(path, body, JSON)).error == (400, "bad_body")
        assert await rig.events() == []
    assert (await rig.post(path, b"{}", JSON)).status == 202


TAKEN = [
    (b"", None),
    (b"null", None),
    (b"[1,2,3]", [1, 2, 3]),
    (b'"just a string"', "just a string"),
    (b'\xef\xbb\xbf{"ok":true}', {"ok": True}),
    (b'{"a": 1, "a": 2}', {"a": 2}),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'"\\\\ud800"', "\\ud800"),
    (b'"\\u0000"', "\x00"),
    (b"1" * 4300, int("1" * 4300)),
    (b"[1e308, -0.0, 1.50]", [1e308, -0.0, 1.5]),
]


async def test_json_of_every_shape_is_taken(rig: Rig) -> None:
    path = await rig.hook(dedupe=EACH)
    for body, payload in TAKEN:
        reply = await rig.post(path, body, JSON)
        assert await rig.payload(reply) == payload
        assert await rig.body(reply) == (body or None)


async def test_two_hundred_levels_are_taken(rig: Rig) -> None:
    reply = await rig.post(await rig.hook(), b"[" * 200 + b"]" * 200, JSON)
    assert reply.status == 202


TYPED = [
    ("application/json; charset=utf-8", b'"\xc3\xa9"', "\xe9"),
    ('APPLICATION/JSON; Charset="ISO-8859-1"', b'"\xe9"', "\xe9"),
    ("application/json;charset=utf-16", '"é"'.encode("utf-16"), "\xe9"),
    ("application/json;charset=utf-16le", '\ufeff"é"'.encode("utf-16-le"), "\xe9"),
    ("application/json;charset=windows-1252", b'"\x80"', "\u20ac"),
    ("application/problem+json", b"1", 1),
    ("application/vnd.api+json; x=y", b"1", 1),
    ("text/json", b"1", 1),
]


async def test_a_charset_is_honoured_and_json_types_are_known(rig: Rig) -> None:
    path = await rig.hook(dedupe=EACH)
    for content_type, body, payload in TYPED:
        reply = await rig.post(path, body, {"Content-Type": content_type})
        assert await rig.payload(reply) == payload


CHARSETS_NOT_TAKEN = [
    "nonsense",
    "rot13",
    "idna",
    "punycode",
    "utf-7",
    "zlib",
    "unicode_escape",
    "x" * 300,
    "utf-16",
]


async def test_a_charset_that_is_unknown_or_does_not_fit_is_400(rig: Rig) -> None:
    path = await rig.hook(dedupe=EACH)
    for charset in CHARSETS_NOT_TAKEN:
        headers = {"Content-Type": f"application/json; charset={charset}"}
        assert (await rig.post(path, b'"odd"', headers)).error == (400, "bad_body")


FORMS = [
    (b"a=1&b=two+words&c=%C3%A9", {"a": "1", "b": "two words", "c": "\xe9"}),
    (b"a=1&a=2", {"a": "2"}),
    (b"a&b=", {"a": "", "b": ""}),
    (b"\xef\xbb\xbfa=1", {"a": "1"}),
    (b"%EF%BB%BFa=1", {"a": "1"}),
    (b"\xef\xbb\xbf%EF%BB%BFa=1", {"a": "1"}),
    (b"a=%00&b=%zz&c=%ff&d=%", {"a": "\x00", "b": "%zz", "c": "\ufffd", "d": "%"}),
    (b"a=\xff", {"a": "\ufffd"}),
    (b"payload=%7B%22a%22%3A1%7D", {"payload": '{"a":1}'}),
    (b"&&", {}),
]


async def test_a_form_is_an_object_of_strings(rig: Rig) -> None:
    path = await rig.hook(dedupe=EACH)
    for body, payload in FORMS:
        reply = await rig.post(path, body, FORM)
        assert await rig.payload(reply) == payload
        assert await rig.body(reply) == body


async def test_a_form_of_a_million_fields_is_400(rig: Rig) -> None:
    assert (await rig.post(await rig.hook(), b"a&" * 500_000, FORM)).error == (400, "bad_body")


OTHER_TYPES = ["text/plain", "application/octet-stream", "image/png", "nonsense", "a/b; \xff"]


async def test_anything_else_is_kept_as_base64(rig: Rig) -> None:
    path = await rig.hook(dedupe=EACH)
    for content_type in OTHER_TYPES:
        reply = await rig.post(path, b"\x00\xff{}", {"Content-Type": content_type})
        assert await rig.payload(reply) == {"raw_base64": base64.b64encode(b"\x00\xff{}").decode()}


UNTYPED = [
    (b'{"a": 1}', {"a": 1}),
    (b"{broken", {"raw_base64": base64.b64encode(b"{broken").decode()}),
    (b"", None),
]


async def test_without_a_type_json_is_json_and_the_rest_is_raw(rig: Rig) -> None:
    path = await rig.hook(dedupe=EACH)
    for body, payload in UNTYPED:
        assert await rig.payload(await rig.post(path, body)) == payload


GZIPS = ["gzip", "x-gzip", "GZIP"]


async def test_gzip_is_unpacked_and_kept_as_it_was_sent(rig: Rig) -> None:
    path = await rig.hook(dedupe=EACH)
    for encoding in GZIPS:
        packed = gzip.compress(b'{"a": 1}')
        reply = await rig.post(path, packed, {**JSON, "Content-Encoding": encoding})
        assert await rig.payload(reply) == {"a": 1}
        assert await rig.body(reply) == packed


async def test_a_gzip_bomb_is_413_at_one_byte_over_the_cap(rig: Rig) -> None:
    path, headers = await rig.hook(), {**JSON, "Content-Encoding": "gzip"}
    exact = json.dumps("x" * (MIB - 2)).encode()
    assert (await rig.post(path, gzip.compress(exact), headers)).status == 202
    assert (await rig.post(path, gzip.compress(exact + b" "), headers)).error == (413, "payload_too_large")
    assert (await rig.post(path, gzip.compress(bytes(50 * MIB)), headers)).status == 413


ENCODINGS_NOT_TAKEN = [
    ("gzip", b"{}"),
    ("gzip", gzip.compress(b"{}")[:-4]),
    ("gzip", gzip.compress(b"{}") + b"more"),
    ("deflate", b"{}"),
    ("br", b"{}"),
    ("gzip, gzip", gzip.compress(gzip.compress(b"{}"))),
]


async def test_any_other_encoding_is_400(rig: Rig) -> None:
    path = await rig.hook(dedupe=EACH)
    for encoding, body in ENCODINGS_NOT_TAKEN:
        reply = await rig.post(path, body, {**JSON, "Content-Encoding": encoding})
        assert reply.error == (400, "bad_body")


async def test_no_encoding_by_name_is_no_encoding(rig: Rig) -> None:
    assert (await rig.post(await rig.hook(), b"{}", {**JSON, "Content-Encoding": "identity"})).status == 202
