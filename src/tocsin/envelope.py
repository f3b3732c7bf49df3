"""The envelope: one shape for whatever arrived, mounted at `event` in a run's params."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from tocsin.event import Normalized, Occurrence
from tocsin.instants import rfc3339
from tocsin.trigger import Json, Kind

TOCSIN: Final = "tocsin"  # the provider of what it makes itself
MODES: Final[Mapping[Kind, str]] = {
    Kind.SCHEDULE: "schedule",
    Kind.POLL: "poll",
    Kind.FILE: "watch",
    Kind.WEBHOOK: "instance",
    Kind.RUN: "chain",
    Kind.MANUAL: "manual",
}


def envelope(occurrence: Occurrence, received_at: datetime) -> dict[str, Json]:
    """What is stored with a delivery. The event's own id is joined when it is dispatched."""
    return {
        "delivery_id": occurrence.delivery_id,
        "provider": occurrence.provider or TOCSIN,
        "trigger_key": occurrence.component,
        "mode": occurrence.mode or MODES[occurrence.kind],
        "event_type": occurrence.event_type,
        "connection_id": occurrence.connection,
        "occurred_at": rfc3339(occurrence.occurred_at),
        "received_at": rfc3339(received_at),
        "raw_payload": occurrence.payload,
        "normalized_payload": occurrence.normalized.payload,
        "normalized_model_key": occurrence.normalized.model,
        "schema_status": "unchecked",
        "safe_headers": dict(occurrence.safe_headers),
        "safe_query": dict(occurrence.safe_query),
        "reconciliation_hint": occurrence.normalized.hint,
        "trust": "untrusted",
    }


def normalized_of(told: Mapping[str, Json]) -> Normalized:
    """What a stored envelope says in the names of its source's mapping."""
    model = told.get("normalized_model_key")
    return Normalized(
        payload=told.get("normalized_payload"),
        model=model if isinstance(model, str) else None,
        hint=told.get("reconciliation_hint"),
    )
