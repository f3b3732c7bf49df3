"""Reads the JSON arguments of ``verbs``: what a client sent is checked before a verb sees it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from tocsin.errors import BadRequest

Arguments: TypeAlias = Mapping[str, Any]
MOST: Final = 2**63  # a column of SQLite holds no larger number


def text(arguments: Arguments, key: str) -> str:
    """A string that has to be there. Raises BadRequest."""
    value = arguments.get(key)
    if not isinstance(value, str):
        raise BadRequest(f"{key}: expected a string, got {value!r}")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise BadRequest(f"{key}: {value!r} is no text: it has half a surrogate pair")
    return value


def flag(arguments: Arguments, key: str) -> bool:
    """True or false; false when left out. Raises BadRequest."""
    value = arguments.get(key)
    if not isinstance(value, bool | None):
        raise BadRequest(f"{key}: expected true or false, got {value!r}")
    return value is True


def number(arguments: Arguments, key: str) -> int:
    """A whole number of 0 or more, as the database holds them, that has to be there. Raises BadRequest."""
    value = arguments.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MOST:
        raise BadRequest(f"{key}: expected a whole number of 0 or more, got {value!r}")
    return value


def optional(arguments: Arguments, key: str) -> str | None:
    """A string that may be left out. Raises BadRequest."""
    return None if arguments.get(key) is None else text(arguments, key)


def names(arguments: Arguments) -> list[str]:
    """A list of names; none when left out. Raises BadRequest."""
    return texts(arguments, "names")


def event_ids(arguments: Arguments) -> list[str]:
    """Whole ids of events, at least one, each once. Raises BadRequest."""
    found = list(dict.fromkeys(texts(arguments, "events")))
    if not found:
        raise BadRequest("events: expected the ids of events, got none")
    return found


def texts(arguments: Arguments, key: str) -> list[str]:
    """A list of strings; none when left out. Raises BadRequest."""
    found = arguments.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise BadRequest(f"{key}: expected a list of strings, got {found!r}")
    return found


def instant(arguments: Arguments, key: str) -> datetime | None:
    """An RFC 3339 time with an offset that may be left out, in UTC. Raises BadRequest."""
    value = optional(arguments, key)
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value.upper())
        if found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise BadRequest(f"{key}: expected a time with an offset, like 2026-01-31T09:00:00Z, got {value!r}")
