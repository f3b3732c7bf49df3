"""A second opinion on cron: every UTC minute is looked at, with nothing but zoneinfo.

Its field parser and its view of the clock share no code with ``tocsin``; slow and plain on purpose.
Plain fields only: numbers, lists, ranges, steps (no names, `L`, `W`, `#`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
LEAD = timedelta(hours=26)  # walked before a window, to know which wall times were shown already
BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


def members(text: str, low: int, high: int) -> set[int]:
    """The numbers that one field names."""
    found: set[int] = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        first, _, last = (f"{low}-{high}" if span == "*" else span).partition("-")
        end = last or (str(high) if step else first)
        found |= set(range(int(first), int(end) + 1, int(step or 1)))
    return found


class Rule:
    """Five fields of crontab(5)."""

    def __init__(self, text: str) -> None:
        self.fields = text.split()
        sets = [members(field, *bounds) for field, bounds in zip(self.fields, BOUNDS, strict=True)]
        self.minutes, self.hours, self.dates, self.months = sets[:4]
        self.weekdays = {day % 7 for day in sets[4]}

    def matches(self, wall: datetime) -> bool:
        """Whether a wall time is named by the fields."""
        if wall.minute not in self.minutes or wall.hour not in self.hours or wall.month not in self.months:
            return False
        date, weekday = wall.day in self.dates, wall.isoweekday() % 7 in self.weekdays
        starred = self.fields[2][0] == "*" or self.fields[4][0] == "*"
        return (date and weekday) if starred else (date or weekday)

    @property
    def fixed(self) -> bool:
        """Whether it names times of day."""
        return self.fields[0][0] != "*" and self.fields[1][0] != "*"


@lru_cache(maxsize=64)
def minutes(key: str, start: datetime, stop: datetime) -> list[tuple[datetime, datetime]]:
    """Every UTC minute from start (included) to stop (not), with what the zone's clock shows then."""
    tz, found, at = ZoneInfo(key), [], start
    while at < stop:
        found.append((at, at.astimezone(tz).replace(tzinfo=None)))
        at += MINUTE
    return found


def fires(text: str, key: str, start: datetime, stop: datetime) -> list[datetime]:
    """The instants in [start, stop) at which the rule fires; both are whole minutes UTC."""
    rule, found = Rule(text), []
    walk = minutes(key, start - LEAD, stop)
    shown = walk[0][1] - MINUTE
    for at, wall in walk:
        if rule.matches(wall) if not rule.fixed else newly_named(rule, shown, wall):
            found.append(at)
        shown = max(shown, wall)
    return [at for at in found if at >= start]


def newly_named(rule: Rule, shown: datetime, wall: datetime) -> bool:
    """Whether a wall minute not shown before, up to this one, is named (a gap is crossed at once)."""
    while shown < wall:
        shown += MINUTE
        if rule.matches(shown):
            return True
    return False


def whole_minute(text: str) -> datetime:
    """An instant written as RFC 3339."""
    return datetime.fromisoformat(text).astimezone(UTC)
