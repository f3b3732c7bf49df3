"""Placeholders in a command: `{event.…}`, `{config.…}`, `{state.…}` and nothing else.

Used by ``invocation``; knows the params document and nothing of processes.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Final

from tocsin.engine.runners.jsontext import compact
from tocsin.errors import SpawnFailed
from tocsin.trigger import Json

# A run of braces is looked at once, from its first brace: a long one then costs no more than its length.
_PLACEHOLDER: Final = re.compile(r"(?<!\{)(\{+)((?:event|config|state)(?:\.[^{}.\s]+)+)(\}+)")


def fill(element: str, params: Mapping[str, Json]) -> tuple[bytes, bool]:
    """The element as the command gets it, and whether a value was put into it.

    Strings stand as they are, numbers and booleans as JSON text, objects and lists as compact JSON.
    Where the object that holds key `K` also has `K_base64`, those bytes are used. Doubled braces
    around a placeholder are literal: `{{event.x}}` is `{event.x}`, `{{{event.x}}}` is the value in
    braces. Raises SpawnFailed (permanent) naming a placeholder that is missing or null.
    """
    parts: list[bytes] = []
    at, filled = 0, False
    for found in _PLACEHOLDER.finditer(element):
        opened, name, closed = found.groups()
        pairs = min(len(opened), len(closed))
        value = _value(name, params) if pairs % 2 else literal(name)
        left, right = (len(braces) - pairs + pairs // 2 for braces in (opened, closed))
        parts += [literal(element[at : found.start()]), b"{" * left, value, b"}" * right]
        at, filled = found.end(), filled or bool(pairs % 2)
    return b"".join([*parts, literal(element[at:])]), filled


def literal(text: str) -> bytes:
    """Text as a command gets it; what came from undecodable bytes goes back to them. Raises SpawnFailed."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise SpawnFailed(f"an argument holds text that is not Unicode: {error}", permanent=True) from error


def _value(name: str, params: Mapping[str, Json]) -> bytes:
    """The bytes that a dotted name stands for."""
    *path, last = name.split(".")
    holder: Json = params
    for key in path:
        holder = _step(holder, key)
    exact = _exact_bytes(holder, last)
    return _text(name, _step(holder, last)) if exact is None else exact


def _step(holder: Json, key: str) -> Json:
    """What the object or list holds under the key or index; None when there is nothing."""
    if isinstance(holder, Mapping):
        return holder.get(key)
    if isinstance(holder, Sequence) and not isinstance(holder, str) and re.fullmatch("[0-9]{1,9}", key):
        return holder[int(key)] if int(key) < len(holder) else None
    return None


def _exact_bytes(holder: Json, key: str) -> bytes | None:
    """The exact bytes of a string that JSON could not carry; None when it could."""
    if not (isinstance(holder, Mapping) and isinstance(holder.get(key), str)):
        return None
    encoded = holder.get(f"{key}_base64")
    try:
        return base64.b64decode(encoded, validate=True) if isinstance(encoded, str) else None
    except (binascii.Error, ValueError):
        return None  # another field that happens to be called so


def _text(name: str, value: Json) -> bytes:
    """A value that is there, as bytes."""
    if value is None:
        raise SpawnFailed(f"placeholder {{{name}}} has no value", permanent=True)
    try:
        return literal(value if isinstance(value, str) else compact(value))
    except ValueError as error:
        raise SpawnFailed(f"placeholder {{{name}}} cannot be written: {error}", permanent=True) from error
