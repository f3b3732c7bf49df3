"""Every answer that is not a success, as one exception with one constructor per case.

Raised wherever the fact is known, turned into a response by ``guards``. Codes are those of
INTERFACE section 6, and `internal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from math import ceil
from typing import Final

from tocsin.errors import TocsinError

DRAINING_RETRY_S: Final = 10  # a restart takes seconds
STORE_RETRY_S: Final = 60  # a full disk takes somebody's hand
LONGEST_RETRY_S: Final = 3600  # DESIGN section 6; senders that are told more tend to give up


class Code(StrEnum):
    """What a program looks at."""

    NOT_FOUND = "not_found"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    DUPLICATE = "duplicate"
    GONE = "gone"
    PAUSED = "paused"
    BAD_BODY = "bad_body"
    RATE_LIMITED = "rate_limited"
    STALE_TIMESTAMP = "stale_timestamp"
    BAD_SIGNATURE = "bad_signature"
    UNAVAILABLE = "unavailable"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    FORBIDDEN_HOST = "forbidden_host"
    FORBIDDEN_ORIGIN = "forbidden_origin"
    UNAUTHORIZED = "unauthorized"
    INTERNAL = "internal"


class Refusal(TocsinError):
    """An answer other than success. Its text is for the peer: nothing it may not know."""

    def __init__(
        self, status: int, code: Code, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


def not_found(what: str) -> Refusal:
    """404; the same for what never was and for what the peer may not know of."""
    return Refusal(404, Code.NOT_FOUND, f"there is no {what} at this address")


def method_not_allowed(method: str, allowed: str) -> Refusal:
    """405. allowed: as in the Allow header (RFC 9110, 15.5.6)."""
    return Refusal(
        405, Code.METHOD_NOT_ALLOWED, f"{method} does nothing here, use {allowed}", {"Allow": allowed}
    )


def too_large(limit: int) -> Refusal:
    """413. limit: bytes."""
    return Refusal(413, Code.PAYLOAD_TOO_LARGE, f"the body is larger than {limit} bytes")


def too_slow(seconds: float) -> Refusal:
    """408: the body did not end in time."""
    return Refusal(408, Code.BAD_BODY, f"the body did not arrive within {seconds:g} s")


def bad_body(message: str) -> Refusal:
    """400: what arrived cannot be understood."""
    return Refusal(400, Code.BAD_BODY, message)


def gone() -> Refusal:
    """410: whoever knows the address may know that it is off, not why."""
    return Refusal(410, Code.GONE, "this trigger is off and takes no deliveries")


def paused(*, retry_after_s: int) -> Refusal:
    """503: nothing was recorded; the sender may come again when the pause is over."""
    message = "this trigger is paused; send it again later"
    return Refusal(503, Code.PAUSED, message, {"Retry-After": str(retry_after_s)})


def unavailable(message: str, *, retry_after_s: int) -> Refusal:
    """503: nothing was recorded; the same delivery may come again."""
    return Refusal(503, Code.UNAVAILABLE, message, {"Retry-After": str(retry_after_s)})


def bad_signature(message: str) -> Refusal:
    """401: nobody who knows a secret has signed this."""
    return Refusal(401, Code.BAD_SIGNATURE, message)


def stale_timestamp(message: str) -> Refusal:
    """400: signed too long ago, or by a clock that is wrong."""
    return Refusal(400, Code.STALE_TIMESTAMP, message)


def rate_limited(*, retry_after_s: int) -> Refusal:
    """429: nothing was recorded; the same delivery may come again."""
    message = "more deliveries than this source may send; send it again later"
    return Refusal(429, Code.RATE_LIMITED, message, {"Retry-After": str(max(1, retry_after_s))})


def refused_too_often(*, retry_after_s: int) -> Refusal:
    """429: what this peer asks for was refused more often than it may be."""
    message = "too many refused requests; come again later"
    return Refusal(429, Code.RATE_LIMITED, message, {"Retry-After": str(max(1, retry_after_s))})


def unauthorized() -> Refusal:
    """401, with the scheme that would do (RFC 6750)."""
    return Refusal(
        401,
        Code.UNAUTHORIZED,
        "this wants `Authorization: Bearer`, with the contents of the api-token file",
        {"WWW-Authenticate": 'Bearer realm="tocsin"'},
    )


def forbidden_host() -> Refusal:
    """421: a name that is not this machine's, as in DNS rebinding."""
    return Refusal(421, Code.FORBIDDEN_HOST, "the Host header names no host that is served here")


def forbidden_origin() -> Refusal:
    """403: a web page may not speak here."""
    return Refusal(403, Code.FORBIDDEN_ORIGIN, "requests made by a web page are refused")


def left_of(end: datetime | None, now: datetime) -> int:
    """Whole seconds to come again after: what is left until then, from a second to an hour. None: an hour."""
    if end is None:
        return LONGEST_RETRY_S
    return max(1, min(ceil((end - now).total_seconds()), LONGEST_RETRY_S))
