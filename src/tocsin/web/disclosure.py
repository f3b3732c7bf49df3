"""Which headers and query parameters a run may see: by allow-list, and never what sounds secret.

Pure. Where a name is on no list, its value stays behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

# What the common senders say about a delivery besides its body: GitHub, GitLab, Shopify, Stripe,
# Standard Webhooks and whoever follows their habit.
SAFE_HEADER: Final = re.compile(
    r"content-type|user-agent|idempotency-key|x-request-id|webhook-(id|timestamp)"
    r"|x-(.+-)?(event|delivery|topic)(-(id|type|key))?|x-(.+-)?(hook|webhook)-id"
)
SAFE_PARAMETER: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}", re.IGNORECASE)
SECRET: Final = re.compile(
    r"authorization|cookie|signature|token|secret|api-?key|access-?key|passw|credential|session|jwt"
)
SECRET_NAMES: Final = frozenset({"auth", "code", "key", "pass", "pwd", "sig"})
MAX_PARAMETERS: Final = 64  # more are no description of a delivery


def safe_headers(headers: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Names in lower case; of equal ones the first."""
    found: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if SAFE_HEADER.fullmatch(lower) and not is_secret(lower):
            found.setdefault(lower, clean(value))
    return found


def safe_query(query: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Names as they were sent; of equal ones the first."""
    found: dict[str, str] = {}
    for name, value in query:
        if SAFE_PARAMETER.fullmatch(name) and not is_secret(name.lower()) and len(found) < MAX_PARAMETERS:
            found.setdefault(name, clean(value))
    return found


def is_secret(name: str) -> bool:
    """Whether a name (in lower case) sounds like something that must not be kept."""
    plain = name.replace("_", "-").replace(".", "-")
    return plain in SECRET_NAMES or SECRET.search(plain) is not None


def clean(value: str) -> str:
    """Text for certain: bytes that are no UTF-8 arrive as surrogates (PEP 383), which nothing could store."""
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
