"""Instants as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tocsin.cli.times import both, local, local_rfc3339, relative

NOW = datetime(2026, 10, 24, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(milliseconds=300), "now"),
        (timedelta(milliseconds=-300), "now"),
        (timedelta(seconds=5.9), "in 5s"),
        (timedelta(minutes=2, seconds=3), "in 2m3s"),
        (timedelta(hours=3, minutes=10, seconds=59), "in 3h10m"),
        (timedelta(days=14), "in 14d"),
        (timedelta(days=3, hours=4, minutes=59), "in 3d4h"),
        (-timedelta(hours=1), "1h ago"),
    ],
)
def test_relative(length: timedelta, text: str) -> None:
    assert relative(NOW + length, NOW) == text


def test_a_local_time_names_its_zone() -> None:
    assert local(NOW, "Europe/Berlin") == "2026-10-24 14:00:00 CEST"
    assert local_rfc3339(NOW, "Europe/Berlin") == "2026-10-24T14:00:00+02:00"


def test_both_together() -> None:
    assert both(NOW + timedelta(hours=1), NOW, "UTC") == "in 1h · 2026-10-24 13:00:00 UTC"
    assert both(None, NOW) is None
