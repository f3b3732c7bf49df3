"""Verbs of the `installations` table and of the `files` snapshot. Each runs inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tocsin.instants import microseconds
from tocsin.registration import Json, TriggerSpec
from tocsin.seams import FileMark
from tocsin.store.connection import Tx
from tocsin.store.rows import dump, load, mark_columns, mark_of


def insert(tx: Tx, id_: str, spec: TriggerSpec, now: datetime) -> None:
    """The installation behind one inline source."""
    tx.run(
        "installations.insert",
        id=id_,
        name=spec.name,
        component=spec.component,
        component_version=spec.component_version,
        props=dump(spec.props),
        created_at=microseconds(now),
    )


def update_props(tx: Tx, id_: str, props: Json) -> None:
    """Another setting of the same component; the cursor stays."""
    tx.run("installations.update_props", id=id_, props=dump(props))


def cursor(tx: Tx, id_: str) -> Json:
    """How far the source has read; None before its first time."""
    row = tx.one("installations.cursor", id=id_)
    found: Json = None if row is None else load(row["cursor"])
    return found


def move_cursor(tx: Tx, id_: str, cursor_: Json) -> None:
    """The source has read on; None means that it starts afresh."""
    tx.run("installations.move_cursor", id=id_, cursor=None if cursor_ is None else dump(cursor_))


def trouble(tx: Tx, id_: str, error: str | None) -> None:
    """What ails the source; None when it is well."""
    tx.run("installations.trouble", id=id_, error=error)


def marks(tx: Tx, id_: str) -> dict[bytes, FileMark]:
    """Every path of a files installation, gone ones included."""
    found = (mark_of(row) for row in tx.all("files.of_installation", installation_id=id_))
    return {mark.path: mark for mark in found}


def put_marks(tx: Tx, id_: str, marks_: Iterable[FileMark]) -> None:
    """Write paths as last settled."""
    for mark in marks_:
        tx.run("files.put", installation_id=id_, **mark_columns(mark))
