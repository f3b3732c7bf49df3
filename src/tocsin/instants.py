"""Instants as the program writes them: microseconds in the database, RFC 3339 with `Z` in JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


def microseconds(at: datetime) -> int:
    """Microseconds since the epoch, exactly; `at` is aware."""
    return (at - EPOCH) // MICROSECOND


def instant(at_us: int) -> datetime:
    """The aware UTC instant that `microseconds` gave."""
    return EPOCH + timedelta(microseconds=at_us)


def rfc3339(at: datetime) -> str:
    """`2026-10-25T00:30:00Z`; a fraction only where there is one."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
