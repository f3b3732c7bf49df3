"""From a delivery's bytes to its payload. Pure: bytes and two headers in, JSON values out.

Integers stay exact, the last of two equal keys wins, and whatever could not be stored, read again or
handed to a run is refused here, with 400, before anything is recorded.
"""

from __future__ import annotations

import base64
import codecs
import json
import re
import zlib
from email.message import Message
from typing import Final, NoReturn
from urllib.parse import parse_qsl

from tocsin.trigger import Json
from tocsin.web.refusals import Refusal, bad_body, too_large

MAX_DEPTH: Final = 200  # a run's params add three levels, and jq 1.6 reads no more than 256
MAX_FIELDS: Final = 10_000  # no form has more; parsing millions of empty ones would hold up the loop
GZIP: Final = 16 + zlib.MAX_WBITS  # zlib's way to ask for a gzip header and trailer
BOM: Final = "\ufeff"
ESCAPED_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
JSON_TYPE: Final = re.compile(r"(application|text)/json|[^/]+/[^/]+\+json")  # RFC 6839 for the suffix
FORM_TYPE: Final = "application/x-www-form-urlencoded"

# Encodings of text that senders use. Others that Python knows decode in quadratic time (idna,
# punycode) or are no charsets at all (rot13, zlib).
CHARSET: Final = re.compile(
    r"utf-8(-sig)?|utf-(16|32)(-[lb]e)?|ascii|iso8859-\d+|cp\d+|koi8-[ru]"
    r"|shift_jis|euc_(jp|kr)|gbk|gb2312|gb18030|big5"
)


def decode(body: bytes, *, content_type: str | None, content_encoding: str | None, limit: int) -> Json:
    """The payload of a delivery.

    JSON types as their value, forms as an object of strings, an empty body as None, anything else as
    {"raw_base64": …}; without a content type JSON if it is JSON. limit: bytes, after decompression.
    Raises a Refusal: 400 for a body that is not what it says it is, 413 when it decompresses to more.
    """
    plain = expanded(body, content_encoding, limit)
    if not plain:
        return None
    if content_type is None or not content_type.strip():
        return json_or_raw(plain)
    media, charset = parsed(content_type)
    if JSON_TYPE.fullmatch(media):
        return parse_json(text_of(plain, charset))
    return form(plain, charset) if media == FORM_TYPE else raw(plain)


def expanded(body: bytes, encoding: str | None, limit: int) -> bytes:
    """The body without its Content-Encoding (RFC 9110, 8.4)."""
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return body
    if name not in {"gzip", "x-gzip"}:
        raise bad_body("the Content-Encoding is neither gzip nor identity")
    return gunzipped(body, limit) if body else body


def gunzipped(body: bytes, limit: int) -> bytes:
    """Never more than one byte over the limit is unpacked, however much there would be."""
    unpacking = zlib.decompressobj(GZIP)
    try:
        plain = unpacking.decompress(body, limit + 1)
    except zlib.error as error:
        raise bad_body("the body is not gzip, as its Content-Encoding says") from error
    if len(plain) > limit:
        raise too_large(limit)
    if not unpacking.eof or unpacking.unused_data:
        raise bad_body("the gzip body does not end where it should")
    return plain


def parsed(content_type: str) -> tuple[str, str]:
    """Media type and charset, both lower-case; a malformed type is text/plain (RFC 2045, 5.2)."""
    message = Message()
    message["Content-Type"] = content_type.encode("ascii", "replace").decode()
    return message.get_content_type(), message.get_content_charset("utf-8")


def text_of(plain: bytes, charset: str) -> str:
    """The text without a byte order mark. Raises a Refusal."""
    name = known(charset)
    try:
        return plain.decode(name).removeprefix(BOM)
    except UnicodeError as error:
        raise bad_body(f"the body is not valid {name}") from error


def known(charset: str) -> str:
    """Python's name of a charset. Raises a Refusal for one that is not taken."""
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        name = ""
    if not CHARSET.fullmatch(name):
        raise bad_body("the charset of the Content-Type is not known here; send UTF-8")
    return name


def parse_json(text: str) -> Json:
    """A JSON text (RFC 8259) as values. Raises a Refusal."""
    try:
        value: Json = json.loads(text, parse_constant=refuse_constant, parse_float=finite)
    except RecursionError as error:
        raise too_deep() from error
    except json.JSONDecodeError as error:
        raise bad_body(f"not JSON: {error.msg}, line {error.lineno} column {error.colno}") from error
    except ValueError as error:  # CPython reads integers of up to 4300 digits
        raise bad_body("not taken: an integer of more than 4300 digits") from error
    if text.count("[") + text.count("{") > MAX_DEPTH and is_deeper(value, MAX_DEPTH):
        raise too_deep()
    if ESCAPED_SURROGATE.search(text):
        refuse_surrogates(value)
    return value


def refuse_constant(name: str) -> NoReturn:
    raise bad_body(f"not JSON: {name}")


class WordedFloat(float):
    """A number that keeps its wording: as an id it may have more digits than a double holds."""

    __slots__ = ("text",)
    text: str


def finite(text: str) -> WordedFloat:
    number = WordedFloat(text)
    number.text = text
    if number in (float("inf"), float("-inf")):
        raise bad_body("not taken: a number beyond the range of a double")
    return number


def too_deep() -> Refusal:
    return bad_body(f"not taken: nested more than {MAX_DEPTH} levels deep")


def is_deeper(value: Json, limit: int) -> bool:
    """Whether arrays and objects are nested more than `limit` times; level by level, no recursion."""
    level: list[Json] = [value]
    for _ in range(limit):
        level = [child for node in level for child in children(node)]
    return any(isinstance(node, list | dict) for node in level)


def children(node: Json) -> list[Json]:
    if isinstance(node, dict):
        return list(node.values())
    return node if isinstance(node, list) else []


def refuse_surrogates(value: Json) -> None:
    """Half of a surrogate pair is no text: no file, argument or column could hold it."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise bad_body("not taken: a string with half of a surrogate pair") from error


def form(plain: bytes, charset: str) -> Json:
    """A form as an object of strings, the last of equal keys; decoded as the URL standard (5.1) says."""
    name = known(charset)
    text = plain.decode(name, "replace").removeprefix(BOM)
    try:
        pairs = parse_qsl(text, keep_blank_values=True, encoding=name, max_num_fields=MAX_FIELDS)
    except ValueError as error:
        raise bad_body(f"not taken: a form of more than {MAX_FIELDS} fields") from error
    return {key.lstrip(BOM): value for key, value in pairs}


def raw(plain: bytes) -> Json:
    return {"raw_base64": base64.b64encode(plain).decode()}


def json_or_raw(plain: bytes) -> Json:
    try:
        return parse_json(text_of(plain, "utf-8"))
    except Refusal:
        return raw(plain)
