"""The kinds of value a key may have, each with its reading, its wording and its JSON Schema.

Used by ``tables`` as annotations. A reader raises ValueError with the whole sentence (what was seen,
what was expected); ``problems`` passes it on unchanged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, WithJsonSchema

from tocsin import cron, filters, keysource
from tocsin.config.problems import dotted, seen
from tocsin.duration import parse_duration
from tocsin.errors import InvalidSchedule
from tocsin.trigger import NANOS, Json

HARD_BODY_LIMIT: Final = 4 * 1024 * 1024  # bytes; DESIGN section 10: no source may ask for more

MOST: Final = 1_000_000_000  # far beyond any use, and far within the 64 bits of a column

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

Read = TypeVar("Read")

_DURATION: Final = "^([0-9]+(ms|[wdhms]))+$"  # for editors; the order of units is left to parse_duration
_SIZE: Final = re.compile(r"([0-9]{1,12})(B|KiB|MiB|GiB)")
_UNITS: Final = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)?", re.ASCII)
_ZONED: Final = "a time with an offset like 2026-12-24T18:00:00+01:00 or 2026-12-24T17:00:00Z"


def _unfit(value: object, wanted: str) -> ValueError:
    return ValueError(f"saw {seen(value)}, expected {wanted}")


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError("saw a NUL character, which no program can be given; expected text without one")
    return value


def _duration(value: object) -> timedelta:
    if not isinstance(value, str):
        raise _unfit(value, 'a duration in quotes like "30s", "5m" or "1h30m"')
    return _checked(parse_duration, value)


def _some_duration(value: timedelta) -> timedelta:
    if not value:
        raise _unfit("0s", 'a longer duration like "30s"')
    return value


def _size(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    else:
        found = _SIZE.fullmatch(value) if isinstance(value, str) else None
        if found is None:
            raise _unfit(value, 'a size like "64KiB" or "1MiB"')
        size = int(found[1]) * _UNITS[found[2]]
    if not 0 < size <= HARD_BODY_LIMIT:
        raise _unfit(value, 'a size from "1B" to "4MiB"')
    return size


def _instant(value: object) -> datetime:
    """Aware UTC, from a TOML offset date-time or an RFC 3339 string."""
    moment = _parsed(value) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        raise _unfit(value, _ZONED)
    if moment.tzinfo is None:
        raise ValueError(f"saw {seen(value)}, which has no offset; expected {_ZONED}")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise _unfit(value, "a time within the years 1 to 9999") from None


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.upper()) if _INSTANT.fullmatch(text) else None
    except ValueError:
        return None


def _zone(value: str) -> str:
    _checked(cron.zone, value)
    return value


def _cron(value: str) -> str:
    _checked(cron.parse, value)
    return value


def _checked(parse: Callable[[str], Read], value: str) -> Read:
    """`parse`, whose complaint becomes this key's."""
    try:
        return parse(value)
    except InvalidSchedule as error:
        raise ValueError(str(error)) from None


def _public_url(value: str) -> str:
    url = urlsplit(value)
    if url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
        raise _unfit(value, 'an address like "https://hooks.example.org"')
    return value.rstrip("/")


def _path(value: str) -> str:
    """`~` and `~user` replaced by the home directory."""
    try:
        return str(Path(value).expanduser())
    except RuntimeError:
        raise _unfit(value, "the name of a user with a home directory after the ~") from None


def _paths(value: object) -> object:
    if not isinstance(value, str | list):
        raise _unfit(value, 'a path in quotes like "~/Inbox", or a list of them')
    return [value] if isinstance(value, str) else value


def _key_source(value: str) -> str:
    keysource.parse(value)
    return value


def _filter(value: str) -> str:
    filters.check(value)
    return value


def _dollars(value: object) -> int:
    """Billionths of a dollar."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST:
        raise _unfit(value, "a number of dollars like 5 or 0.25")
    nanos = round(Decimal(str(value)) * NANOS)
    if not nanos:
        raise _unfit(value, "at least a billionth of a dollar")
    return nanos


def _environment(value: dict[str, str]) -> dict[str, str]:
    for name in value:
        if not name or "=" in name or "\0" in name:
            raise ValueError(f'saw the name {seen(name)}, expected the name of a variable like "LANG"')
    return value


def _document(value: object) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise _unfit(value, 'a table like { out = "/srv/scans" }')
    try:
        return {str(key): _json(below, str(key)) for key, below in value.items()}
    except RecursionError:
        raise _unfit(value, "one that is not nested as deeply") from None


def _json(value: object, *place: str | int) -> Json:
    """A TOML value as JSON: dates and times become text, tables and lists are copied."""
    if isinstance(value, dict):
        return {str(key): _json(below, *place, str(key)) for key, below in value.items()}
    if isinstance(value, list):
        return [_json(below, *place, index) for index, below in enumerate(value)]
    if isinstance(value, datetime | date | time):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"saw {value} at {dotted(place)}, expected a number that JSON can hold")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ValueError(f"saw {seen(value)} at {dotted(place)}, expected a value that JSON can hold")


Count: TypeAlias = Annotated[int, Field(ge=1, le=MOST)]
Text: TypeAlias = Annotated[str, AfterValidator(_text)]
SomeText: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_text)]
Duration: TypeAlias = Annotated[
    timedelta, PlainValidator(_duration), WithJsonSchema({"type": "string", "pattern": _DURATION})
]
SomeDuration: TypeAlias = Annotated[Duration, AfterValidator(_some_duration)]
Size: TypeAlias = Annotated[
    int,
    PlainValidator(_size),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": f"^{_SIZE.pattern}$"},
                {"type": "integer", "minimum": 1, "maximum": HARD_BODY_LIMIT},
            ]
        }
    ),
]
Instant: TypeAlias = Annotated[
    datetime, PlainValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})
]
KeySourceText: TypeAlias = Annotated[str, AfterValidator(_key_source)]
FilterText: TypeAlias = Annotated[SomeText, AfterValidator(_filter)]
Dollars: TypeAlias = Annotated[
    int,
    PlainValidator(_dollars),
    WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "maximum": MOST}),
]
Zone: TypeAlias = Annotated[str, AfterValidator(_zone)]
CronText: TypeAlias = Annotated[str, AfterValidator(_cron)]
Url: TypeAlias = Annotated[str, AfterValidator(_public_url)]
PathText: TypeAlias = Annotated[SomeText, AfterValidator(_path)]
PathList: TypeAlias = Annotated[
    list[PathText],
    Field(min_length=1),
    BeforeValidator(_paths),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
            ]
        }
    ),
]
Environment: TypeAlias = Annotated[dict[str, Text], AfterValidator(_environment)]
JsonTable: TypeAlias = Annotated[
    dict[str, Any], PlainValidator(_document), WithJsonSchema({"type": "object"})
]
