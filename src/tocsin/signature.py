"""Signatures of webhooks over the exact bytes: verified, and made for test deliveries. Pure.

A `Scheme` says where a sender puts its signature and what it signs; ``presets`` has those of known
senders. Whatever a header holds, `verify` returns or raises `SignatureRejected`, nothing else.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from tocsin.errors import SignatureRejected
from tocsin.instants import EPOCH
from tocsin.trigger import Json

Headers: TypeAlias = Mapping[str, Sequence[str]]
"""Names in lower case; of each the values in the order of their arrival."""

TOLERANCE: Final = timedelta(minutes=5)  # Standard Webhooks and Stripe; DESIGN section 10
MOST: Final = 1000  # signatures of one header that are looked at
SECONDS: Final = re.compile(r"[0-9]{1,11}")  # decimal digits and nothing else; milliseconds are 13
WHSEC: Final = "whsec_"
FIELD: Final = re.compile(r"\{(body|timestamp|id)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """How one kind of sender signs.

    header: holds the signature, or several between `separator`. prefix: stands before each one.
    encoding: `hex`, `base64`, or `plain` for a header that is the secret itself. signed_text: what is
    signed, with `{body}`, `{timestamp}` and `{id}`. timestamp_header, id_header: where these come from;
    timestamp_key: the key of the timestamp inside the signature's own header (`t=…,v1=…`).
    secret_prefix: secrets are base64, after this where it is there.
    delivery_id, event_type: `header:NAME` or `payload:PATH`, the first that is there counts.
    challenge: the key of a text that a verified delivery without an event wants to have back.
    """

    preset: str
    header: str
    prefix: str = ""
    separator: str | None = None
    encoding: str = "hex"
    signed_text: str = "{body}"
    timestamp_header: str | None = None
    timestamp_key: str | None = None
    id_header: str | None = None
    tolerance_s: int = int(TOLERANCE.total_seconds())
    secret_prefix: str = ""
    delivery_id: tuple[str, ...] = ()
    event_type: tuple[str, ...] = ()
    challenge: str | None = None

    def document(self) -> dict[str, Json]:
        """As JSON values; `of` reads it."""
        plain: dict[str, Any] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {"delivery_id": list(self.delivery_id), "event_type": list(self.event_type)}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Scheme:
        """The scheme that a `document` was made from."""
        lists = {name: tuple(document[name]) for name in ("delivery_id", "event_type")}
        return cls(**{**document, **lists})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A delivery that one of the secrets has signed. sent_at: when, by the signed timestamp; aware UTC."""

    sent_at: datetime | None = None


def verify(
    scheme: Scheme, headers: Headers, body: bytes, secrets: Sequence[str], *, now: datetime
) -> Verified:
    """Raises SignatureRejected: `stale_timestamp` before `bad_signature`, and only that."""
    given = only(headers, scheme.header)
    sent_at = None if not has_timestamp(scheme) else fresh(scheme, headers, given, now)
    text = signed(scheme, headers, given, body)
    found = list(signatures(scheme, given))
    if not any(is_signed(scheme, text, secret, found) for secret in secrets):
        raise SignatureRejected("the signature fits none of the secrets")
    return Verified(sent_at=sent_at)


def sign(scheme: Scheme, body: bytes, secret: str, *, delivery_id: str, now: datetime) -> dict[str, str]:
    """The headers of a delivery as its sender would make them. now: aware UTC. Raises ValueError."""
    fault = fault_of(scheme, secret)
    if fault is not None:
        raise ValueError(fault)
    seconds = str(int(now.timestamp()))
    headers = {scheme.id_header: delivery_id} if scheme.id_header else {}
    if scheme.timestamp_header is not None:
        headers[scheme.timestamp_header] = seconds
    text = filled(scheme, body, timestamp=seconds, id_=delivery_id)
    value = secret if scheme.encoding == "plain" else scheme.prefix + encoded(scheme, text, secret)
    if scheme.timestamp_key is not None:
        value = f"{scheme.timestamp_key}={seconds},{value}"
    return {**headers, scheme.header: value}


def fault_of(scheme: Scheme, secret: str) -> str | None:
    """Why nothing could ever be verified with this secret; None when it can."""
    if not secret:
        return "it is empty"
    if not scheme.secret_prefix:
        return None
    try:
        key = base64.b64decode(secret.removeprefix(scheme.secret_prefix), validate=True)
    except (binascii.Error, ValueError):
        return f"it is not base64 after {scheme.secret_prefix}"
    return None if key else f"nothing stands after {scheme.secret_prefix}"


def has_timestamp(scheme: Scheme) -> bool:
    return scheme.timestamp_header is not None or scheme.timestamp_key is not None


def only(headers: Headers, name: str) -> str:
    """The one value of a header; two different ones name nothing."""
    values = set(headers.get(name.lower(), ()))
    if len(values) != 1 or not (value := values.pop()).strip():
        raise SignatureRejected(f"wanted: one {name} header")
    return value


def fresh(scheme: Scheme, headers: Headers, given: str, now: datetime) -> datetime:
    """When it was sent, if that is near enough to now."""
    text = timestamp(scheme, headers, given)
    if not SECONDS.fullmatch(text):
        raise SignatureRejected("the timestamp is no number of seconds", stale=True)
    sent_at = EPOCH + timedelta(seconds=int(text))
    if abs(now - sent_at) > timedelta(seconds=scheme.tolerance_s):
        raise SignatureRejected("the timestamp is too old, or a clock is wrong", stale=True)
    return sent_at


def timestamp(scheme: Scheme, headers: Headers, given: str) -> str:
    if scheme.timestamp_header is not None:
        return only(headers, scheme.timestamp_header).strip()
    found = {part.partition("=")[2] for part in parts(given) if part.startswith(f"{scheme.timestamp_key}=")}
    return found.pop() if len(found) == 1 else ""


def parts(given: str) -> Iterator[str]:
    """`t=1, v1=abc` as `t=1` and `v1=abc`."""
    for part in given.split(",", MOST)[:MOST]:
        yield part.strip()


def signatures(scheme: Scheme, given: str) -> Iterator[str]:
    """Every signature in a header, without its prefix."""
    if scheme.timestamp_key is not None:
        candidates = list(parts(given))
    elif scheme.separator is not None:
        candidates = given.split(scheme.separator, MOST)[:MOST]
    else:
        candidates = [given]
    for candidate in candidates:
        if candidate.startswith(scheme.prefix):
            yield candidate.removeprefix(scheme.prefix).strip()


def signed(scheme: Scheme, headers: Headers, given: str, body: bytes) -> bytes:
    """The bytes that the sender has signed."""
    when = timestamp(scheme, headers, given) if has_timestamp(scheme) else ""
    id_ = only(headers, scheme.id_header) if scheme.id_header and "{id}" in scheme.signed_text else ""
    return filled(scheme, body, timestamp=when, id_=id_)


def filled(scheme: Scheme, body: bytes, *, timestamp: str, id_: str) -> bytes:
    """The template with its fields; what fills one is never read as a template again."""
    values = {"body": body, "timestamp": as_bytes(timestamp), "id": as_bytes(id_)}
    pieces = FIELD.split(scheme.signed_text)
    return b"".join(values[piece] if n % 2 else piece.encode() for n, piece in enumerate(pieces))


def is_signed(scheme: Scheme, text: bytes, secret: str, found: Sequence[str]) -> bool:
    """Whether one of the signatures is this secret's; compared in constant time."""
    if fault_of(scheme, secret) is not None:
        return False
    wanted = as_bytes(secret if scheme.encoding == "plain" else encoded(scheme, text, secret))
    is_hex = scheme.encoding == "hex"
    return any(hmac.compare_digest(as_bytes(one.lower() if is_hex else one), wanted) for one in found)


def encoded(scheme: Scheme, text: bytes, secret: str) -> str:
    """HMAC-SHA256 as the sender writes it."""
    digest = hmac.new(key_of(scheme, secret), text, hashlib.sha256).digest()
    return digest.hex() if scheme.encoding == "hex" else base64.b64encode(digest).decode()


def key_of(scheme: Scheme, secret: str) -> bytes:
    """The bytes of the key; a prefix that only marks the kind of secret may be missing."""
    if scheme.secret_prefix:
        return base64.b64decode(secret.removeprefix(scheme.secret_prefix))
    return as_bytes(secret)


def as_bytes(text: str) -> bytes:
    """As it arrived: bytes that are no UTF-8 are surrogates (PEP 383); nobody sends other ones."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
