"""Brings a database up to this program's shape: numbered files and `PRAGMA user_version`.

Runs on the database's thread, before anything else uses the connection.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing, suppress
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


def prepare(path: Path, pragmas: Sequence[str]) -> None:
    """See to it that there is a file, and that it is private before SQLite can make it otherwise."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        with suppress(OSError):  # somebody was faster; or no hard links here, then it is made in place
            create(path, pragmas)
    path.touch(mode=0o600, exist_ok=True)


def create(path: Path, pragmas: Sequence[str]) -> None:
    """Make a new database whole, then put it in its place, so that nobody meets half of one.

    Raises FileExistsError when another process was first, and OSError where there are no hard links.
    """
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
        fresh = Path(folder) / path.name
        fresh.touch(mode=0o600)
        with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
            for pragma in pragmas:
                connection.execute(pragma)
            migrate(connection, fresh)
        os.link(fresh, path)


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


def require_current(connection: sqlite3.Connection, path: Path) -> None:
    """For a reader, which cannot migrate. Raises StoreUnusable for a database of another shape."""
    present, latest = check_version(connection, path), migrations()[-1][0]
    if present < latest:
        raise StoreUnusable(
            f"{path} has shape {present}, older than this tocsin's {latest}: `tocsin up` brings it up to date"
        )


def apply(connection: sqlite3.Connection, number: int, script: str) -> None:
    """One migration and its number, or nothing; nothing either when another process was faster."""
    try:
        connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if version(connection) < number:
            raise


def back_up(connection: sqlite3.Connection, target: Path) -> None:
    """A consistent copy of the whole database."""
    target.touch(mode=0o600)
    with closing(sqlite3.connect(target)) as copy:
        connection.backup(copy)
