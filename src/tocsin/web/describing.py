"""What a delivery says of itself where its kind of sender puts it: id, type, challenge. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tocsin.keysource import value_at
from tocsin.trigger import Json
from tocsin.web.accounts import read
from tocsin.web.arrival import Arrival
from tocsin.web.delivery_ids import id_text
from tocsin.web.proving import Proof, scheme_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """None for what it does not say."""

    delivery_id: str | None = None
    event_type: str | None = None


def described(props: Mapping[str, Json], arrival: Arrival, payload: Json) -> Described:
    """What headers and payload say, where the source's scheme looks."""
    scheme = scheme_of(props)
    if scheme is None:
        return Described()
    return Described(
        delivery_id=first(scheme.delivery_id, arrival, payload),
        event_type=first(scheme.event_type, arrival, payload),
    )


def challenge_of(proof: Proof, arrival: Arrival) -> str | None:
    """The text that a sender wants to have back before it sends anything else; None from all others."""
    scheme = None if proof.verified is None else scheme_of(proof.sources[0].props)
    if scheme is None or scheme.challenge is None:
        return None
    payload = read(arrival)
    if not isinstance(payload, Mapping) or payload.get("type") != "url_verification":
        return None
    found = payload.get(scheme.challenge)
    return found if isinstance(found, str) else None


def first(places: Sequence[str], arrival: Arrival, payload: Json) -> str | None:
    """The text at the first of these places that has one; two different headers name nothing."""
    for place in places:
        kind, _, name = place.partition(":")
        if kind == "header":
            values = set(arrival.header(name))
            text = values.pop().strip() if len(values) == 1 else ""
        else:
            text = id_text(value_at(payload, name))
        if text:
            return text
    return None
