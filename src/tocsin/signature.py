"""Whether a delivery was signed by somebody who knows the secret. Pure: headers, body and `now` in.

Every comparison takes the same time whatever differs (`hmac.compare_digest`). One exception type
leaves here, whatever the headers hold.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from tocsin.errors import SignatureRejected
from tocsin.presets import PRESETS
from tocsin.trigger import Json

Headers: TypeAlias = Mapping[str, Sequence[str]]
"""Lower-case names; values in order of arrival."""

TOLERANCE: Final = timedelta(minutes=5)
SECONDS: Final = re.compile(r"[0-9]{1,12}")
MAX_SIGNATURES: Final = 1_000  # of one header; rotation needs two
WHSEC: Final = "whsec_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """How a source's deliveries are signed.

    header: lower-case. encoding: `hex` or `base64`. signed_text: what is signed, with {body},
    {timestamp} and {id}.
    """

    preset: str
    header: str
    prefix: str = ""
    encoding: str = "hex"
    signed_text: str = "{body}"
    tolerance: timedelta = TOLERANCE

    def as_json(self) -> dict[str, Json]:
        """What `of_json` reads."""
        return {
            "preset": self.preset,
            "header": self.header,
            "prefix": self.prefix,
            "encoding": self.encoding,
            "signed_text": self.signed_text,
            "tolerance_ms": self.tolerance // timedelta(milliseconds=1),
        }

    @staticmethod
    def of_json(written: Mapping[str, Any]) -> Scheme:
        """What `as_json` wrote."""
        fields = {key: value for key, value in written.items() if key != "tolerance_ms"}
        return Scheme(**fields, tolerance=timedelta(milliseconds=written.get("tolerance_ms", 300_000)))

    @staticmethod
    def of_preset(name: str) -> Scheme:
        """A provider's own."""
        preset = PRESETS[name]
        return Scheme(preset=name, header=preset.header, prefix=preset.prefix, encoding=preset.encoding)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What the headers of a delivery that fits say of it. sent_at: aware UTC.

    challenge: the text that slack's url_verification wants back.
    """

    delivery_id: str | None = None
    event_type: str | None = None
    sent_at: datetime | None = None
    challenge: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What the headers say: the signatures, and the text that they are of."""

    signatures: Sequence[str]
    text: bytes
    sent_at: datetime | None = None


def verify(
    scheme: Scheme, headers: Headers, body: bytes, secrets: Sequence[str], *, now: datetime
) -> Verified:
    """What the delivery says of itself. Raises SignatureRejected when no secret fits or it is stale."""
    claim = CLAIMS.get(scheme.preset, plain_claim)(scheme, headers, body)
    if claim.sent_at is not None and abs(now - claim.sent_at) > scheme.tolerance:
        raise SignatureRejected("stale_timestamp")
    if not any(fits(scheme, claim, secret) for secret in secrets):
        raise SignatureRejected("bad_signature")
    preset = PRESETS.get(scheme.preset, PRESETS["generic"])
    return Verified(
        delivery_id=said(headers, preset.id_header),
        event_type=said(headers, preset.type_header),
        sent_at=claim.sent_at,
        challenge=challenge(body) if scheme.preset == "slack" else None,
    )


def plain_claim(scheme: Scheme, headers: Headers, body: bytes) -> Claim:
    """One header, over the body."""
    return Claim(signatures=[without_prefix(scheme, one(headers, scheme.header))], text=body)


def standard_claim(scheme: Scheme, headers: Headers, body: bytes) -> Claim:
    """Several signatures, over id, timestamp and body (Standard Webhooks 1.0)."""
    id_, timestamp = one(headers, "webhook-id"), one(headers, "webhook-timestamp")
    given = one(headers, scheme.header).split(" ")[:MAX_SIGNATURES]
    signatures = [text.removeprefix("v1,") for text in given if text.startswith("v1,")]
    text = f"{id_}.{timestamp}.".encode("utf-8", "surrogateescape") + body
    return Claim(signatures=signatures, text=text, sent_at=instant_of(timestamp))


def stripe_claim(scheme: Scheme, headers: Headers, body: bytes) -> Claim:
    """`t=…,v1=…,v1=…`, over timestamp and body."""
    parts = [part.strip().partition("=") for part in one(headers, scheme.header).split(",")[:MAX_SIGNATURES]]
    times = [value for key, _, value in parts if key == "t"]
    if len(times) != 1:
        raise SignatureRejected("bad_signature")
    signatures = [value for key, _, value in parts if key == "v1"]
    return Claim(signatures=signatures, text=f"{times[0]}.".encode() + body, sent_at=instant_of(times[0]))


def slack_claim(scheme: Scheme, headers: Headers, body: bytes) -> Claim:
    """`v0=…`, over version, timestamp and body."""
    timestamp = one(headers, "x-slack-request-timestamp")
    sent_at, signature = instant_of(timestamp), without_prefix(scheme, one(headers, scheme.header))
    return Claim(signatures=[signature], text=f"v0:{timestamp}:".encode() + body, sent_at=sent_at)


CLAIMS: Final[Mapping[str, Callable[[Scheme, Headers, bytes], Claim]]] = {
    "standard-webhooks": standard_claim,
    "stripe": stripe_claim,
    "slack": slack_claim,
}


def fits(scheme: Scheme, claim: Claim, secret: str) -> bool:
    """Whether one of the signatures is made with this secret."""
    if scheme.preset == "gitlab":
        return any(same(given, secret) for given in claim.signatures)
    made = signature_of(scheme, claim.text, secret)
    return any(same(given, made) for given in claim.signatures)


def signature_of(scheme: Scheme, text: bytes, secret: str) -> str:
    """The signature of a text, encoded."""
    digest = hmac.new(key_of(scheme, secret), text, hashlib.sha256)
    return base64.b64encode(digest.digest()).decode() if scheme.encoding == "base64" else digest.hexdigest()


def key_of(scheme: Scheme, secret: str) -> bytes:
    """The key; of Standard Webhooks what the secret is the base64 of. Raises SignatureRejected."""
    if scheme.preset != "standard-webhooks":
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(WHSEC), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SignatureRejected("bad_signature") from error


def same(given: str, wanted: str) -> bool:
    return bool(wanted) and hmac.compare_digest(given.encode("utf-8", "surrogateescape"), wanted.encode())


def one(headers: Headers, name: str) -> str:
    """The one value of a header. Raises SignatureRejected for none, an empty one and several."""
    values = headers.get(name, ())
    if len(values) != 1 or not values[0].strip():
        raise SignatureRejected("bad_signature")
    return values[0].strip()


def said(headers: Headers, name: str | None) -> str | None:
    values = headers.get(name or "", ())
    return (values[0].strip() or None) if len(values) == 1 else None


def without_prefix(scheme: Scheme, value: str) -> str:
    if not value.startswith(scheme.prefix):
        raise SignatureRejected("bad_signature")
    return value.removeprefix(scheme.prefix)


def instant_of(text: str) -> datetime:
    """Decimal seconds since the epoch. Raises SignatureRejected for anything else."""
    if not SECONDS.fullmatch(text):
        raise SignatureRejected("bad_signature")
    try:
        return datetime.fromtimestamp(int(text), UTC)
    except (OverflowError, OSError, ValueError) as error:
        raise SignatureRejected("stale_timestamp") from error


def challenge(body: bytes) -> str | None:
    """What slack's url_verification wants back (api.slack.com/events/url_verification)."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    text = (
        found.get("challenge")
        if isinstance(found, dict) and found.get("type") == "url_verification"
        else None
    )
    return text if isinstance(text, str) else None


def sign(
    scheme: Scheme, body: bytes, secret: str, *, delivery_id: str, event_type: str | None, now: datetime
) -> dict[str, str]:
    """The headers of a delivery as the provider would send it."""
    preset, seconds = PRESETS.get(scheme.preset, PRESETS["generic"]), str(int(now.timestamp()))
    texts = {
        "standard-webhooks": f"{delivery_id}.{seconds}.".encode(),
        "stripe": f"{seconds}.".encode(),
        "slack": f"v0:{seconds}:".encode(),
    }
    made = signature_of(scheme, texts.get(scheme.preset, b"") + body, secret)
    worded = {"standard-webhooks": f"v1,{made}", "stripe": f"t={seconds},v1={made}", "gitlab": secret}
    found = {scheme.header: worded.get(scheme.preset, f"{scheme.prefix}{made}")}
    said_too = {preset.id_header: delivery_id, preset.type_header: event_type}
    sent = {} if scheme.preset == "shopify" else {preset.sent_header: seconds}
    return found | {name: value for name, value in (said_too | sent).items() if name and value}
