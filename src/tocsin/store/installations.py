"""Verbs of the `installations` table and of the `files` snapshot. Each runs inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from tocsin.instants import instant, microseconds
from tocsin.seams import FileMark
from tocsin.store import columns
from tocsin.store.columns import dump, load
from tocsin.store.connection import Row, Tx
from tocsin.trigger import Json, TriggerSpec

UNSIGNED: Final = 1 << 64  # inode numbers fill all 64 bits on some file systems; SQLite's integers are signed


def insert(tx: Tx, id_: str, spec: TriggerSpec, now: datetime) -> None:
    """The installation behind a trigger: its own, or that of the `[sources]` table it names."""
    tx.run(
        "installations.insert",
        id=id_,
        name=spec.source or spec.name,
        component=spec.component,
        component_version=spec.component_version,
        props=dump(spec.props),
        shared=int(spec.source is not None),
        created_at=microseconds(now),
    )


def shared(tx: Tx, name: str, component: str) -> str | None:
    """The id of a `[sources]` table's installation; None when there was never one."""
    row = tx.one("installations.shared", name=name, component=component)
    return None if row is None else str(row["id"])


def props_of(tx: Tx, id_: str, component: str) -> dict[str, Json] | None:
    """An installation's settings; None when there is none of this id and component."""
    row = tx.one("installations.by_id", id=id_)
    found: dict[str, Json] | None = (
        None if row is None or row["component"] != component else load(row["props"])
    )
    return found


def of_sources(tx: Tx, component: str) -> dict[str, dict[str, Json]]:
    """The settings of every `[sources]` table of a component, by its installation's id, in order of names."""
    return {row["id"]: load(row["props"]) for row in tx.all("installations.of_sources", component=component)}


def feeding(tx: Tx, id_: str) -> int:
    """How many active triggers it feeds."""
    row = tx.one("installations.feeding", id=id_)
    return 0 if row is None else int(row["feeding"])


def update_props(tx: Tx, id_: str, props: Json) -> None:
    """Another setting of the same component; the cursor stays."""
    tx.run("installations.update_props", id=id_, props=dump(props))


def rebind(tx: Tx, id_: str, version: int) -> None:
    """The installation is of this version of its component."""
    tx.run("installations.rebind", id=id_, version=version)


def exists(tx: Tx, id_: str) -> bool:
    """Whether there is such an installation."""
    return tx.one("installations.cursor", id=id_) is not None


def cursor(tx: Tx, id_: str) -> Json:
    """How far the source has read; None before its first time."""
    row = tx.one("installations.cursor", id=id_)
    found: Json = None if row is None else load(row["cursor"])
    return found


def move_cursor(tx: Tx, id_: str, cursor_: Json) -> None:
    """The source has read on; None means that it starts afresh."""
    tx.run("installations.move_cursor", id=id_, cursor=None if cursor_ is None else dump(cursor_))


def rate_at(tx: Tx, id_: str) -> datetime | None:
    """The instant that ``ratelimit.step`` kept for a source."""
    row = tx.one("installations.rate_at", id=id_)
    return None if row is None else columns.at(row["rate_at"])


def move_rate(tx: Tx, id_: str, at_: datetime) -> None:
    """One more was let through."""
    tx.run("installations.move_rate", id=id_, at=microseconds(at_))


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


def unsettled(tx: Tx, id_: str) -> dict[bytes, datetime]:
    """Paths on the move, and since when."""
    rows = tx.all("unsettled.of_installation", installation_id=id_)
    return {row["path"]: instant(row["since_at"]) for row in rows}


def unsettle(tx: Tx, id_: str, since: Mapping[bytes, datetime]) -> None:
    """These paths are on the move."""
    for path, at in since.items():
        tx.run("unsettled.put", installation_id=id_, path=path, since_at=microseconds(at))


def settle(tx: Tx, id_: str, paths: Iterable[bytes]) -> None:
    """These paths are not on the move any more."""
    for path in paths:
        tx.run("unsettled.end", installation_id=id_, path=path)


def clear_unsettled(tx: Tx, id_: str) -> None:
    """No path is on the move."""
    tx.run("unsettled.clear", installation_id=id_)


def mark_of(row: Row) -> FileMark:
    """A row of `files`."""
    return FileMark(
        path=row["path"],
        generation=row["generation"],
        size=row["size"],
        mtime_ns=row["mtime_ns"],
        inode=row["inode"] % UNSIGNED,
        gone=row["state"] == "gone",
        content=row["content"],
    )


def mark_columns(mark: FileMark) -> dict[str, Any]:
    """The columns of `files` but the installation."""
    signed = mark.inode if mark.inode < UNSIGNED // 2 else mark.inode - UNSIGNED
    return {
        "path": mark.path,
        "generation": mark.generation,
        "size": mark.size,
        "mtime_ns": mark.mtime_ns,
        "inode": signed,
        "state": "gone" if mark.gone else "known",
        "content": mark.content,
    }
