"""Brings a database up to this program's shape: numbered files and `PRAGMA user_version`.

Runs on the database's thread, before anything else uses the connection.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from tocsin.errors import StoreUnusable


def migrations() -> Sequence[tuple[int, str]]:
    """(number, SQL script) of every migration, in order."""
    folder = files("tocsin.store").joinpath("migrations")
    found = [
        (int(entry.name[:4]), entry.read_text("utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    ]
    return sorted(found)


def version(connection: sqlite3.Connection) -> int:
    """The number of the last migration that was applied; 0 for an empty database."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Apply what is missing, each migration in its own transaction.

    A database that already holds data is copied beside itself first (`tocsin.db.before-N`).
    Raises StoreUnusable for a database newer than this program.
    """
    steps = migrations()
    present, latest = check_version(connection, path), steps[-1][0]
    if 0 < present < latest:
        back_up(connection, path.with_name(f"{path.name}.before-{latest}"))
    for number, script in steps:
        if number > present:
            apply(connection, number, script)


def check_version(connection: sqlite3.Connection, path: Path) -> int:
    """The database's version. Raises StoreUnusable when it is newer than this program."""
    present, latest = version(connection), migrations()[-1][0]
    if present > latest:
        raise StoreUnusable(
            f"{path} has shape {present}, this tocsin knows {latest}: update tocsin, or restore a backup"
        )
    return present


def apply(connection: sqlite3.Connection, number: int, script: str) -> None:
    """One migration and its number, or nothing."""
    connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")


def back_up(connection: sqlite3.Connection, target: Path) -> None:
    """A consistent copy of the whole database."""
    target.touch(mode=0o600)
    with closing(sqlite3.connect(target)) as copy:
        connection.backup(copy)
