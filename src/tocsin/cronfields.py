"""A cron expression's text and the dates and times of day it names; nothing of zones or instants.

`parse` reads crontab(5) syntax as Vixie cron does (and croniter where Vixie has no word: `L`, `W`, `#`),
`CronExpr` answers which days of a month and which minutes of a day match. ``cron`` puts them on a
zone's clock.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from tocsin.errors import InvalidSchedule

_MAX_LENGTH: Final = 256  # characters; a full list of minutes takes 168
_YEAR_TYPES: Final = range(2000, 2028)  # every pair of leap year and weekday of 1 January, once at least
_MONTHS: Final = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if number}
_WEEKDAYS: Final = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
_LAST: Final = -1  # stands for the last one of its weekday in a month

_ALIASES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}

_RANGE: Final = re.compile(r"(?P<low>\*|[a-z]+|[0-9]+)(?:-(?P<high>[a-z]+|[0-9]+))?(?:/(?P<step>[0-9]{1,9}))?")
_RANDOM: Final = re.compile(r"[hr](\(.*|/.*)?|.*\?.*")
_NEAREST: Final = re.compile(r"([0-9]{1,2})w|w([0-9]{1,2})")
_NTH: Final = re.compile(r"([^/*]+)#([1-5])")
_LAST_WEEKDAY: Final = re.compile(r"l([0-7])")


@dataclass(frozen=True, slots=True, kw_only=True)
class CronExpr:
    """What a valid expression matches on a wall clock.

    text: as written, trimmed. times: matching minutes of a day after midnight, ascending. months: 1 to
    12. dates: days of the month; last_date: also the last one; nearest: also the weekday (Monday to
    Friday) nearest to each of these. weekdays: 0 is Sunday; nth: also the nth such weekday of a month,
    (weekday, 1 to 5, or -1 for its last). both: date *and* weekday must match, else either does.
    fixed: neither minute nor hour begins with `*`, so it names times of day rather than a rhythm.
    """

    text: str
    times: tuple[int, ...]
    months: frozenset[int]
    dates: frozenset[int]
    last_date: bool
    nearest: frozenset[int]
    weekdays: frozenset[int]
    nth: frozenset[tuple[int, int]]
    both: bool
    fixed: bool

    def days(self, year: int, month: int) -> list[int]:
        """The matching days of that month, ascending; empty when there is none."""
        if month not in self.months:
            return []
        before, length = calendar.monthrange(year, month)  # before: weekday of the first, Monday is 0
        by_date = self._by_date(year, month, length)
        by_weekday = {day for day in range(1, length + 1) if self._on_weekday(day, before, length)}
        chosen = by_date & by_weekday if self.both else by_date | by_weekday
        return sorted(day for day in chosen if day <= length)

    def _by_date(self, year: int, month: int, length: int) -> set[int]:
        nearest = {_nearest_workday(year, month, min(day, length)) for day in self.nearest}
        return {*self.dates, *nearest, *([length] if self.last_date else [])}

    def _on_weekday(self, day: int, before: int, length: int) -> bool:
        weekday = (before + day) % 7
        if weekday in self.weekdays or (weekday, (day + 6) // 7) in self.nth:
            return True
        return day + 7 > length and (weekday, _LAST) in self.nth


def _nearest_workday(year: int, month: int, day: int) -> int:
    """The day from Monday to Friday nearest to this one, within the month (Quartz's W, as in croniter)."""
    weekday = calendar.weekday(year, month, day)
    if weekday == calendar.SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == calendar.SUNDAY:
        return day + 1 if day < calendar.monthrange(year, month)[1] else day - 2
    return day


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One of the five fields. high: its greatest value; top: where `*` and `N/step` end."""

    name: str
    low: int
    high: int
    top: int
    names: Mapping[str, int] = field(default_factory=dict)

    def wanted(self) -> str:
        names = f" or {'/'.join(self.names)}" if self.names else ""
        return f"{self.low}-{self.high}{names}"

    def values(self, item: str) -> frozenset[int]:
        """What one list item (`*`, `5`, `1-5`, `*/2`, `1-9/3`, `5/10`) stands for, as numbers."""
        found = _RANGE.fullmatch(item)
        if found is None or (found["low"] == "*" and found["high"]):
            raise self.bad(item, "is not understood")
        low, high, open_ended = self._bounds(item, found["low"], found["high"], step=found["step"])
        step = int(found["step"] or 1)
        span = self.top - self.low if open_ended else high - low
        if step == 0 or step > max(span, 1):
            raise self.bad(item, f"has step {step}; a step from 1 to {max(span, 1)} fits here")
        return frozenset(range(low, high + 1, step))

    def _bounds(self, item: str, low: str, high: str | None, *, step: str | None) -> tuple[int, int, bool]:
        """First and last value, and whether the end was left open (`*`, `5/10`)."""
        if low == "*":
            return self.low, self.top, True
        first = self._value(item, low)
        if high is None:
            return first, (first if step is None else max(first, self.top)), step is not None
        last = self._value(item, high)
        if high == "sun" and first > last:
            last = self.high  # a range may end in Sunday, which is 0 and 7
        if first > last:
            raise self.bad(item, "runs backwards")
        return first, last, False

    def _value(self, item: str, token: str) -> int:
        if token in self.names:
            return self.names[token]
        if not token.isdigit():
            near = get_close_matches(token, self.names, n=1)
            raise self.bad(item, f"is not understood (did you mean {near[0]}?)" if near else "is not understood")
        if len(token) > 2 or not self.low <= int(token) <= self.high:  # noqa: PLR2004 - digits of the longest value
            raise self.bad(item, "is out of range")
        return int(token)

    def bad(self, item: str, problem: str) -> InvalidSchedule:
        return InvalidSchedule(f"{self.name} {item!r} {problem}; wanted {self.wanted()}")


_MINUTE: Final = _Field(name="minute", low=0, high=59, top=59)
_HOUR: Final = _Field(name="hour", low=0, high=23, top=23)
_DATE: Final = _Field(name="day of month", low=1, high=31, top=31)
_MONTH: Final = _Field(name="month", low=1, high=12, top=12, names=_MONTHS)
_WEEKDAY: Final = _Field(name="day of week", low=0, high=7, top=6, names=_WEEKDAYS)


@lru_cache(maxsize=1024)  # the loop asks again at every fire; more triggers than this are rare
def parse(expr: str) -> CronExpr:
    """Read five fields (minute, hour, day of month, month, day of week) or an @alias.

    Numbers, three-letter names in any case, lists, ranges, steps; `L` (last day), `15W` (nearest
    weekday), `mon#1`, `L5` (last Friday). Sunday is 0 or 7. A day field that begins with `*` is
    unrestricted, so both day fields must match; two restricted ones are OR'ed (crontab(5)).
    Raises InvalidSchedule naming the field, what was seen and what is wanted, also for an expression
    that never matches.
    """
    if len(expr) > _MAX_LENGTH:
        raise InvalidSchedule(f"cron is {len(expr)} characters long; wanted at most {_MAX_LENGTH}")
    if not expr.isascii():
        raise InvalidSchedule(f"cron {expr!r}: has a character outside ASCII; wanted digits, names and , - * / # L W")
    try:
        return _matching(expr.strip(), _five(expr.lower().split()))
    except InvalidSchedule as problem:
        raise InvalidSchedule(f"cron {expr!r}: {problem}") from None


def _five(words: list[str]) -> list[str]:
    """The five fields of an expression or alias, lower case."""
    if len(words) == 1 and words[0].startswith("@"):
        return _alias(words[0]).split()
    if len(words) == 5:  # noqa: PLR2004 - minute, hour, day of month, month, day of week
        return words
    seconds = ", and seconds are not supported" if len(words) in (6, 7) else ""
    raise InvalidSchedule(
        f"five fields are expected{seconds}: minute hour day-of-month month day-of-week; {len(words)} found"
    )


def _alias(word: str) -> str:
    if word == "@reboot":
        raise InvalidSchedule("@reboot is not a time; let the command run before the engine starts instead")
    if word not in _ALIASES:
        near = "".join(f" (did you mean {name}?)" for name in get_close_matches(word, _ALIASES, n=1))
        raise InvalidSchedule(f"alias {word!r} is unknown{near}; wanted one of {' '.join(_ALIASES)}")
    return _ALIASES[word]


def _matching(text: str, words: list[str]) -> CronExpr:
    """Put the fields together; refuses what matches no day of any year."""
    minute, hour, date, month, weekday = words
    minutes, hours = _plain(_MINUTE, minute), _plain(_HOUR, hour)
    expr = CronExpr(
        text=text,
        times=tuple(sorted(h * 60 + m for h in hours for m in minutes)),
        months=_plain(_MONTH, month),
        **_dates(date),
        **_weekdays(weekday),
        both=date.startswith("*") or weekday.startswith("*"),
        fixed=not minute.startswith("*") and not hour.startswith("*"),
    )
    if not any(expr.days(year, month) for year in _YEAR_TYPES for month in sorted(expr.months)):
        raise InvalidSchedule(f"day of month {date!r} never occurs in month {month!r}; wanted a day that exists")
    return expr
