"""From shape 1 to shape 2: a home with events in it goes on as it was, and a copy is kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.store.raw import DELIVERY, EVENT, FITTING, RUN, beside, furnish, insert
from tocsin.errors import StoreUnusable
from tocsin.event import State
from tocsin.store import events, second_thoughts
from tocsin.store.connection import WRITER_PRAGMAS, open_reader, open_store
from tocsin.store.migrate import apply, migrations, version

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLAIMED = "state = 'claimed', claim_id = 'c', claim_owner = 'o', claimed_at = 0, attempts = 1"
FAILED = "state = 'failed', settled_at = 1, claim_id = NULL, claim_owner = NULL, claimed_at = NULL"


@pytest.fixture
def old(path: Path) -> Path:
    """A database that the first version made, with a failed event, its run, and a pending one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in WRITER_PRAGMAS:
            connection.execute(pragma)
        apply(connection, *migrations()[0])
        furnish(connection)
        insert(connection, "events", EVENT)
        insert(connection, "runs", {**RUN, "state": "failed", "finished_at": 1})
        for columns in (CLAIMED, FAILED):
            connection.execute(f"UPDATE events SET {columns}")  # noqa: S608 - our own words
        insert(connection, "deliveries", {**DELIVERY, "id": "dlv_2"})
        second = {"id": "evt_2", "delivery": "dlv_2", "idempotency_key": "trigger:2"}
        insert(connection, "events", {**EVENT, **FITTING["pending"], **second})
    return path


async def test_every_row_is_there_and_says_the_same(old: Path) -> None:
    with beside(old) as connection:
        before = [dict(row) for row in connection.execute("SELECT * FROM events ORDER BY seq")]
    async with open_store(old) as store:
        found = await store.read(lambda tx: events.after(tx, 0, registration_id=None, state=None, limit=9))
    assert [(one.id, one.state) for one in found] == [("evt_1", State.FAILED), ("evt_2", State.PENDING)]
    assert {(one.replay_of, one.attempt_limit, one.cancel_requested_at) for one in found} == {
        (None, None, None)
    }
    with beside(old) as connection:
        after = [dict(row) for row in connection.execute("SELECT * FROM events ORDER BY seq")]
        assert connection.execute("SELECT count(*) FROM runs").fetchone()[0] == 1
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    assert [{key: row[key] for key in before[0]} for row in after] == before


async def test_a_copy_of_the_first_shape_is_kept(old: Path) -> None:
    async with open_store(old):
        pass
    copy = old.with_name("tocsin.db.before-4")
    with closing(sqlite3.connect(copy)) as connection:
        assert version(connection) == 1
        assert connection.execute("SELECT id FROM events ORDER BY seq").fetchall() == [("evt_1",), ("evt_2",)]


async def test_what_had_failed_before_can_be_tried_again(old: Path) -> None:
    async with open_store(old) as store:
        await store.write(lambda tx: second_thoughts.revive(tx, "evt_1", busy=False, now=NOW))
        event = await store.read(lambda tx: events.by_id(tx, "evt_1"))
    assert event is not None
    assert (event.state, event.attempts, event.attempt_limit) == (State.PENDING, 1, 2)


async def test_a_reader_waits_for_somebody_who_may_write(old: Path) -> None:
    with pytest.raises(StoreUnusable, match="shape 1, older than this tocsin's 4: `tocsin up`"):
        async with open_reader(old):
            pass
