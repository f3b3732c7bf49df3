"""What a delivery says of itself by its sender's own habit: its id and its type. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tocsin.keysource import value_at
from tocsin.presets import PRESETS
from tocsin.signature import Verified
from tocsin.trigger import Json
from tocsin.web.delivery_ids import id_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """None for what it does not say."""

    delivery_id: str | None = None
    event_type: str | None = None


def described(props: Mapping[str, Json], payload: Json, verified: Verified | None) -> Described:
    """What the headers say, else what stands in the payload where the preset looks.

    Nothing of a delivery that nobody vouches for.
    """
    scheme = props.get("scheme")
    preset = PRESETS.get(str(scheme.get("preset"))) if isinstance(scheme, Mapping) else None
    if verified is None or preset is None:
        return Described()
    return Described(
        delivery_id=verified.delivery_id or text_at(payload, preset.id_path),
        event_type=verified.event_type or text_at(payload, preset.type_path),
    )


def text_at(payload: Json, path: str | None) -> str | None:
    """A string or a number at a path; None where there is no such thing."""
    return None if path is None else id_text(value_at(payload, path)) or None
