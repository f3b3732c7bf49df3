"""When a delivery counts as new: the strategies a trigger may declare, and how ids are ordered. Pure.

``config`` writes a strategy into a source's props, ``engine.recognition`` follows it, ``web`` marks
the ids that it makes up itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, Protocol, Self, TypeAlias, TypeVar

from tocsin.instants import EPOCH
from tocsin.trigger import Json

BY_BODY: Final = "body:"  # begins an id that stands for a body without one
BY_HASH: Final = "sha256:"  # begins an id that stands for one too long or odd to be shown

DEFAULT_N: Final = 100  # ids that `last` remembers
MAX_DIGITS: Final = 4300  # characters of an id that is ordered: CPython reads integers of so many digits

_NUMBER: Final = re.compile(
    r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,9})?", re.ASCII
)  # exponents that Decimal can hold
_MOMENT: Final = re.compile(
    r"(?P<minute>\d{4}-\d\d-\d\d[Tt ]([01]\d|2[0-3]):\d\d):(?P<second>\d\d)(?P<fraction>\.\d+)?"
    r"(?P<zone>[Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_LAST_MINUTE: Final = timedelta(hours=23, minutes=59)
_DAY: Final = timedelta(days=1)


class Order(StrEnum):
    """How `greatest` compares ids: exact decimals, RFC 3339 instants, or code points."""

    NUMBER = "number"
    TIME = "time"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Unique:
    """An id is accepted once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greatest:
    """Only an id above all before it is accepted."""

    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """Of all ids, the n that were seen most recently are remembered."""

    n: int = DEFAULT_N


Strategy: TypeAlias = Unique | Greatest | Last


def strategy_of(props: Mapping[str, Json]) -> Strategy:
    """What a source's props say; `Unique` when they say nothing."""
    match props.get("dedupe"):
        case {"strategy": "greatest", "order": str(order)}:
            return Greatest(order=Order(order))
        case {"strategy": "last", "n": int(n)}:
            return Last(n=n)
    return Unique()


def written(strategy: Strategy) -> dict[str, Json]:
    """What `strategy_of` reads; nothing for `Unique`, so that older rows need no change."""
    match strategy:
        case Greatest(order=order):
            return {"strategy": "greatest", "order": order.value}
        case Last(n=n):
            return {"strategy": "last", "n": n}
    return {}


def place_of(props: Mapping[str, Json]) -> tuple[Json, Json]:
    """(header, path in the payload) that ids are taken from; None for what was not named."""
    table = props.get("dedupe")
    return (table.get("header"), table.get("payload")) if isinstance(table, Mapping) else (None, None)


def is_given(delivery_id: str) -> bool:
    """Whether a recorded id is the sender's own, letter for letter."""
    return not delivery_id.startswith((BY_BODY, BY_HASH))


def is_above(order: Order, id_: str, mark: str | None) -> bool | None:
    """Whether an id comes after a mark; None when it cannot be read in that order.

    No mark, or one that cannot be read, has every id above it. An id equal to it is not above.
    """
    match order:
        case Order.NUMBER:
            return _is_above(number, id_, mark)
        case Order.TIME:
            return _is_above(moment, id_, mark)
    return _is_above(plain, id_, mark)


class _Comparable(Protocol):
    def __lt__(self, other: Self, /) -> bool: ...


_C = TypeVar("_C", bound=_Comparable)


def _is_above(read: Callable[[str], _C | None], id_: str, mark: str | None) -> bool | None:
    found = read(id_)
    if found is None:
        return None
    least = None if mark is None else read(mark)
    return least is None or least < found


def number(text: str) -> Decimal | None:
    """The exact value of a decimal number as JSON writes it; a plus and leading zeros may stand before it."""
    return Decimal(text) if len(text) <= MAX_DIGITS and _NUMBER.fullmatch(text) else None


def moment(text: str) -> tuple[timedelta, Decimal] | None:
    """An RFC 3339 instant as whole seconds since the epoch and the exact fraction beyond them.

    A leap second (5.6) is the end of its day: it counts as second 59 with a fraction of 1 or more.
    """
    found = _MOMENT.fullmatch(text) if len(text) <= MAX_DIGITS else None
    if found is None:
        return None
    is_leap = found["second"] == "60"
    try:
        at = datetime.fromisoformat(
            f"{found['minute']}:{'59' if is_leap else found['second']}{found['zone']}".upper()
        )
    except ValueError:
        return None
    since = at - EPOCH
    if is_leap and since % _DAY < _LAST_MINUTE:
        return None
    return since, Decimal(f"{int(is_leap)}{found['fraction'] or ''}")


def plain(text: str) -> str | None:
    """The text itself, which Python compares by code point; None for half of a surrogate pair."""
    return (
        text if len(text) <= MAX_DIGITS and not any("\ud800" <= char <= "\udfff" for char in text) else None
    )
