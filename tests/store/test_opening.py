"""Opening a database: what SQLite is told, what a new file looks like, what is refused."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
import stat
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.store.raw import beside, furnish, on_writer
from tocsin.errors import StoreUnusable
from tocsin.store import journal, ledger, registrations
from tocsin.store import migrate as migrating
from tocsin.store.connection import Store, Tx, on_thread, open_reader, open_store
from tocsin.store.migrate import migrations

LATEST = migrations()[-1][0]
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def value(store: Store, pragma: str) -> object:
    ((found,),) = await on_writer(store, f"PRAGMA {pragma}")
    return found


class TestWriter:
    @pytest.mark.parametrize(
        ("pragma", "wanted"),
        [
            ("auto_vacuum", 2),  # incremental: only a new file can be told so
            ("journal_mode", "wal"),
            ("synchronous", 2),  # full: what was acknowledged survives a power cut
            ("foreign_keys", 1),
            ("user_version", LATEST),
        ],
    )
    async def test_sqlite_is_told(self, store: Store, pragma: str, wanted: object) -> None:
        assert await value(store, pragma) == wanted

    async def test_it_waits_for_other_processes(self, store: Store) -> None:
        found = await value(store, "busy_timeout")
        assert isinstance(found, int)
        assert found >= 5000

    async def test_what_was_set_for_the_file_is_still_so_when_it_is_opened_again(self, path: Path) -> None:
        for _ in range(2):
            async with open_store(path) as store:
                assert (await value(store, "auto_vacuum"), await value(store, "journal_mode")) == (2, "wal")

    async def test_every_table_is_strict(self, store: Store) -> None:
        rows = await on_writer(store, "SELECT name, strict FROM pragma_table_list WHERE type = 'table'")
        tables = {str(name): strict for name, strict in rows if not str(name).startswith("sqlite_")}
        assert len(tables) >= 12
        assert [name for name, strict in tables.items() if not strict] == []

    async def test_every_time_is_a_whole_number(self, store: Store) -> None:
        rows = await on_writer(
            store,
            "SELECT m.name, c.name, c.type FROM sqlite_schema AS m, pragma_table_info(m.name) AS c "
            "WHERE m.type = 'table' AND c.name LIKE '%\\_at' ESCAPE '\\'",
        )
        assert len(rows) >= 20
        assert [row for row in rows if row[2] != "INTEGER"] == []

    async def test_foreign_keys_hold(self, store: Store) -> None:
        def step(tx: Tx) -> None:
            journal.put_token(tx, "hash", registration_id="trg_nobody", now=DAY)

        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            await store.write(step)


class TestFile:
    async def test_it_and_its_companions_are_private(self, store: Store, path: Path) -> None:
        await store.write(lambda tx: journal.put_fact(tx, "a", 1))
        assert mode(path.parent) == 0o700
        found = {file.name: mode(file) for file in path.parent.iterdir()}
        assert found == {"tocsin.db": 0o600, "tocsin.db-wal": 0o600, "tocsin.db-shm": 0o600}

    async def test_the_umask_makes_it_no_wider_and_no_narrower(self, path: Path) -> None:
        async with open_store(path):
            assert mode(path) == 0o600

    async def test_an_odd_path_is_no_trouble(self, tmp_path: Path) -> None:
        odd = tmp_path / "a b?c#d%20é;e" / "x?mode=ro.db"
        async with open_store(odd) as store:
            await store.write(lambda tx: journal.put_fact(tx, "a", 1))
        assert odd.exists()


class TestRefused:
    async def test_a_database_from_a_newer_tocsin(self, path: Path) -> None:
        async with open_store(path):
            pass
        with beside(path) as connection:
            connection.execute(f"PRAGMA user_version = {LATEST + 1}")
        with pytest.raises(StoreUnusable, match=f"shape {LATEST + 1}.*update tocsin"):
            async with open_store(path):
                pass
        with pytest.raises(StoreUnusable, match=f"shape {LATEST + 1}"):
            async with open_reader(path):
                pass

    async def test_a_file_that_is_no_database(self, path: Path) -> None:
        path.parent.mkdir()
        path.write_text("not a database, and longer than the header of one " * 100)
        with pytest.raises(StoreUnusable, match="not a database"):
            async with open_store(path):
                pass

    async def test_a_directory_in_its_place(self, path: Path) -> None:
        path.mkdir(parents=True)
        with pytest.raises(StoreUnusable, match=r"tocsin\.db"):
            async with open_store(path):
                pass

    async def test_a_missing_file_to_be_read(self, path: Path) -> None:
        with pytest.raises(StoreUnusable, match=r"tocsin\.db"):
            async with open_reader(path):
                pass
        assert not path.exists()

    async def test_a_file_without_tables_to_be_read(self, path: Path) -> None:
        """A first `up` that was killed between making the file and filling it."""
        path.parent.mkdir()
        path.touch()
        with pytest.raises(StoreUnusable, match="older"):
            async with open_reader(path):
                pass


class TestReader:
    async def test_it_reads_beside_the_writer(self, store: Store, path: Path) -> None:
        async with open_reader(path) as reader:
            await store.write(lambda tx: journal.put_fact(tx, "a", 1))
            assert await reader.read(lambda tx: journal.fact(tx, "a")) == 1

    async def test_it_reads_after_a_clean_stop(self, path: Path) -> None:
        async with open_store(path) as store:
            await store.write(lambda tx: journal.put_fact(tx, "a", 1))
        async with open_reader(path) as reader:
            assert await reader.read(lambda tx: journal.fact(tx, "a")) == 1

    async def test_it_cannot_write(self, store: Store, path: Path) -> None:
        async with open_reader(path) as reader:
            with pytest.raises(StoreUnusable, match="readonly"):
                await reader.write(lambda tx: journal.put_fact(tx, "a", 1))
        assert await store.read(lambda tx: journal.fact(tx, "a")) is None


class TestMigrations:
    def test_are_numbered_from_one_without_a_gap(self) -> None:
        assert [number for number, _ in migrations()] == list(range(1, LATEST + 1))

    async def test_one_that_fails_leaves_nothing(self, path: Path) -> None:
        async with open_store(path):
            pass
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            with pytest.raises(sqlite3.OperationalError):
                migrating.apply(connection, LATEST + 1, "CREATE TABLE half (a TEXT) STRICT; CREATE NONSENSE;")
            assert not connection.in_transaction
            assert migrating.version(connection) == LATEST
            assert connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half'").fetchone() is None

    async def test_data_is_copied_before_it_is_changed(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async with open_store(path) as store:
            await on_thread(store._writer, furnish)
        more = (LATEST + 1, "CREATE TABLE more (a TEXT) STRICT;")
        steps = [*migrations(), more]
        monkeypatch.setattr(migrating, "migrations", lambda: steps)
        async with open_store(path) as store:
            assert await value(store, "user_version") == LATEST + 1
        copy = path.with_name(f"tocsin.db.before-{LATEST + 1}")
        assert mode(copy) == 0o600
        with closing(sqlite3.connect(copy)) as connection:
            assert migrating.version(connection) == LATEST
            assert connection.execute("SELECT name FROM registrations").fetchall() == [("t",)]

    async def test_what_the_first_shape_knew_is_still_known(self, path: Path) -> None:
        path.parent.mkdir()
        with beside(path) as connection:
            migrating.apply(connection, *migrations()[0])
            furnish(connection)
            connection.execute(
                "INSERT INTO seen (hash, registration_id, event_id, verdict, first_seen_at, last_seen_at) "
                "VALUES ('h', 'trg_1', 'evt_1', 'accepted', 1, 2)"
            )
        async with open_store(path) as store:
            seen = await store.read(lambda tx: ledger.find(tx, "h"))
            row = await store.read(lambda tx: registrations.by_id(tx, "trg_1"))
        assert seen == ledger.Seen(event_id="evt_1", verdict="accepted", generation=1, turn=None)
        assert row is not None
        assert row.mark is None

    async def test_a_new_file_is_not_copied(self, store: Store, path: Path) -> None:
        assert {file.name for file in path.parent.iterdir()} <= {
            "tocsin.db",
            "tocsin.db-wal",
            "tocsin.db-shm",
        }

    def test_processes_that_open_a_new_home_together_all_can(self, tmp_path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        with context.Pool(4) as pool:
            for round_ in range(5):
                path = tmp_path / str(round_) / "tocsin.db"
                assert pool.map(open_and_write, [(path, n) for n in range(4)]) == [None] * 4
                with beside(path) as connection:
                    assert connection.execute("SELECT count(*) FROM meta").fetchone()[0] == 4


def open_and_write(job: tuple[Path, int]) -> None:
    """In a process of its own."""
    path, number = job

    async def work() -> None:
        async with open_store(path) as store:
            await store.write(lambda tx: journal.put_fact(tx, f"k{number}", 1))
            await store.read(registrations.present)

    asyncio.run(work())
