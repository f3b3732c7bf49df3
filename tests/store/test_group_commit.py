"""The writer: callers share a commit, and nobody is told anything that is not on disk."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.store.raw import beside, on_writer
from tocsin.errors import StoreUnusable
from tocsin.store import journal
from tocsin.store.connection import Store, Tx, on_thread, open_store
from tocsin.trigger import Json


def put(key: str, value: Json = 1) -> Callable[[Tx], str]:
    """A step that writes one fact and returns its key."""

    def step(tx: Tx) -> str:
        journal.put_fact(tx, key, value)
        return key

    return step


def fail_after(key: str) -> Callable[[Tx], str]:
    """A step that writes, then raises."""

    def step(tx: Tx) -> str:
        journal.put_fact(tx, key, 1)
        raise LookupError(key)

    return step


def facts(path: Path) -> set[str]:
    """What another process sees."""
    with beside(path) as connection:
        return {row["key"] for row in connection.execute("SELECT key FROM meta")}


async def count_commits(store: Store) -> list[str]:
    """A list that grows with each COMMIT of the writer."""
    commits: list[str] = []

    def trace(statement: str) -> None:
        if statement.strip() == "COMMIT":
            commits.append(statement)

    await on_thread(store._writer, lambda connection: connection.set_trace_callback(trace))
    return commits


async def fill_up(store: Store, spare_pages: int = 0) -> None:
    """Let the database grow by this many pages and not one more: a full disk."""
    ((pages,),) = await on_writer(store, "PRAGMA page_count")
    await on_writer(store, f"PRAGMA max_page_count = {pages + spare_pages}")


async def test_callers_that_come_together_share_a_commit(store: Store, path: Path) -> None:
    commits = await count_commits(store)
    keys = [f"k{n}" for n in range(100)]
    assert await asyncio.gather(*(store.write(put(key)) for key in keys)) == keys
    assert len(commits) == 1
    assert facts(path) == set(keys)


async def test_what_arrives_during_a_commit_is_the_next_group(store: Store) -> None:
    commits = await count_commits(store)
    loop = asyncio.get_running_loop()
    later: list[asyncio.Future[list[str]]] = []

    def first(tx: Tx) -> None:
        arrive = lambda: later.append(asyncio.gather(*(store.write(put(f"k{n}")) for n in range(50))))  # noqa: E731
        loop.call_soon_threadsafe(arrive)
        journal.put_fact(tx, "first", 1)

    await store.write(first)
    await store.drain()
    assert len(await later[0]) == 50
    assert len(commits) == 2


async def test_another_process_sees_each_group_as_one_change(store: Store, path: Path) -> None:
    with beside(path) as connection:
        version = "PRAGMA data_version"
        before = connection.execute(version).fetchone()[0]
        await asyncio.gather(*(store.write(put(f"k{n}")) for n in range(30)))
        assert connection.execute(version).fetchone()[0] == before + 1


async def test_a_failing_step_undoes_itself_and_nothing_else(store: Store, path: Path) -> None:
    steps = [put("a"), fail_after("b"), put("c"), fail_after("d"), put("e")]
    answers = await asyncio.gather(*(store.write(step) for step in steps), return_exceptions=True)
    assert [type(answer) for answer in answers] == [str, LookupError, str, LookupError, str]
    assert facts(path) == {"a", "c", "e"}


async def test_a_row_that_the_database_refuses_is_its_callers_error(store: Store, path: Path) -> None:
    def broken(tx: Tx) -> int:
        return tx.run("events.claim", id="x", claim_id=None, owner=None, now=0, run_id=None) + tx.run(
            "meta.put", key="no json", value="{"
        )

    answers = await asyncio.gather(store.write(put("a")), store.write(broken), return_exceptions=True)
    assert answers[0] == "a"
    assert isinstance(answers[1], sqlite3.IntegrityError)
    assert facts(path) == {"a"}


async def test_steps_run_in_the_order_they_were_handed_in(store: Store) -> None:
    ran: list[int] = []
    await asyncio.gather(*(store.write(lambda _tx, n=n: ran.append(n)) for n in range(200)))  # type: ignore[misc]
    assert ran == list(range(200))


async def test_a_later_step_of_a_group_sees_the_earlier_ones(store: Store) -> None:
    _, found = await asyncio.gather(store.write(put("a", 7)), store.write(lambda tx: journal.fact(tx, "a")))
    assert found == 7


class TestReading:
    async def test_a_reader_never_sees_what_is_not_committed(self, store: Store) -> None:
        loop = asyncio.get_running_loop()

        def look() -> Json:
            return asyncio.run_coroutine_threadsafe(
                store.read(lambda tx: journal.fact(tx, "a")), loop
            ).result()

        def step(tx: Tx) -> tuple[Json, Json]:
            journal.put_fact(tx, "a", 1)
            return journal.fact(tx, "a"), look()

        assert await store.write(step) == (1, None)
        assert await store.read(lambda tx: journal.fact(tx, "a")) == 1

    async def test_a_read_is_one_snapshot(self, store: Store, path: Path) -> None:
        def step(tx: Tx) -> tuple[Json, Json]:
            before = journal.fact(tx, "a")
            with beside(path) as other:
                other.execute("INSERT INTO meta (key, value) VALUES ('a', '1')")
            return before, journal.fact(tx, "a")

        assert await store.read(step) == (None, None)
        assert await store.read(lambda tx: journal.fact(tx, "a")) == 1

    async def test_the_reader_cannot_write(self, store: Store, path: Path) -> None:
        with pytest.raises(StoreUnusable, match="readonly"):
            await store.read(put("a"))
        assert facts(path) == set()
        assert await store.read(lambda tx: journal.fact(tx, "a")) is None

    async def test_a_mistake_in_a_step_is_not_taken_for_a_sick_database(self, store: Store) -> None:
        with pytest.raises(sqlite3.ProgrammingError):
            await store.read(lambda tx: tx.all("meta.get"))  # without its parameter

    async def test_a_step_that_raises_leaves_the_reader_fit_for_the_next(self, store: Store) -> None:
        def step(_tx: Tx) -> None:
            raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            await store.read(step)
        assert await store.read(lambda tx: journal.fact(tx, "a")) is None


class TestCancelledCallers:
    async def test_leave_no_transaction_open(self, store: Store, path: Path) -> None:
        """300 cancellations, each after another number of turns of the loop and at another stage."""
        kept = 0
        for n in range(300):
            tasks = [asyncio.create_task(store.write(put(f"k{n}.{m}"))) for m in range(3)]
            for _ in range(n % 11):
                await asyncio.sleep(0)  # a turn of the loop, not a wait
            for task in tasks[: 1 + n % 3]:
                task.cancel()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            kept += sum(isinstance(answer, str) for answer in answers)
        await store.drain()
        assert not await on_thread(store._writer, lambda connection: connection.in_transaction)
        assert kept >= 300  # at least one neighbour of each cancelled one was answered
        with beside(path) as connection:
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("BEGIN IMMEDIATE")  # nobody holds the lock
            connection.execute("ROLLBACK")
        assert await store.write(put("last")) == "last"

    async def test_do_not_take_their_neighbours_with_them(self, store: Store, path: Path) -> None:
        tasks = [asyncio.create_task(store.write(put(f"k{n}"))) for n in range(10)]
        await asyncio.sleep(0)
        tasks[4].cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert [n for n, answer in enumerate(answers) if not isinstance(answer, str)] == [4]
        assert facts(path) >= {f"k{n}" for n in range(10) if n != 4}

    async def test_what_they_asked_for_is_told_to_the_world_if_it_was_committed(
        self, store: Store, path: Path
    ) -> None:
        told: list[str] = []

        def step(tx: Tx) -> None:
            tx.after_commit(lambda: told.append("a"))
            journal.put_fact(tx, "a", 1)

        task = asyncio.create_task(store.write(step))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await store.drain()
        assert (told == ["a"]) == (facts(path) == {"a"})
        assert told == ["a"]

    async def test_of_reads_leave_the_reader_fit_for_the_next(self, store: Store) -> None:
        for n in range(100):
            task = asyncio.create_task(store.read(lambda tx: journal.fact(tx, "a")))
            for _ in range(n % 5):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert await store.read(lambda tx: journal.fact(tx, "a")) is None


class TestAfterCommit:
    async def test_callbacks_come_in_order_and_before_their_callers_go_on(self, store: Store) -> None:
        heard: list[str] = []

        async def write(name: str) -> None:
            def step(tx: Tx) -> None:
                tx.after_commit(lambda: heard.append(f"{name}1"))
                tx.after_commit(lambda: heard.append(f"{name}2"))

            await store.write(step)
            heard.append(name)

        await asyncio.gather(write("a"), write("b"))
        assert [name for name in heard if name not in ("a", "b")] == ["a1", "a2", "b1", "b2"]
        assert heard.index("a2") < heard.index("a")
        assert heard.index("b2") < heard.index("b")

    async def test_callbacks_run_once_the_change_is_on_disk(self, store: Store, path: Path) -> None:
        seen: list[set[str]] = []

        def step(tx: Tx) -> None:
            journal.put_fact(tx, "a", 1)
            tx.after_commit(lambda: seen.append(facts(path)))

        await store.write(step)
        assert seen == [{"a"}]

    async def test_a_failed_step_calls_nobody(self, store: Store) -> None:
        heard: list[str] = []

        def step(tx: Tx) -> None:
            tx.after_commit(lambda: heard.append("a"))
            raise LookupError

        with pytest.raises(LookupError):
            await store.write(step)
        assert heard == []

    async def test_a_callback_that_raises_stops_neither_the_writer_nor_its_caller(self, store: Store) -> None:
        complaints: list[object] = []
        heard: list[str] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: complaints.append(context["exception"]))
        fault = RuntimeError("no more tasks are taken")

        def shout() -> None:
            raise fault

        def step(tx: Tx) -> str:
            tx.after_commit(shout)
            tx.after_commit(lambda: heard.append("next"))
            return "done"

        assert await store.write(step) == "done"
        assert (complaints, heard) == ([fault], ["next"])
        assert await store.write(put("a")) == "a"


class TestFullDisk:
    async def test_nobody_of_the_group_is_acknowledged(self, store: Store, path: Path) -> None:
        await fill_up(store)
        heard: list[str] = []

        def step(tx: Tx) -> None:
            journal.put_fact(tx, "big", "x" * 100_000)
            tx.after_commit(lambda: heard.append("big"))

        steps = [put("a"), step, put("b")]
        answers = await asyncio.gather(*(store.write(one) for one in steps), return_exceptions=True)
        assert [type(answer) for answer in answers] == [StoreUnusable] * 3
        assert (heard, facts(path)) == ([], set())

    async def test_whichever_statement_meets_it(self, store: Store, path: Path) -> None:
        """SQLite undoes only the statement, not the transaction, when it kept a statement journal."""
        await fill_up(store)

        def many_rows(tx: Tx) -> None:
            tx._connection.execute(
                "INSERT OR ABORT INTO meta (key, value) WITH RECURSIVE n (i) AS "
                "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT 'k' || i, '1' FROM n"
            )

        answers = await asyncio.gather(store.write(put("a")), store.write(many_rows), return_exceptions=True)
        assert [type(answer) for answer in answers] == [StoreUnusable] * 2
        assert facts(path) == set()

    async def test_the_store_works_again_once_there_is_room(self, store: Store, path: Path) -> None:
        await fill_up(store)
        with pytest.raises(StoreUnusable, match="full"):
            await store.write(put("big", "x" * 100_000))
        await fill_up(store, spare_pages=1000)
        assert await store.write(put("big", "x" * 100_000)) == "big"
        assert facts(path) == {"big"}

    async def test_a_busy_writer_in_another_process_is_told_to_everyone_too(
        self, store: Store, path: Path
    ) -> None:
        await on_writer(store, "PRAGMA busy_timeout = 10")
        with beside(path) as other:
            other.execute("BEGIN IMMEDIATE")
            answers = await asyncio.gather(
                store.write(put("a")), store.write(put("b")), return_exceptions=True
            )
            other.execute("ROLLBACK")
        assert [type(answer) for answer in answers] == [StoreUnusable] * 2
        assert await store.write(put("a")) == "a"


async def test_leaving_waits_for_what_was_handed_in(path: Path) -> None:
    async with open_store(path) as store:
        tasks = [asyncio.create_task(store.write(put(f"k{n}"))) for n in range(5)]
        await asyncio.sleep(0)
    assert await asyncio.gather(*tasks) == [f"k{n}" for n in range(5)]
    assert len(facts(path)) == 5


async def test_a_closed_store_says_so(path: Path) -> None:
    async with open_store(path) as store:
        pass
    with pytest.raises(StoreUnusable, match="closed"):
        await store.write(put("a"))
    with pytest.raises(StoreUnusable, match="closed"):
        await store.read(lambda tx: journal.fact(tx, "a"))


async def test_leaving_cleanly_leaves_no_log_behind(path: Path) -> None:
    """QU-10: a clean shutdown leaves the WAL empty or absent."""
    async with open_store(path) as store:
        await store.write(put("a"))
    log = path.with_name(f"{path.name}-wal")
    assert not log.exists() or log.stat().st_size == 0


class TestLog:
    """QU-10: readers come and go, the write-ahead log stays small.

    Reduced: 32 MB of rows stand for its 20,000 jobs, 70 MB beside an open read for its minute.
    """

    LIMIT = 64 * 1024 * 1024

    async def churn(self, store: Store, megabytes: int) -> None:
        for n in range(megabytes):
            await store.write(put(f"k{n % 10}", f"{n:08}" * 125_000))

    def size(self, path: Path) -> int:
        return path.with_name(f"{path.name}-wal").stat().st_size

    async def test_it_stays_small_beside_a_reader_that_comes_and_goes(self, store: Store, path: Path) -> None:
        for _ in range(8):
            await self.churn(store, 4)
            await store.read(lambda tx: journal.fact(tx, "k1"))
        assert self.size(path) < self.LIMIT / 4

    async def test_it_shrinks_once_a_long_reader_has_ended(self, store: Store, path: Path) -> None:
        with beside(path) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM meta").fetchall()
            await self.churn(store, 70)
            assert self.size(path) > self.LIMIT
        await self.churn(store, 6)
        assert self.size(path) < self.LIMIT / 2
