"""Verbs of the `gaps` table: when nothing could be decided. Each runs inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from tocsin.gaps import Cause, Gap
from tocsin.instants import instant, microseconds
from tocsin.store.columns import dump, load
from tocsin.store.connection import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a gap cost one trigger.

    planned: its instants that passed. events: fires that the misfire rule
    makes of them, before the overlap rule. skipped: instants that no event
    stands for.
    """

    registration: str
    planned: int
    events: int
    skipped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One row. cost: by the triggers' names; only those that had something planned."""

    gap: Gap
    cost: tuple[Cost, ...]


def insert(tx: Tx, gap: Gap, cost: Sequence[Cost]) -> None:
    """Write a gap down."""
    tx.run(
        "gaps.insert",
        from_at=microseconds(gap.from_at),
        to_at=microseconds(gap.to_at),
        cause=gap.cause,
        evidence=gap.evidence,
        cost=dump([asdict(one) for one in cost]),
    )


def forget(tx: Tx, at: datetime) -> None:
    """Gaps that had ended by then are gone."""
    tx.run("gaps.forget", at=microseconds(at))


def since(tx: Tx, at: datetime) -> list[Recorded]:
    """Gaps that ended later than this, or began so where the clock was set back; newest first."""
    return [
        Recorded(
            gap=Gap(
                from_at=instant(row["from_at"]),
                to_at=instant(row["to_at"]),
                cause=Cause(row["cause"]),
                evidence=row["evidence"],
            ),
            cost=tuple(Cost(**one) for one in load(row["cost"])),
        )
        for row in tx.all("gaps.since", at=microseconds(at))
    ]
