"""Verbs for giving up what is old, in every table that history grows. Each runs inside a transaction.

`engine.retention` asks for what is due on the reader, which holds nobody up, and hands the keys to
the writer, where each statement looks again. What decides is in ``queries/retention.sql``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any, Final, TypeAlias

from tocsin.instants import microseconds
from tocsin.store import journal
from tocsin.store.connection import Row, Tx

PAGES: Final = 256  # in one step: a MiB that is moved, some 10 ms
HORIZONS: Final = "horizons"  # the fact that says how far back history may have gaps


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """What to look for: what ended, arrived or was last seen before `cutoff`, behind `after`."""

    cutoff: datetime
    now: datetime
    after: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Keys of what is due, at most `limit`; `after` for the next look, None when nothing is behind it."""

    keys: Sequence[int | str]
    after: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """What one transaction gave up. logs: paths of the log files that have lost their run."""

    payloads: int = 0
    runs: int = 0
    events: int = 0
    deliveries: int = 0
    hashes: int = 0
    quarantined: int = 0
    journal: int = 0
    logs: Sequence[str] = ()


Find: TypeAlias = Callable[[Tx, Due], Found]
GiveUp: TypeAlias = Callable[[Tx, Sequence[int | str], datetime, datetime], Gone]


def parameters(due: Due) -> dict[str, int]:
    return {
        "cutoff": microseconds(due.cutoff),
        "now": microseconds(due.now),
        "after": due.after,
        "limit": due.limit,
    }


def by_age(rows: Sequence[Row], due: Due) -> Found:
    """Found by an index of ages: all of them are due."""
    more = len(rows) == due.limit
    return Found(keys=[row["key"] for row in rows], after=rows[-1]["place"] if more else None)


def in_order(rows: Sequence[Row], due: Due) -> Found:
    """Read in the order in which they were written: the first young one ends it, for seq is roughly age.

    One from the future, written while the clock was wrong, is neither due nor an end.
    """
    old = list(takewhile(lambda row: not row["young"], rows))
    more = len(old) == due.limit
    return Found(keys=[row["key"] for row in old if row["due"]], after=old[-1]["place"] if more else None)


def old_payloads(tx: Tx, due: Due) -> Found:
    """Deliveries whose payload may go: their events have ended."""
    return by_age(tx.all("retention.old_payloads", **parameters(due)), due)


def give_up_payloads(tx: Tx, keys: Sequence[int | str], _cutoff: datetime, now: datetime) -> Gone:
    """Body and envelope go, the row stays."""
    return Gone(payloads=tx.run("retention.give_up_payloads", keys=json.dumps(keys), now=microseconds(now)))


def old_runs(tx: Tx, due: Due) -> Found:
    """Runs that ended before the cutoff."""
    return in_order(tx.all("retention.old_runs", **parameters(due)), due)


def drop_runs(tx: Tx, keys: Sequence[int | str], cutoff: datetime, _now: datetime) -> Gone:
    """Their rows go; the caller removes their logs."""
    rows = tx.all("retention.drop_runs", keys=json.dumps(keys), cutoff=microseconds(cutoff))
    return Gone(runs=len(rows), logs=[row["log"] for row in rows])


def old_events(tx: Tx, due: Due) -> Found:
    """Events that ended before the cutoff and have no runs left."""
    return in_order(tx.all("retention.old_events", **parameters(due)), due)


def drop_events(tx: Tx, keys: Sequence[int | str], cutoff: datetime, _now: datetime) -> Gone:
    """Their rows go, and deliveries with their last event."""
    rows = tx.all("retention.drop_events", keys=json.dumps(keys), cutoff=microseconds(cutoff))
    deliveries = tx.run("retention.drop_deliveries", keys=json.dumps([row["delivery"] for row in rows]))
    return Gone(events=len(rows), deliveries=deliveries)


def old_hashes(tx: Tx, due: Due) -> Found:
    """Hashes last seen before the cutoff whose events are gone."""
    return by_age(tx.all("retention.old_hashes", **parameters(due)), due)


def drop_hashes(tx: Tx, keys: Sequence[int | str], cutoff: datetime, _now: datetime) -> Gone:
    """What they stand for counts as new again."""
    return Gone(hashes=tx.run("retention.drop_hashes", keys=json.dumps(keys), cutoff=microseconds(cutoff)))


def old_strays(tx: Tx, due: Due) -> Found:
    """What was quarantined before the cutoff."""
    return by_age(tx.all("retention.old_strays", **parameters(due)), due)


def drop_strays(tx: Tx, keys: Sequence[int | str], _cutoff: datetime, _now: datetime) -> Gone:
    """They go, whatever was decided about them."""
    return Gone(quarantined=tx.run("retention.drop_strays", keys=json.dumps(keys)))


def old_entries(tx: Tx, due: Due) -> Found:
    """Journal rows that explain nothing that is still there."""
    return in_order(tx.all("retention.old_entries", **parameters(due)), due)


def drop_entries(tx: Tx, keys: Sequence[int | str], cutoff: datetime, _now: datetime) -> Gone:
    """They go."""
    return Gone(journal=tx.run("retention.drop_entries", keys=json.dumps(keys), cutoff=microseconds(cutoff)))


def known_logs(tx: Tx, run_ids: Sequence[str]) -> set[str]:
    """Which of these runs have a row."""
    return {row["id"] for row in tx.all("retention.known_logs", keys=json.dumps(run_ids))}


def free_bytes(tx: Tx) -> int:
    """Room in the file that nothing uses."""
    row = tx.one("retention.free_bytes")
    return 0 if row is None else int(row["bytes"])


def give_back(tx: Tx) -> int:
    """Shorten the file by at most a step's worth of its free room. Returns the bytes."""
    before = free_bytes(tx)
    for _ in range(PAGES):
        tx.all("retention.give_back")
    return before - free_bytes(tx)


def move_horizons(tx: Tx, *, runs: datetime, events: datetime) -> None:
    """From now on, what is missing from before these is missing on purpose. They never move back."""
    old: Any = journal.fact(tx, HORIZONS) or {}
    cutoffs = {"runs": runs, "events": events}
    moved = {name: max(old.get(name, 0), microseconds(cutoff)) for name, cutoff in cutoffs.items()}
    journal.put_fact(tx, HORIZONS, moved)
