"""Which part of an event names something: its lane, later its window. Pure.

A key source is written as one of `NAMED`, `safe_header:NAME`, `safe_query:NAME` or `payload:PATH`,
and read from an envelope.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tocsin.registration import Registration
from tocsin.trigger import Json, Overlap

NAMED: Final = ("provider", "event_type", "connection_id", "delivery_id")
PREFIXED: Final = ("payload", "safe_header", "safe_query")
LONGEST: Final = 200  # characters of a key that are kept as they are; a longer one is hashed


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySource:
    """part: one of `NAMED` or `PREFIXED`. name: a header, a query key or a path; None for `NAMED`."""

    part: str
    name: str | None = None


def parse(text: str) -> KeySource:
    """Read a key source. Raises ValueError with what was expected."""
    if text in NAMED:
        return KeySource(part=text)
    part, colon, name = text.partition(":")
    if part not in PREFIXED or not colon or not all(name.split(".")):
        wanted = f"payload:PATH, safe_header:NAME, safe_query:NAME, {', '.join(NAMED[:-1])} or {NAMED[-1]}"
        raise ValueError(f"saw {text!r}, expected {wanted}")
    return KeySource(part=part, name=name)


def key_of(source: KeySource, envelope: Mapping[str, Json]) -> str | None:
    """The key as text; None where the envelope has none.

    Text stands for itself, anything else for its JSON: so an id is the same key whether it was sent
    as 7 or as "7".
    """
    found = part_of(source, envelope)
    if found is None:
        return None
    text = found if isinstance(found, str) else json.dumps(found, sort_keys=True, separators=(",", ":"))
    if len(text) <= LONGEST:
        return text
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def part_of(source: KeySource, envelope: Mapping[str, Json]) -> Json:
    """The value that a source names; None where there is none."""
    match source:
        case KeySource(part="payload", name=str(path)):
            return value_at(envelope.get("raw_payload"), path)
        case KeySource(part="safe_header", name=str(name)):
            return value_at(envelope.get("safe_headers"), name.lower(), dotted=False)
        case KeySource(part="safe_query", name=str(name)):
            return value_at(envelope.get("safe_query"), name, dotted=False)
    return envelope.get(source.part)


def lane_without_payload(registration: Registration) -> str | None:
    """The lane of an event that names none itself; None where the trigger's events run freely."""
    spec = registration.spec
    if spec.serialize_key is not None:
        return f"key:{spec.serialize_key}"
    return None if spec.overlap is Overlap.ALLOW else registration.id


def value_at(value: Json, path: str, *, dotted: bool = True) -> Json:
    """The value at a path of keys and list positions; None where it leads nowhere."""
    found = value
    for part in path.split(".") if dotted else [path]:
        if isinstance(found, Mapping):
            found = found.get(part)
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
    return found
