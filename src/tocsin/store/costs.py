"""Verbs of the `costs` table: what runs have cost. Each runs inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tocsin.budget import counted_from, nanos
from tocsin.instants import microseconds
from tocsin.registration import Registration
from tocsin.store.columns import at_us, dump
from tocsin.store.connection import Row, Tx
from tocsin.trigger import NANOS


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """What the runs under one key have cost. nanos: billionths of a dollar. key: None for no tag."""

    key: str | None
    nanos: int
    runs: int


def charge(tx: Tx, run_id: str, registration: Registration, workflow: str, usd: float, now: datetime) -> None:
    """Note what a run has cost, with the tags as they are now; a second time changes nothing."""
    tx.run(
        "costs.insert",
        run_id=run_id,
        registration_id=registration.id,
        workflow=workflow,
        tags=dump(list(registration.spec.tags)),
        usd_nanos=nanos(usd),
        at=microseconds(now),
    )


def spent(tx: Tx, registration: Registration, now: datetime) -> int:
    """Billionths of a dollar that count against a trigger's budget now; 0 without one."""
    budget = registration.spec.budget
    if budget is None:
        return 0
    since = counted_from(budget, registration.budget_from, now)
    row = tx.one("costs.spent", registration_id=registration.id, since=microseconds(since))
    return 0 if row is None else nanos_of(row)


def by_trigger(tx: Tx, since: datetime | None) -> Sequence[Total]:
    """By the name of the trigger, removed ones included, highest first."""
    return totals(tx.all("costs.by_trigger", since=at_us(since)))


def by_workflow(tx: Tx, since: datetime | None) -> Sequence[Total]:
    """By workflow, highest first."""
    return totals(tx.all("costs.by_workflow", since=at_us(since)))


def by_tag(tx: Tx, since: datetime | None) -> Sequence[Total]:
    """By tag, highest first; a run counts under each of its tags, without any under None."""
    return totals(tx.all("costs.by_tag", since=at_us(since)))


def totals(rows: Sequence[Row]) -> list[Total]:
    found = [Total(key=row["key"], nanos=nanos_of(row), runs=row["runs"]) for row in rows]
    return sorted(found, key=lambda total: (-total.nanos, total.key or ""))


def nanos_of(row: Row) -> int:
    """A sum that came in two parts: a single one could pass the 64 bits of a column."""
    return int(row["dollars"] or 0) * NANOS + int(row["rest"] or 0)
