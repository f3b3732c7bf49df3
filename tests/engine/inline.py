"""The store without its threads, for tests that make thousands of engines.

The same transactions by the same functions, on the loop's own thread: a hop to another one costs more
than most of them. `store/test_group_commit.py` is about the hops.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from tests.engine.rig import Rig, empty_database, paths_in
from tocsin.store.connection import WRITER_PRAGMAS, Job, Step, Store, answer, commit, in_snapshot

T = TypeVar("T")

SHARED_MEMORY = Path("/dev/shm")  # where there is one, no disk is worn by thousands of databases

# Tells of every move and birth of an event, whatever the migration's own trigger thinks of it.
WATCH = """
CREATE TEMP TABLE moved (event TEXT, seq INTEGER, was TEXT, is_now TEXT);
CREATE TEMP TRIGGER watch_moves AFTER UPDATE OF state ON main.events WHEN old.state <> new.state
  BEGIN INSERT INTO moved VALUES (new.id, new.seq, old.state, new.state); END;
CREATE TEMP TRIGGER watch_births AFTER INSERT ON main.events
  BEGIN INSERT INTO moved VALUES (new.id, new.seq, NULL, new.state); END;
"""


class InlineStore(Store):
    """One connection, one step a transaction."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        for pragma in (*WRITER_PRAGMAS, "PRAGMA synchronous = OFF"):  # no power is cut here
            self.connection.execute(pragma)
        self.connection.executescript(WATCH)

    async def write(self, step: Step[T]) -> T:
        loop = asyncio.get_running_loop()
        job, heard = Job(step, loop.create_future()), loop.create_future()
        commit(self.connection, [job])
        answer(job)
        loop.call_soon(heard.set_result, None)  # behind what the step wanted done after its commit
        await heard
        result: T = await job.future
        return result

    async def read(self, step: Step[T]) -> T:
        return in_snapshot(self.connection, step)

    async def drain(self) -> None:
        """Nothing is ever under way."""

    def moves(self) -> list[tuple[str, int, str | None, str]]:
        """(event, seq, from, to) of each move since the last look, in order; born from None."""
        found = [tuple(row) for row in self.connection.execute("SELECT * FROM moved ORDER BY rowid")]
        self.connection.execute("DELETE FROM moved")
        return found

    def close(self) -> None:
        with closing(self.connection):
            pass


def new_folder() -> TemporaryDirectory[str]:
    """Where a home costs no disk, if there is such a place."""
    return TemporaryDirectory(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None)


def new_database(path: Path) -> None:
    """A copy of the empty one."""
    path.write_bytes(empty_database())


@contextmanager
def inline_rig() -> Iterator[Rig]:
    """An engine on such a store, in a home of its own."""
    with new_folder() as folder:
        paths = paths_in(Path(folder))
        new_database(paths.database)
        store = InlineStore(paths.database)
        try:
            yield Rig(store=store, paths=paths)
        finally:
            store.close()
