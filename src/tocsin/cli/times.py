"""Instants as people read them: how far away, and on which zone's clock. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from tocsin.duration import format_duration
from tocsin.instants import rfc3339

DAY: Final = timedelta(days=1)
COARSE: Final = (DAY, timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1))
TOGETHER: Final = 2  # units shown of a length: 3d4h, 2h10m, 5m12s


def relative(at: datetime, now: datetime) -> str:
    """`in 3h10m`, `5m ago`, `now`."""
    if abs(at - now) < COARSE[-1]:
        return "now"
    text = rough(abs(at - now))
    return f"in {text}" if at > now else f"{text} ago"


def rough(length: timedelta) -> str:
    """The length to its two largest units, rounded down."""
    largest = next((index for index, unit in enumerate(COARSE) if length >= unit), len(COARSE) - 1)
    smallest = COARSE[min(largest + TOGETHER - 1, len(COARSE) - 1)]
    return in_days(length // smallest * smallest)


def in_days(length: timedelta) -> str:
    """Days, never weeks: `10d`, `14d`."""
    days, rest = divmod(length, DAY)
    return (f"{days}d" if days else "") + (format_duration(rest) if rest or not days else "")


def local(at: datetime, tz: str | None = None) -> str:
    """`2026-10-24 08:00:00 CEST`: in that IANA zone, else in the machine's."""
    shown = in_zone(at, tz)
    return f"{shown:%Y-%m-%d %H:%M:%S} {shown:%Z}"


def local_rfc3339(at: datetime, tz: str) -> str:
    """The same instant with the zone's offset, for JSON."""
    return in_zone(at, tz).isoformat()


def in_zone(at: datetime, tz: str | None) -> datetime:
    """On that zone's clock. Raises InvalidSchedule for an unknown one."""
    if tz is None:
        return at.astimezone()
    from tocsin.zones import zone  # reads the zone database

    return at.astimezone(zone(tz))


def both(at: datetime | None, now: datetime, tz: str | None = None) -> str | None:
    """`in 3h10m · 2026-10-24 08:00:00 CEST`; None for None."""
    return None if at is None else f"{relative(at, now)} · {local(at, tz)}"


def until(at: datetime | None, now: datetime) -> str | None:
    """`until 2026-10-24 08:00:00 CEST, in 3h10m`; None for None."""
    return None if at is None else f"until {local(at)}, {relative(at, now)}"


def zulu(at: datetime | None) -> str | None:
    """RFC 3339 in UTC, or None."""
    return None if at is None else rfc3339(at)
