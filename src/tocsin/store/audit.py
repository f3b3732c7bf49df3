"""Whether what is written in a home fits together: the promises of the design as queries.

`tocsin audit` calls `audited` on one snapshot, also beside a running engine: what is merely under way
is no fault, since every move is one transaction. What retention took is known by its horizons.
Each check is one query of ``queries/audit.sql``; two look closer at what it found.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tocsin.identity import dedupe_hash, idempotency_key
from tocsin.registration import TENANT
from tocsin.store import ledger
from tocsin.store.connection import Row, Tx
from tocsin.trigger import Kind

SHOWN: Final = 100  # of each check: enough to see what kind of fault it is


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that does not fit. id: of the row it is about."""

    check: str
    id: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was looked at, and what is wrong with it. checks: their names, in order."""

    deliveries: int
    events: int
    runs: int
    checks: Sequence[str]
    problems: Sequence[Problem]

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def counts(self) -> Mapping[str, int]:
        """How many problems each check found (at most 100 and one that tells how many more)."""
        return {check: sum(one.check == check for one in self.problems) for check in self.checks}


def audited(tx: Tx) -> Audit:
    """Every check, in one snapshot."""
    problems = [problem for name, check in CHECKS.items() for problem in of_check(name, asked(tx, check))]
    deliveries, events, runs = sizes(tx)
    return Audit(deliveries=deliveries, events=events, runs=runs, checks=list(CHECKS), problems=problems)


def sizes(tx: Tx) -> tuple[int, int, int]:
    """How many deliveries, events and runs there are; none where a damaged file does not tell."""
    try:
        row = tx.all("audit.sizes")[0]
    except sqlite3.DatabaseError:
        return 0, 0, 0
    return row["deliveries"], row["events"], row["runs"]


def asked(tx: Tx, check: Check) -> Sequence[tuple[str, str]]:
    """What a check found; that a damaged file cannot be read is a finding too."""
    try:
        return check(tx)
    except sqlite3.DatabaseError as error:
        return [("", f"cannot be read: {error}")]


def of_check(name: str, found: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    for id_, detail in found[:SHOWN]:
        yield Problem(check=name, id=id_, detail=detail)
    if len(found) > SHOWN:
        yield Problem(check=name, id="", detail=f"and {len(found) - SHOWN} more")


def integrity(tx: Tx) -> list[tuple[str, str]]:
    """What SQLite says of its file."""
    return [("", row[0]) for row in tx.all("audit.integrity") if row[0] != "ok"]


def references(tx: Tx) -> list[tuple[str, str]]:
    """Rows that name a row which is not there."""
    return [
        (f"{row[0]} {row[1]}", f"names a row of {row[2]} that is missing")
        for row in tx.all("audit.references")
    ]


def keys(tx: Tx) -> list[tuple[str, str]]:
    """Events whose key is none of those that their delivery's row in the ledger stands for."""
    return [
        (row["id"], f"its key {row['idempotency_key']} is not in the ledger")
        for row in tx.all("audit.unkeyed")
        if row["idempotency_key"] not in known_keys(tx, row)
    ]


def known_keys(tx: Tx, row: Row) -> set[str]:
    """One for each time that the delivery counted as new again; the first one's is in the ledger itself."""
    return {idempotency_key(hash_of(row, generation)) for generation in range(2, generations(tx, row) + 1)}


def repeated(tx: Tx) -> list[tuple[str, str]]:
    """Deliveries with more events than times they counted as new."""
    return [
        (row["id"], f"{row['events']} events of delivery {row['delivery_id']}")
        for row in tx.all("audit.repeated")
        if row["events"] > generations(tx, row)
    ]


def generations(tx: Tx, row: Row) -> int:
    """How often a delivery counted as new; 0 when the ledger does not know it."""
    seen = ledger.find(tx, hash_of(row, 1))
    return 0 if seen is None else seen.generation


def hash_of(row: Row, generation: int) -> str:
    return dedupe_hash(
        tenant=TENANT,
        registration_id=row["registration_id"],
        kind=Kind(row["kind"]),
        delivery_id=row["delivery_id"],
        generation=generation,
    )


def pairs(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row["id"], row["detail"]) for row in rows]


Check: TypeAlias = Callable[[Tx], Sequence[tuple[str, str]]]

CHECKS: Final[Mapping[str, Check]] = {
    "integrity": integrity,
    "references": references,
    "lost events": lambda tx: pairs(tx.all("audit.lost_events")),
    "lost replays": lambda tx: pairs(tx.all("audit.lost_replays")),
    "keys": keys,
    "repeated": repeated,
    "unlike delivery": lambda tx: pairs(tx.all("audit.unlike_delivery")),
    "stray deliveries": lambda tx: pairs(tx.all("audit.stray_deliveries")),
    "lost payloads": lambda tx: pairs(tx.all("audit.lost_payloads")),
    "successes": lambda tx: pairs(tx.all("audit.successes")),
    "failures": lambda tx: pairs(tx.all("audit.failures")),
    "unheard successes": lambda tx: pairs(tx.all("audit.unheard_successes")),
    "unexplained": lambda tx: pairs(tx.all("audit.unexplained")),
    "attempts": lambda tx: pairs(tx.all("audit.attempts")),
    "gaps": lambda tx: pairs(tx.all("audit.gaps")),
    "started twice": lambda tx: pairs(tx.all("audit.started_twice")),
    "misnamed": lambda tx: pairs(tx.all("audit.misnamed")),
    "running": lambda tx: pairs(tx.all("audit.running")),
    "claimed": lambda tx: pairs(tx.all("audit.claimed")),
    "crowded lanes": lambda tx: pairs(tx.all("audit.crowded_lanes")),
    "stuck lanes": lambda tx: pairs(tx.all("audit.stuck_lanes")),
    "untimed": lambda tx: pairs(tx.all("audit.untimed")),
    "stray costs": lambda tx: pairs(tx.all("audit.stray_costs")),
    "miscounted": lambda tx: pairs(tx.all("audit.miscounted")),
}
