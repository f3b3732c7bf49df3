"""What a time zone's clock shows, and when it is changed; nothing of schedules.

Used by ``cron`` and by whoever takes a zone's name. Instants are aware UTC, wall times naive. All of it is
learned from ``zoneinfo`` by asking for offsets, so zones with shifts of half an hour or of a day hold.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from tocsin.errors import InvalidSchedule

_SECOND: Final = timedelta(seconds=1)  # zones change at whole seconds
_STRIDE: Final = timedelta(days=3)  # no zone changed twice within 6.9 days since 1970 (tzdata 2026f)
_YEARS: Final = range(1900, 9000)  # two cycles of the calendar and any offset still fit a datetime
_HOST_BOUND: Final = ("localtime", "posixrules", "posix/", "right/")  # files beside the IANA names
_SHOWN: Final = 64  # characters of a bad name that are repeated; the longest real one has 32


@lru_cache(maxsize=512)  # all real names fit; zoneinfo itself keeps only eight from being read again
def zone(name: str) -> ZoneInfo:
    """The IANA zone of that name. Raises InvalidSchedule with the nearest spelling when there is none."""
    try:
        if not name.startswith(_HOST_BOUND):
            return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; `../x`, NUL or no zone file; a directory, too long
        pass
    names = {known.lower(): known for known in available_timezones() if not known.startswith(_HOST_BOUND)}
    near = get_close_matches(name[:_SHOWN].lower(), names, n=1)
    hint = f" (did you mean {names[near[0]]}?)" if near else ""
    raise InvalidSchedule(f"tz {name[:_SHOWN]!r}: unknown zone{hint}; wanted an IANA name like Europe/Berlin")


def utc(at: datetime) -> datetime:
    """The same instant in UTC. Raises InvalidSchedule when it has no zone or is too far to reckon with."""
    if at.tzinfo is None:
        raise InvalidSchedule(
            f"time {at.isoformat()} has no zone; wanted an offset, as in 2026-01-31T09:00:00Z"
        )
    if at.year not in _YEARS:
        raise InvalidSchedule(f"year {at.year} is out of range; wanted {_YEARS.start} to {_YEARS.stop - 1}")
    return at.astimezone(UTC)


def offset_at(tz: ZoneInfo, at: datetime) -> timedelta:
    """How far the zone's clock is ahead of UTC at that instant."""
    return at.astimezone(tz).utcoffset() or timedelta()


def wall_at(tz: ZoneInfo, at: datetime) -> datetime:
    """What the zone's clock shows at that instant."""
    return at.astimezone(tz).replace(tzinfo=None)


def readings(tz: ZoneInfo, wall: datetime) -> tuple[datetime, datetime]:
    """The instants that a wall time may mean: equal; ascending if it is shown twice, descending if never."""
    first, second = (wall.replace(tzinfo=tz, fold=fold).astimezone(UTC) for fold in (0, 1))
    return first, second


def first_pass(tz: ZoneInfo, wall: datetime) -> datetime:
    """When the clock first shows `wall`; where it never does, the end of the gap that swallows it."""
    first, second = readings(tz, wall)
    return first if first <= second else change(tz, second, first) or first


def change(tz: ZoneInfo, start: datetime, end: datetime) -> datetime | None:
    """The first instant in (start, end] at which the zone has another offset than before; None if none."""
    offset = offset_at(tz, start)
    while start < end:
        probe = min(start + _STRIDE, end)
        if offset_at(tz, probe) != offset:
            return _pinned(tz, start.replace(microsecond=0), probe.replace(microsecond=0))
        start = probe
    return None


def _pinned(tz: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The change between two whole seconds, by halving."""
    offset = offset_at(tz, before)
    while after - before > _SECOND:
        middle = before + (after - before) // _SECOND // 2 * _SECOND
        before, after = (middle, after) if offset_at(tz, middle) == offset else (before, middle)
    return after
