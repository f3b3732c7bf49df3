"""JSON values as text, with every way that this can go wrong as one error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from tocsin.trigger import Json


class UnwritableValue(ValueError):
    """A value that JSON cannot hold: NaN, a number of thousands of digits, nested too deeply."""


def compact(value: Json, *, ascii_only: bool = False) -> str:
    """The value as JSON without blanks. ascii_only: every other character as an escape.

    Raises UnwritableValue.
    """
    try:
        return json.dumps(
            value, ensure_ascii=ascii_only, separators=(",", ":"), allow_nan=False, default=_plain
        )
    except (ValueError, TypeError) as error:
        raise UnwritableValue(str(error)) from error
    except RecursionError as error:
        raise UnwritableValue("nested too deeply") from error


def _plain(value: object) -> object:
    """Mappings and sequences that are not dict or list; anything else is refused."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")
