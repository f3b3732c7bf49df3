"""One column's value into a word and back: instants, lengths, JSON."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from tocsin.instants import instant, microseconds
from tocsin.trigger import Json


def at_us(at: datetime | None) -> int | None:
    """A column's microseconds."""
    return None if at is None else microseconds(at)


def at(us: int | None) -> datetime | None:
    """A column's instant."""
    return None if us is None else instant(us)


def dump(value: Json) -> str:
    """Compact JSON in ASCII. Raises ValueError for NaN and infinities."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def load(text: str | None) -> Any:
    """The value of a JSON column; None for NULL."""
    return None if text is None else json.loads(text)


def milliseconds(length: timedelta) -> int:
    """A column's whole milliseconds."""
    return length // timedelta(milliseconds=1)
