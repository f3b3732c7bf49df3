"""What was kept in the quarantine as facts and as JSON. Pure but for the clock that ages are counted by."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from tocsin.cli import render
from tocsin.cli.session import now
from tocsin.cli.times import both, zulu
from tocsin.instants import rfc3339
from tocsin.quarantine import Kept
from tocsin.trigger import Json


def shown_payload(row: Kept) -> str:
    """What arrived, as a person reads it."""
    if row.stray.payload is not None:
        return render.json_text(row.stray.payload, indent=2)
    return (row.stray.body or b"").decode("utf-8", "replace")


def facts(row: Kept) -> Iterator[tuple[str, str | None]]:
    """All that is known of one, but for the payload."""
    moment, stray = now(), row.stray
    yield "id", row.id
    yield "received", both(row.received_at, moment)
    yield "reason", stray.reason
    yield "detail", stray.detail
    yield "route", stray.route
    yield "provider", stray.provider
    yield "connection", stray.connection
    yield "trigger", row.registration
    yield "event type", stray.event_type
    yield "delivery", stray.delivery_id
    yield "headers", ", ".join(f"{name}: {value}" for name, value in stray.headers.items()) or None
    yield "query", ", ".join(f"{name}={value}" for name, value in stray.query.items()) or None
    yield "size", f"{row.size} bytes" + (", only the beginning was kept" if row.truncated else "")
    yield "state", row.standing
    yield "events", ", ".join(row.events) or None
    yield "settled", both(row.settled_at, moment)


def summary(row: Kept) -> dict[str, Json]:
    """INTERFACE section 4."""
    return {
        "id": row.id,
        "received_at": rfc3339(row.received_at),
        "route": row.stray.route,
        "reason": row.stray.reason,
        "registration": row.registration,
        "state": row.standing,
        "detail": row.stray.detail,
    }


def document(row: Kept) -> dict[str, Json]:
    """All that is known of one. body_base64: null once it is replayed or dropped."""
    stray = row.stray
    return summary(row) | {
        "provider": stray.provider,
        "connection": stray.connection,
        "kind": stray.kind,
        "event_type": stray.event_type,
        "delivery_id": stray.delivery_id,
        "occurred_at": zulu(stray.occurred_at),
        "safe_headers": dict(stray.headers),
        "safe_query": dict(stray.query),
        "size": row.size,
        "truncated": row.truncated,
        "raw_payload": stray.payload,
        "body_base64": None if stray.body is None else base64.b64encode(stray.body).decode(),
        "events": list(row.events),
        "settled_at": zulu(row.settled_at),
    }
