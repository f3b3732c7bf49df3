"""Opens the database, commits in groups, reads beside the writer.

One writer for the whole process: each transaction is one function that runs on the database's
thread, in its own SAVEPOINT; whatever arrives while a commit is under way is the next group. So a
hundred callers share one fsync, and a cancelled caller leaves nothing open.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import aiosqlite

from tocsin.errors import StoreUnusable
from tocsin.store import queries
from tocsin.store.migrate import migrate, prepare, require_current

T = TypeVar("T")
Step = Callable[["Tx"], T]
Row = sqlite3.Row

BUSY_TIMEOUT_MS: Final = 10_000  # another process (a CLI verb) may be writing; its transactions are short

LOG_BYTES: Final = 8 * 1024 * 1024  # a long reader lets the log grow; it is cut back to this afterwards

WRITER_PRAGMAS: Final = (
    "PRAGMA auto_vacuum = INCREMENTAL",  # ignored once a table exists, so it comes first
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # what is acknowledged is on disk; group commit pays for it
    "PRAGMA foreign_keys = ON",
    f"PRAGMA journal_size_limit = {LOG_BYTES}",
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
)
READER_PRAGMAS: Final = (f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}", "PRAGMA query_only = ON")


class Tx:
    """One transaction's view of the database, for the verbs of this floor. Never leaves its step."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.afterwards: list[Callable[[], None]] = []

    def all(self, query: str, **params: Any) -> list[Row]:
        """Every row of a named query."""
        return self._connection.execute(queries.load()[query], params).fetchall()

    def one(self, query: str, **params: Any) -> Row | None:
        """The first row of a named query, or None."""
        rows = self.all(query, **params)
        return rows[0] if rows else None

    def run(self, query: str, **params: Any) -> int:
        """Rows changed by a named statement."""
        return self._connection.execute(queries.load()[query], params).rowcount

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Call this on the event loop once the step's changes are on disk, whoever still waits."""
        self.afterwards.append(callback)


@dataclass(slots=True)
class Job(Generic[T]):
    """One step on its way through the writer."""

    step: Step[T]
    future: asyncio.Future[T]
    result: T | None = None
    error: BaseException | None = None
    afterwards: list[Callable[[], None]] = field(default_factory=list)


class Store:
    """The open database. `write` and `read` are the only ways in."""

    def __init__(self, writer: aiosqlite.Connection, reader: aiosqlite.Connection, path: Path) -> None:
        self.path = path
        self._writer = writer
        self._reader = reader
        self._pending: list[Job[Any]] = []
        self._commits: asyncio.Task[None] | None = None

    async def write(self, step: Step[T]) -> T:
        """Run one step in a transaction; returns its result once it is on disk.

        Raises what the step raised (its changes are undone, its neighbours' are not), or
        StoreUnusable for the whole group when the commit failed. What a cancelled caller asked
        for may have been committed.
        """
        job = Job(step, asyncio.get_running_loop().create_future())
        self._pending.append(job)
        if self._commits is None:
            self._commits = asyncio.create_task(self._commit_all(), name="store-commits")
        result: T = await job.future
        return result

    async def read(self, step: Step[T]) -> T:
        """Run one step on the reader, in one snapshot. Raises what the step raised, or StoreUnusable."""
        try:
            return await on_thread(self._reader, lambda connection: in_snapshot(connection, step))
        except sqlite3.Error as error:
            if not is_trouble(error):
                raise
            raise StoreUnusable(f"{self.path} cannot be read: {error}") from error

    async def drain(self) -> None:
        """Wait until every step handed in so far is committed or refused."""
        if self._commits is not None:
            await asyncio.wait([self._commits])

    async def _commit_all(self) -> None:
        while self._pending:
            batch, self._pending = self._pending, []
            await self._commit(batch)
            for job in batch:
                answer(job)
        self._commits = None

    async def _commit(self, batch: Sequence[Job[Any]]) -> None:
        try:
            await on_thread(self._writer, lambda connection: commit(connection, batch))
        except sqlite3.Error as error:
            for job in batch:
                job.error = StoreUnusable(f"{self.path} cannot be written: {error}")


async def on_thread(connection: aiosqlite.Connection, function: Callable[[sqlite3.Connection], T]) -> T:
    """Run a function with the raw connection on its thread: the one place that needs aiosqlite's inside."""
    if not connection._running or connection._connection is None:  # noqa: SLF001
        raise sqlite3.OperationalError("it is closed")
    execute: Callable[[Callable[[], T]], Awaitable[T]] = connection._execute  # noqa: SLF001
    return await execute(lambda: function(connection._conn))  # noqa: SLF001


def in_snapshot(connection: sqlite3.Connection, step: Step[T]) -> T:
    connection.execute("BEGIN")
    try:
        return step(Tx(connection))
    finally:
        if connection.in_transaction:  # an I/O error may have ended it
            connection.execute("ROLLBACK")  # as good as a commit, and works on a damaged file


def commit(connection: sqlite3.Connection, batch: Sequence[Job[Any]]) -> None:
    """Run a group of steps and commit them together; errors are left in the jobs."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        for job in batch:
            attempt(connection, job)
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        for job in batch:
            job.error = StoreUnusable(f"nothing was written: {error}")
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def attempt(connection: sqlite3.Connection, job: Job[Any]) -> None:
    """Run one step in a savepoint. Raises sqlite3.Error when the whole transaction is lost with it."""
    connection.execute("SAVEPOINT step")
    tx = Tx(connection)
    try:
        job.result = job.step(tx)
        job.afterwards = tx.afterwards
    except Exception as error:  # handed to the caller, whose step it was
        if is_trouble(error) or not connection.in_transaction:  # a full disk may have rolled everything back
            raise sqlite3.OperationalError(str(error)) from error
        connection.execute("ROLLBACK TO step")
        job.error = error
    connection.execute("RELEASE step")


def is_trouble(error: Exception) -> bool:
    """Whether it is the database's own (full, locked, damaged) and not the step's (a refused row)."""
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


def answer(job: Job[Any]) -> None:
    """Tell the world, then the caller (who may be gone).

    Callbacks go through the loop, which keeps their order and reports one that raises: the writer
    outlives it, and the caller is answered.
    """
    if job.error is None:
        for callback in job.afterwards:
            asyncio.get_running_loop().call_soon(callback)
    if job.future.cancelled():
        return
    if job.error is None:
        job.future.set_result(job.result)
    else:
        job.future.set_exception(job.error)


@asynccontextmanager
async def open_store(path: Path) -> AsyncIterator[Store]:
    """Open (and make, and migrate) the database. Raises StoreUnusable."""
    async with AsyncExitStack() as stack:
        store = await opened(path, stack)
        try:
            yield store
        finally:
            await store.drain()


async def opened(path: Path, stack: AsyncExitStack) -> Store:
    try:
        prepare(path, WRITER_PRAGMAS)
        writer = await stack.enter_async_context(connect(path, WRITER_PRAGMAS))
        await on_thread(writer, lambda connection: migrate(connection, path))
        reader = await stack.enter_async_context(connect(path, READER_PRAGMAS))
    except (sqlite3.Error, OSError) as error:
        raise StoreUnusable(f"{path}: {error}") from error
    return Store(writer, reader, path)


@asynccontextmanager
async def open_reader(path: Path) -> AsyncIterator[Store]:
    """Open an existing database read-only, also while an engine runs. Raises StoreUnusable."""
    async with AsyncExitStack() as stack:
        try:
            reader = await stack.enter_async_context(connect(path, READER_PRAGMAS, mode="ro"))
            await on_thread(reader, lambda connection: require_current(connection, path))
        except sqlite3.Error as error:
            raise StoreUnusable(f"{path}: {error}") from error
        yield Store(reader, reader, path)


@asynccontextmanager
async def connect(
    path: Path, pragmas: Sequence[str], *, mode: str = "rw"
) -> AsyncIterator[aiosqlite.Connection]:
    connection = aiosqlite.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None)
    try:
        await connection
        connection.row_factory = sqlite3.Row
        for pragma in pragmas:
            await connection.execute_fetchall(pragma)
        yield connection
    finally:
        await connection.close()
        connection._thread.join()  # noqa: SLF001 - after a failed opening, its last word must find the loop open
