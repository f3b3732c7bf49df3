"""Words for what arrived and became no event because it could not be verified, attributed or taken.

Made by the web's routes and by ``engine.admission``; kept by ``store.quarantine``; shown by the CLI.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from tocsin.trigger import Json, Kind


class Reason(StrEnum):
    """Why something is kept instead of becoming an event. DESIGN section 14."""

    UNKNOWN_TOPIC = "unknown_topic"
    FAILED_VERIFICATION = "failed_verification"
    MISSING_SUBSCRIPTION = "missing_subscription"
    AMBIGUOUS_ATTRIBUTION = "ambiguous_attribution"
    SCHEMA_INVALID = "schema_invalid"
    OVERFLOW = "overflow"
    STALE_POLICY = "stale_policy"
    FLOOD = "flood"


class Standing(StrEnum):
    """What has become of it. Only what waits still has its body."""

    WAITING = "waiting"
    REPLAYED = "replayed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stray:
    """What is to be kept.

    route: by which way it came (`/api/triggers`, `files`), nothing secret in it. detail: a sentence for
    a person. registration_id: the one trigger that it is for; None for all of the installation's.
    installation_id: None when nobody knows whose it is. headers, query: only what is safe to keep.
    body: the exact bytes, None when there were none. payload: the body as it was read, or what a source
    made; None for a body that was not read, which a replay then reads. delivery_id: None: its own id.
    occurred_at: aware UTC, None for the time when it is kept.
    """

    route: str
    reason: Reason
    detail: str | None = None
    provider: str | None = None
    connection: str | None = None
    installation_id: str | None = None
    registration_id: str | None = None
    kind: Kind = Kind.WEBHOOK
    event_type: str | None = None
    delivery_id: str | None = None
    given_id: str | None = None
    occurred_at: datetime | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    payload: Json = None
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A row: a stray, and what has become of it.

    registration: the name of its one trigger. size: bytes of its body and payload as they arrived.
    truncated: they were too large to be kept whole, so it cannot be replayed. events: what a replay
    made of it, or found that it had become before. settled_at: when it was replayed or dropped.
    """

    id: str
    received_at: datetime
    stray: Stray
    registration: str | None
    size: int
    truncated: bool
    standing: Standing
    events: tuple[str, ...]
    settled_at: datetime | None
