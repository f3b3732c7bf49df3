"""Verbs of the `once` table: what runs do only once. Each runs inside a transaction."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from tocsin.instants import microseconds
from tocsin.runs import ProcessFacts
from tocsin.store.columns import dump, load
from tocsin.store.connection import Tx
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who is at a step: a process of a run."""

    run_id: str
    process: ProcessFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What stands under a key. holder: who began it last. result: None while there is none."""

    holder: Holder
    is_done: bool
    result: Json


def find(tx: Tx, registration_id: str, key: str) -> Deed | None:
    """What stands under a trigger's key."""
    row = tx.one("once.find", registration_id=registration_id, key=key)
    if row is None:
        return None
    process = ProcessFacts(pid=row["pid"], started=row["started"], boot_id=row["boot_id"])
    holder = Holder(run_id=row["run_id"], process=process)
    return Deed(holder=holder, is_done=row["done_at"] is not None, result=load(row["result"]))


def begin(tx: Tx, registration_id: str, key: str, *, holder: Holder, now: datetime) -> None:
    """A process begins it, also in the place of one that has not come to its end."""
    tx.run(
        "once.begin",
        registration_id=registration_id,
        key=key,
        run_id=holder.run_id,
        now=microseconds(now),
        **asdict(holder.process),
    )


def end(tx: Tx, registration_id: str, key: str, *, holder: Holder, result: Json, now: datetime) -> bool:
    """It is done. False when this process did not begin it, or it was done before."""
    kept = None if result is None else dump(result)
    changed = tx.run(
        "once.end",
        registration_id=registration_id,
        key=key,
        run_id=holder.run_id,
        result=kept,
        now=microseconds(now),
        **asdict(holder.process),
    )
    return changed == 1


def give_up(tx: Tx, registration_id: str, key: str, *, holder: Holder) -> None:
    """It was not done; nothing changes when this process is not at it."""
    tx.run(
        "once.give_up",
        registration_id=registration_id,
        key=key,
        run_id=holder.run_id,
        **asdict(holder.process),
    )
