"""Verbs of the `once` table: what runs do only once. Each runs inside a transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tocsin.instants import microseconds
from tocsin.registration import Json
from tocsin.store.columns import dump, load
from tocsin.store.connection import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What stands under a key. run_id: the run that began it last. result: None while there is none."""

    run_id: str
    is_done: bool
    result: Json


def find(tx: Tx, registration_id: str, key: str) -> Deed | None:
    """What stands under a trigger's key."""
    row = tx.one("once.find", registration_id=registration_id, key=key)
    if row is None:
        return None
    return Deed(run_id=row["run_id"], is_done=row["done_at"] is not None, result=load(row["result"]))


def begin(tx: Tx, registration_id: str, key: str, *, run_id: str, now: datetime) -> None:
    """A run begins it, also in the place of one that has not come to its end."""
    tx.run("once.begin", registration_id=registration_id, key=key, run_id=run_id, now=microseconds(now))


def end(tx: Tx, registration_id: str, key: str, *, run_id: str, result: Json, now: datetime) -> bool:
    """It is done. False when this run did not begin it, or it was done before."""
    kept = None if result is None else dump(result)
    changed = tx.run(
        "once.end",
        registration_id=registration_id,
        key=key,
        run_id=run_id,
        result=kept,
        now=microseconds(now),
    )
    return changed == 1
