"""A payload in the names of its source's own mapping, `normalize = { model, fields, hint }`. Pure.

Called by ``web`` for what arrives, and for what a person replays from the quarantine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tocsin.event import Normalized
from tocsin.keysource import value_at
from tocsin.trigger import Json

KEY: Final = "normalize"  # of an installation's props


def normalized(props: Mapping[str, Json], payload: Json) -> Normalized:
    """Each field with what stands at its path, None where nothing does. Nothing without a mapping."""
    written = props.get(KEY)
    if not isinstance(written, Mapping):
        return Normalized()
    fields, model, hint = written.get("fields"), written.get("model"), written.get("hint")
    places = fields if isinstance(fields, Mapping) else {}
    return Normalized(
        payload={name: value_at(payload, str(path)) for name, path in places.items()},
        model=model if isinstance(model, str) else None,
        hint=value_at(payload, hint) if isinstance(hint, str) else None,
    )
