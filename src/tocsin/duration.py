"""Lengths of time as people write them: ``500ms 30s 5m 2h 1d 1w 1h30m``.

Read by ``config``, ``schedule`` and the CLI; written by every face. Knows nothing of clocks or zones.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from tocsin.errors import InvalidSchedule

WANTED: Final = "a whole number with a unit, like 500ms, 30s, 5m, 2h, 1d, 1w or 1h30m"

_UNITS: Final = {
    "w": timedelta(weeks=1),
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_DIGITS: Final = 15  # in milliseconds 31,688 years: more than anyone means, less than timedelta holds
_PARTS: Final = re.compile("".join(rf"(?:(?P<{unit}>[0-9]{{1,{_DIGITS}}}){unit})?" for unit in _UNITS))
_SHOWN: Final = 40  # characters of a bad value that are repeated to its author


def parse_duration(text: str) -> timedelta:
    """The length that the text names; never negative, zero is allowed.

    Parts stand from the longest unit to the shortest, each at most once, without spaces. Raises
    InvalidSchedule for anything else: empty, negative, a fraction, a bare number, too long.
    """
    found = _PARTS.fullmatch(text)
    if not text or found is None:
        raise InvalidSchedule(f"duration {text[:_SHOWN]!r}{_why(text)}; wanted {WANTED}")
    try:
        return sum((int(n) * _UNITS[unit] for unit, n in found.groupdict("0").items()), timedelta())
    except OverflowError:
        raise InvalidSchedule(f"duration {text[:_SHOWN]!r} is too long; wanted {WANTED}") from None


def _why(text: str) -> str:
    """What is wrong in a few words, when it is one of the usual slips."""
    if not text.strip():
        return " is empty"
    if text.startswith("-"):
        return " is negative"
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        return " has no unit"
    return " is not a duration"


def format_duration(length: timedelta) -> str:
    """The shortest text that `parse_duration` reads back as the same length, like ``1h30m``.

    Rounded to whole milliseconds; weeks only when nothing is left over (``2w``, but ``10d``). A
    negative length gets a minus sign, for display: `parse_duration` refuses it.
    """
    rest = (abs(length) // timedelta(microseconds=1) + 500) // 1000  # milliseconds, rounded
    sign = "-" if length < timedelta() and rest else ""
    return sign + (_spelled(rest) or "0s")


def _spelled(rest: int) -> str:
    """Milliseconds in words; empty for zero."""
    parts = []
    for unit, size in _UNITS.items():
        count, left = divmod(rest, size // _UNITS["ms"])
        if count and not (unit == "w" and left):
            parts.append(f"{count}{unit}")
            rest = left
    return "".join(parts)
