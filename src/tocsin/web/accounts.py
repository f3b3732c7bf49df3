"""Whose delivery it says it is: where each provider names the account, in a header or in the payload.

A claim only chooses whose secret is asked; it counts for nothing until that secret fits. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tocsin.keysource import value_at
from tocsin.trigger import Json
from tocsin.web.arrival import Arrival
from tocsin.web.body import decode
from tocsin.web.reading import HARD_LIMIT
from tocsin.web.refusals import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """header: where the account stands, lower-case. paths: or where in the payload, the first that is."""

    header: str | None = None
    paths: tuple[str, ...] = ()


PLACES: Final[Mapping[str, Place]] = {
    "github": Place(paths=("organization.login", "repository.owner.login", "installation.account.login")),
    "gitlab": Place(paths=("project.path_with_namespace", "group_path", "full_path")),
    "shopify": Place(header="x-shopify-shop-domain"),
    "slack": Place(paths=("team_id", "team.id")),
    "stripe": Place(paths=("account",)),  # Connect; an account's own deliveries name none
}


def in_headers(provider: str | None, arrival: Arrival) -> str | None:
    """The account that a header names, as it is written there; None where none does, or two do."""
    place = PLACES.get(provider or "", Place())
    given = set() if place.header is None else set(arrival.header(place.header))
    return given.pop().strip() or None if len(given) == 1 else None


def in_payload(provider: str | None, arrival: Arrival) -> str | None:
    """The account that the payload names; None where it names none."""
    place = PLACES.get(provider or "", Place())
    if not place.paths:
        return None
    payload = read(arrival)
    found = (value_at(payload, path) for path in place.paths)
    return next((text for text in found if isinstance(text, str) and text), None)


def read(arrival: Arrival) -> Json:
    """The payload; None where there is none to be read."""
    try:
        return decode(
            arrival.body,
            content_type=next(iter(arrival.header("content-type")), None),
            content_encoding=", ".join(arrival.header("content-encoding")),
            limit=HARD_LIMIT,
        )
    except Refusal:
        return None


def is_account(written: str | None, claim: str) -> bool:
    """Whether the connection's account is the one that is claimed; providers do not look at the case."""
    return written is not None and written.casefold() == claim.casefold()
