"""`tocsin.envelope`: one shape for whatever arrived."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tocsin.envelope import envelope
from tocsin.event import Occurrence
from tocsin.trigger import Kind

RECEIVED = datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)
KEYS = {
    *("delivery_id", "provider", "trigger_key", "mode", "event_type", "connection_id", "occurred_at"),
    *("received_at", "raw_payload", "normalized_payload", "normalized_model_key", "schema_status"),
    *("safe_headers", "safe_query", "reconciliation_hint", "trust"),
}  # DESIGN section 10, without event_id, which is joined at dispatch


def occurrence(kind: Kind) -> Occurrence:
    return Occurrence(
        registration_id="trg_1",
        component="webhook",
        component_version=1,
        kind=kind,
        delivery_id="d-1",
        occurred_at=datetime(2026, 1, 1, 13, tzinfo=timezone(timedelta(hours=1))),
        payload={"n": 1},
        body=b'{"n": 1}',
        event_type="push",
        safe_headers={"x-event": "push"},
        safe_query={"a": "b"},
    )


@pytest.mark.parametrize("kind", Kind)
def test_the_shape_is_the_same_for_every_kind(kind: Kind) -> None:
    assert envelope(occurrence(kind), RECEIVED).keys() == KEYS


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        (Kind.SCHEDULE, "schedule"),
        (Kind.FILE, "watch"),
        (Kind.WEBHOOK, "instance"),
        (Kind.RUN, "chain"),
        (Kind.MANUAL, "manual"),
    ],
)
def test_the_mode_follows_from_the_kind(kind: Kind, mode: str) -> None:
    assert envelope(occurrence(kind), RECEIVED)["mode"] == mode


def test_what_arrived_is_told_as_it_was() -> None:
    found = envelope(occurrence(Kind.WEBHOOK), RECEIVED)
    assert found["delivery_id"] == "d-1"
    assert found["trigger_key"] == "webhook"
    assert found["event_type"] == "push"
    assert found["raw_payload"] == {"n": 1}
    assert found["safe_headers"] == {"x-event": "push"}
    assert found["safe_query"] == {"a": "b"}


def test_times_are_utc() -> None:
    found = envelope(occurrence(Kind.WEBHOOK), RECEIVED)
    assert (found["occurred_at"], found["received_at"]) == (
        "2026-01-01T12:00:00Z",
        "2026-01-01T12:00:00.250000Z",
    )


def test_whatever_arrives_is_marked_untrusted() -> None:
    assert envelope(occurrence(Kind.WEBHOOK), RECEIVED)["trust"] == "untrusted"


def test_the_exact_bytes_stay_out_of_it() -> None:
    json.dumps(envelope(occurrence(Kind.WEBHOOK), RECEIVED), allow_nan=False)
