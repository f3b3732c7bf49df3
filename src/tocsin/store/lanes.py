"""Verbs of the `events` table about lanes: whose turn it is within one. Each runs inside a transaction.

A lane's head is pending or claimed; the others are held behind it. What a pause holds stands aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tocsin.event import State
from tocsin.instants import microseconds
from tocsin.store.columns import at
from tocsin.store.connection import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One unfinished event in a lane. claimed_at: since when it runs; not_before: it waits until then."""

    lane: str
    registration_id: str
    claimed_at: datetime | None
    not_before: datetime | None


def head(tx: Tx, lane: str) -> str | None:
    """The event that holds a lane; None when it is free."""
    row = tx.one("events.lane_busy", lane=lane)
    return None if row is None else str(row["id"])


def promote(tx: Tx, lane: str | None, now: datetime) -> str | None:
    """After an exit: the lane's next event becomes claimable, unless the lane is held by another.

    Returns its id, None when nobody is promoted.
    """
    if lane is None or head(tx, lane) is not None:
        return None
    following = tx.one("events.lane_next", lane=lane)
    if following is None:
        return None
    tx.run("events.promote", id=following["id"], now=microseconds(now))
    return str(following["id"])


def headless(tx: Tx) -> list[str]:
    """Lanes in which somebody waits behind nobody; none unless a crash came between."""
    return [row["lane"] for row in tx.all("events.headless_lanes")]


def members(tx: Tx, lane: str, registration_id: str) -> Sequence[tuple[str, State]]:
    """(id, state) of what one registration still has in a lane, the last to come first."""
    rows = tx.all("events.in_lane", lane=lane, registration_id=registration_id)
    return [(row["id"], State(row["state"])) for row in rows]


def under_way(tx: Tx) -> list[Member]:
    """All that runs or waits in lanes, each lane's in their order."""
    return [
        Member(
            lane=row["lane"],
            registration_id=row["registration_id"],
            claimed_at=at(row["claimed_at"]),
            not_before=at(row["next_fire_at"]),
        )
        for row in tx.all("events.in_lanes")
    ]
