"""When a cron expression fires on a zone's clock, correct by construction across its changes.

Asked by ``schedule`` and by the lints of ``config``. Instants are aware UTC, wall times naive. Two
rules (cron(8), Debian):

- A *fixed* expression (neither minute nor hour begins with `*`) names times of day: in a gap it fires at
  the first instant after it, in a repeated hour in the first pass only.
- Any other is a rhythm and follows elapsed time: it fires whenever the wall clock shows a match.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import takewhile
from typing import Final
from zoneinfo import ZoneInfo

from tocsin.cronfields import CronExpr, parse
from tocsin.errors import InvalidSchedule
from tocsin.zones import change, first_pass, offset_at, readings, utc, wall_at, zone

__all__ = ["CronExpr", "count", "dst_note", "fires", "next_fire", "parse", "recent", "zone"]

_TICK: Final = timedelta(microseconds=1)  # the smallest step of a datetime: "from" is "after" plus one
_CYCLE: Final = timedelta(days=146_097)  # 400 years: the Gregorian calendar repeats, weekdays included
_CYCLE_MONTHS: Final = 400 * 12
_LOOK_BACK: Final = timedelta(hours=1)  # the first guess at how far back the latest instants reach


def next_fire(expr: CronExpr, tz: ZoneInfo, after: datetime) -> datetime:
    """The first instant later than `after`. Raises InvalidSchedule when 400 years hold none."""
    for at in fires(expr, tz, after):
        if at <= after:
            raise AssertionError(f"{expr.text!r} in {tz.key}: {at} is not later than {after}")
        return at
    raise InvalidSchedule(f"cron {expr.text!r}: never fires in {tz.key}; wanted a time that its clock shows")


def fires(expr: CronExpr, tz: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Every instant later than `after`, ascending, without repeats, for 400 years."""
    walk = _at_times if expr.fixed else _at_rhythm
    return walk(expr, tz, utc(after))


def _at_times(expr: CronExpr, tz: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Each matching wall time once; these instants come in the order of the wall times."""
    for wall in _walls(expr, wall_at(tz, after)):
        at = first_pass(tz, wall)
        if at > after:
            yield at
            after = at


def _at_rhythm(expr: CronExpr, tz: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """Stretch after stretch of constant offset; each begins with the instant of the change itself."""
    turn: datetime | None = after + _TICK
    while turn is not None and turn - after < _CYCLE:
        start, offset = turn, offset_at(tz, turn)
        turn = None
        for wall in _walls(expr, start.replace(tzinfo=None) + offset):
            at = (wall - offset).replace(tzinfo=UTC)
            turn = change(tz, start, at)
            if turn is not None:
                break
            yield at
            start = at


def _walls(expr: CronExpr, start: datetime) -> Iterator[datetime]:
    """Matching wall times from `start` on, ascending, whether a clock shows them or not."""
    skip = bisect_left(expr.times, _minute(start))
    for day in _days(expr, start.date()):
        midnight = datetime(day.year, day.month, day.day)  # noqa: DTZ001 - a wall time
        for minute in expr.times[skip if day == start.date() else 0 :]:
            yield midnight + timedelta(minutes=minute)


def _days(expr: CronExpr, start: date) -> Iterator[date]:
    """Matching days from `start` on, ascending, for one cycle of the calendar."""
    first = start.year * 12 + start.month - 1
    for year, month in (divmod(index, 12) for index in range(first, first + _CYCLE_MONTHS)):
        for day in expr.days(year, month + 1):
            if (found := date(year, month + 1, day)) >= start:
                yield found


def _minute(wall: datetime) -> int:
    """Minutes from midnight to the first full minute that is not before `wall`."""
    return wall.hour * 60 + wall.minute + bool(wall.second or wall.microsecond)


def count(expr: CronExpr, tz: ZoneInfo, *, first: datetime, until: datetime) -> int:
    """How many instants p have first <= p <= until; exact, by days, so that years take milliseconds."""
    start = next(fires(expr, tz, first - _TICK), None)
    if start is None or start > until:
        return 0
    after: datetime | None = start + _TICK
    total, shown = 1, wall_at(tz, start) + _TICK
    while after is not None:
        turn = change(tz, after, until)
        offset, end = offset_at(tz, after), turn or until + _TICK
        low, high = after.replace(tzinfo=None) + offset, end.replace(tzinfo=None) + offset
        total += _in_stretch(expr, low, high, shown=shown)
        after, shown = turn, max(shown, high)
    return total


def _in_stretch(expr: CronExpr, low: datetime, high: datetime, *, shown: datetime) -> int:
    """Instants in a stretch of constant offset, wall times low <= w < high; `shown`: walls known before."""
    if not expr.fixed:
        return _between(expr, low, high)
    swallowed = _between(expr, shown, low) > 0 and not _between(expr, low, low + _TICK)
    return swallowed + _between(expr, max(low, shown), high)


def _between(expr: CronExpr, low: datetime, high: datetime) -> int:
    """Matching wall times with low <= w < high."""
    if low >= high:
        return 0
    days = sum(1 for _ in takewhile(lambda day: day < high.date(), _days(expr, low.date())))
    return days * len(expr.times) - _earlier(expr, low) + _earlier(expr, high)


def _earlier(expr: CronExpr, wall: datetime) -> int:
    """Matching times of that very day before `wall`."""
    matches = wall.day in expr.days(wall.year, wall.month)
    return bisect_left(expr.times, _minute(wall)) if matches else 0


def recent(
    expr: CronExpr, tz: ZoneInfo, *, first: datetime, until: datetime, limit: int
) -> tuple[datetime, ...]:
    """The latest `limit` of the instants first <= p <= until, ascending; fewer when there are not so many."""
    reach = _LOOK_BACK
    while True:
        start = max(first, until - reach)
        held = deque(takewhile(lambda at: at <= until, fires(expr, tz, start - _TICK)), maxlen=limit)
        if len(held) >= limit or start == first:
            return tuple(held)
        reach *= 2


def dst_note(expr: CronExpr, tz: ZoneInfo, planned: datetime) -> str | None:
    """What a change of the clock does to that planned instant, in a few words; None on ordinary days."""
    wall = wall_at(tz, planned)
    forward = offset_at(tz, planned) - offset_at(tz, planned - _TICK)
    lost = next(_walls(expr, wall - forward), wall) if expr.fixed and forward > timedelta() else wall
    if lost < wall:
        shape = "%H:%M" if lost.date() == wall.date() else "%Y-%m-%d %H:%M"
        return f"{lost:{shape}} does not exist on that day; fires at {wall:{shape}}"
    first, second = readings(tz, wall)
    if first < second:
        return f"{'first' if planned == first else 'second'} of two {wall:%H:%M}"
    return None
