"""The envelope: one shape for whatever arrived, mounted at `event` in a run's params."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from tocsin.event import Occurrence
from tocsin.instants import rfc3339
from tocsin.trigger import Json, Kind

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
        "provider": "tocsin",
        "trigger_key": occurrence.component,
        "mode": MODES[occurrence.kind],
        "event_type": occurrence.event_type,
        "connection_id": occurrence.connection,
        "occurred_at": rfc3339(occurrence.occurred_at),
        "received_at": rfc3339(received_at),
        "raw_payload": occurrence.payload,
        "normalized_payload": None,
        "normalized_model_key": None,
        "schema_status": "unchecked",
        "safe_headers": dict(occurrence.safe_headers),
        "safe_query": dict(occurrence.safe_query),
        "reconciliation_hint": None,
        "trust": "untrusted",
    }
