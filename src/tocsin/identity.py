"""Ids and hashes: who is who, and what counts as the same thing.

Pure but for the random bits of a new id.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from datetime import datetime
from typing import Final

from tocsin.instants import microseconds
from tocsin.trigger import Json, Kind

REGISTRATION: Final = "trg"
INSTALLATION: Final = "ins"
DELIVERY: Final = "dlv"
EVENT: Final = "evt"
RUN: Final = "run"
QUARANTINE: Final = "qua"
CLAIM: Final = "clm"
OWNER: Final = "own"

TOKEN_BYTES: Final = 24  # 192 bits; DESIGN section 10 asks for at least 128


def new_id(prefix: str, now: datetime) -> str:
    """`prefix_` and a UUIDv7 (RFC 9562) in 32 hex digits: sorts by time of making."""
    millis = microseconds(now) // 1000
    value = (millis & ((1 << 48) - 1)) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return f"{prefix}_{value:032x}"


def dedupe_hash(
    *, tenant: str, registration_id: str, kind: Kind, delivery_id: str, generation: int = 1
) -> str:
    """Lower-case hex SHA-256 over the four fields, each as decimal byte length, `:`, UTF-8 bytes.

    The lengths keep ("ab", "c") and ("a", "bc") apart. generation: above 1, a fifth field, for an id
    that was forgotten and counts as new again.
    """
    digest = hashlib.sha256()
    again = () if generation == 1 else (str(generation),)
    for field in (tenant, registration_id, kind, delivery_id, *again):
        data = field.encode()
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()


def idempotency_key(hash_: str) -> str:
    """Constant for the event; travels with each of its runs."""
    return f"trigger:{hash_}"


def engine_key(key: str, attempt: int) -> str:
    """One attempt's own key, for engines that deduplicate themselves."""
    return f"{key}:{attempt}"


def new_token() -> str:
    """A fresh webhook token, safe in a URL path."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def token_hash(token: str) -> str:
    """What the database holds of a token: lower-case hex SHA-256."""
    return hashlib.sha256(token.encode()).hexdigest()


def document_hash(document: Json) -> str:
    """Lower-case hex SHA-256 of a JSON document, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
