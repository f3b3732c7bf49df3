"""A cron expression's text, and the dates and times of day it names; nothing of zones or instants.

`parse` reads crontab(5) syntax as Vixie cron does (as croniter does where Vixie has no word: `L`,
`W`, `#`); `CronExpr` tells which days of a month and which minutes of a day match. ``cron`` puts
them on a zone's clock.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Final

from tocsin.errors import InvalidSchedule

_MAX_LENGTH: Final = 256  # characters; a full list of minutes takes 168
_YEAR_TYPES: Final = range(2000, 2028)  # every pairing of leap year and weekday of 1 January, twice over
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LAST: Final = -1  # in place of 1 to 5: the last of its weekday in a month

_ALIASES: Final = {
    "@hourly": "0 * * * *",
    **dict.fromkeys(("@daily", "@midnight"), "0 0 * * *"),
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    **dict.fromkeys(("@yearly", "@annually"), "0 0 1 1 *"),
}

_ITEM: Final = re.compile(r"(?P<low>\*|[a-z]+|[0-9]+)(?:-(?P<high>[a-z]+|[0-9]+))?(?:/(?P<step>[0-9]+))?")
_RANDOM: Final = re.compile(r"[hr]([(/].*)?|.*\?.*")
_NEAREST: Final = re.compile(r"([0-9]+)w|w([0-9]+)")
_NTH: Final = re.compile(r"([^/*]+)#([1-5])")
_LAST_OF: Final = re.compile(r"l([0-7])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dates:
    """The day-of-month field. last: also the last day; nearest: also the workday nearest to each."""

    plain: frozenset[int]
    last: bool
    nearest: frozenset[int]

    def of(self, year: int, month: int) -> set[int]:
        """The days of that month that it names."""
        length = calendar.monthrange(year, month)[1]
        plain = {day for day in self.plain if day <= length} | ({length} if self.last else set())
        return plain | {_nearest_workday(year, month, min(day, length)) for day in self.nearest}


def _nearest_workday(year: int, month: int, day: int) -> int:
    """The day from Monday to Friday nearest to this one, in the same month (croniter's `W`)."""
    near = (day + shift for shift in (0, -1, 1, -2, 2))
    inside = (day for day in near if 1 <= day <= calendar.monthrange(year, month)[1])
    return next(day for day in inside if calendar.weekday(year, month, day) < calendar.SATURDAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weekdays:
    """The day-of-week field, Sunday 0. nth: also the (weekday, 1 to 5 or -1 for the last) of a month."""

    plain: frozenset[int]
    nth: frozenset[tuple[int, int]]

    def of(self, year: int, month: int) -> set[int]:
        """The days of that month that it names."""
        before, length = calendar.monthrange(year, month)  # before: weekday of the first, Monday 0
        return {day for day in range(1, length + 1) if self._names((before + day) % 7, day, length)}

    def _names(self, weekday: int, day: int, length: int) -> bool:
        last = day + 7 > length and (weekday, _LAST) in self.nth
        return last or weekday in self.plain or (weekday, (day + 6) // 7) in self.nth


@dataclass(frozen=True, slots=True, kw_only=True)
class CronExpr:
    """What a valid expression matches on a wall clock.

    text: as written, trimmed. times: matching minutes of a day, counted from midnight, ascending.
    months: 1 to 12. both: date *and* weekday must match, else either does. fixed: neither minute nor
    hour begins with `*`, so it names times of day and not a rhythm.
    """

    text: str
    times: tuple[int, ...]
    months: frozenset[int]
    dates: Dates
    weekdays: Weekdays
    both: bool
    fixed: bool

    def days(self, year: int, month: int) -> list[int]:
        """The matching days of that month, ascending; empty when there is none."""
        if month not in self.months:
            return []
        by_date, by_weekday = self.dates.of(year, month), self.weekdays.of(year, month)
        return sorted(by_date & by_weekday if self.both else by_date | by_weekday)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """One of the five. high: its greatest value; top: where `*` and `N/step` end; extra: its other forms."""

    name: str
    low: int
    high: int
    top: int
    names: tuple[str, ...] = ()
    extra: str = ""

    def values(self, item: str) -> frozenset[int]:
        """What one list item (`*`, `5`, `1-5`, `*/2`, `1-9/3`, `5/10`) stands for."""
        if _RANDOM.fullmatch(item):
            raise self.bad(item, "is not supported (no H, R or ?)")
        found = _ITEM.fullmatch(item)
        if found is None or (found["low"] == "*" and found["high"]):
            raise self.bad(item, "is not understood")
        first, last = self._ends(item, found["low"], found["high"], stepped=found["step"] is not None)
        most = last - first if found["high"] else self.top - self.low
        step = found["step"] or "1"
        if len(step) > 2 or not 1 <= int(step) <= max(most, 1):  # two digits are all that any field needs
            raise self.bad(item, f"has step {step}, which must be from 1 to {max(most, 1)} here")
        return frozenset(range(first, last + 1, int(step)))

    def _ends(self, item: str, low: str, high: str | None, *, stepped: bool) -> tuple[int, int]:
        if low == "*":
            return self.low, self.top
        first = self._value(item, low)
        if high is None:
            return first, max(first, self.top) if stepped else first
        last = self._value(item, high)
        if high == "sun" and first > last:
            last = self.high  # a range may end in Sunday, which is 7 as well as 0
        if first > last:
            raise self.bad(item, "runs backwards")
        return first, last

    def _value(self, item: str, token: str) -> int:
        if token in self.names:
            return self.low + self.names.index(token)
        if not token.isdigit():
            raise self.bad(item, "is not understood" + _hint(token, self.names))
        if len(token) > 2 or not self.low <= int(token) <= self.high:
            raise self.bad(item, "is out of range")
        return int(token)

    def bad(self, item: str, problem: str) -> InvalidSchedule:
        """The error that names this field, the item seen and the values wanted."""
        return InvalidSchedule(
            f"{self.name} {item!r} {problem}; wanted {self.low} to {self.high}{self.extra}"
        )


_MINUTE: Final = _Field(name="minute", low=0, high=59, top=59)
_HOUR: Final = _Field(name="hour", low=0, high=23, top=23)
_DATE: Final = _Field(name="day of month", low=1, high=31, top=31, extra=", L or 15W")
_MONTH: Final = _Field(name="month", low=1, high=12, top=12, names=_MONTHS, extra=" or jan to dec")
_WEEKDAY: Final = _Field(
    name="day of week", low=0, high=7, top=6, names=_WEEKDAYS, extra=" or sun to sat, mon#1 or L5"
)


@lru_cache(maxsize=1024)  # the loop asks again at every fire; more triggers than this are rare
def parse(expr: str) -> CronExpr:
    """Read five fields (minute, hour, day of month, month, day of week) or an @alias.

    Numbers, three-letter names in any case, lists, ranges, steps; `L` (last day of the month), `15W`
    (nearest workday), `mon#1`, `L5` (last Friday). Sunday is 0 or 7. A day field that begins with `*`
    is unrestricted, so the other must match as well; two restricted ones are OR'ed (crontab(5)).
    Raises InvalidSchedule naming the field, what was seen and what is wanted, also when nothing ever matches.
    """
    if len(expr) > _MAX_LENGTH:
        raise InvalidSchedule(f"cron: {len(expr)} characters; wanted at most {_MAX_LENGTH}")
    if not expr.isascii():
        raise InvalidSchedule(
            f"cron {expr!r}: a character outside ASCII; wanted digits, names, * , - / # L W"
        )
    try:
        return _assemble(expr.strip(), _five(expr.lower().split()))
    except InvalidSchedule as problem:
        raise InvalidSchedule(f"cron {expr!r}: {problem}") from None


def _five(words: list[str]) -> list[str]:
    """The five fields of an expression or alias, lower case."""
    if words and words[0].startswith("@"):
        return _alias(" ".join(words)).split()
    if len(words) == 5:
        return words
    seconds = " and seconds are not supported" if len(words) in (6, 7) else ""
    wanted = f"five fields are expected{seconds} (minute, hour, day of month, month, day of week)"
    raise InvalidSchedule(f"{len(words)} fields seen; {wanted}")


def _alias(word: str) -> str:
    if word in _ALIASES:
        return _ALIASES[word]
    problem = "is not a time, and an engine's start fires nothing" if word == "@reboot" else "is unknown"
    raise InvalidSchedule(
        f"alias {word!r} {problem}{_hint(word, _ALIASES)}; wanted one of {' '.join(_ALIASES)}"
    )


def _hint(word: str, known: Iterable[str]) -> str:
    return "".join(f" (did you mean {name}?)" for name in get_close_matches(word, list(known), n=1))


def _assemble(text: str, words: list[str]) -> CronExpr:
    """Put the fields together; refuses what matches no day of any year."""
    minute, hour, date, month, weekday = words
    minutes, hours = _plain(_MINUTE, minute.split(",")), _plain(_HOUR, hour.split(","))
    expr = CronExpr(
        text=text,
        times=tuple(sorted(60 * h + m for h in hours for m in minutes)),
        months=_plain(_MONTH, month.split(",")),
        dates=_dates(date.split(",")),
        weekdays=_weekdays(weekday.split(",")),
        both=date.startswith("*") or weekday.startswith("*"),
        fixed=not (minute.startswith("*") or hour.startswith("*")),
    )
    if not any(expr.days(year, number) for year in _YEAR_TYPES for number in expr.months):
        raise InvalidSchedule(
            f"day of month {date!r} never comes in month {month!r}; wanted a day that exists"
        )
    return expr


def _plain(field_: _Field, items: list[str]) -> frozenset[int]:
    return frozenset[int]().union(*(field_.values(item) for item in items))


def _dates(items: list[str]) -> Dates:
    """`L` and `15W` are taken out; the rest is plain."""
    near = [item for item in items if _NEAREST.fullmatch(item)]
    rest = [item for item in items if item not in near and item != "l"]
    nearest = _plain(_DATE, [item.strip("w") for item in near])
    return Dates(plain=_plain(_DATE, rest), last="l" in items, nearest=nearest)


def _weekdays(items: list[str]) -> Weekdays:
    """`mon#1` and `L5` are taken out; the rest is plain. 7 becomes 0."""
    nth = {(day % 7, int(m[2])) for m in map(_NTH.fullmatch, items) if m for day in _WEEKDAY.values(m[1])}
    last = {(int(m[1]) % 7, _LAST) for m in map(_LAST_OF.fullmatch, items) if m}
    rest = [item for item in items if not (_NTH.fullmatch(item) or _LAST_OF.fullmatch(item))]
    return Weekdays(plain=frozenset(day % 7 for day in _plain(_WEEKDAY, rest)), nth=frozenset(nth | last))
