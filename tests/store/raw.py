"""SQL for tests that look behind the store's verbs, or around them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tocsin.store.connection import Store, on_thread


@contextmanager
def beside(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection of another process, as it were."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection


async def on_writer(store: Store, sql: str) -> list[tuple[Any, ...]]:
    """Run one statement on the store's own writing connection."""
    return await on_thread(store._writer, lambda c: [tuple(row) for row in c.execute(sql).fetchall()])


def insert(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> None:
    columns = ", ".join(row)
    marks = ", ".join(f":{key}" for key in row)
    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", row)  # noqa: S608 - our own names


WORKFLOW: Mapping[str, Any] = {
    "name": "w",
    "version": 1,
    "hash": "h",
    "runner": "command",
    "spec": "{}",
    "updated_at": 0,
}
INSTALLATION: Mapping[str, Any] = {
    "id": "ins_1",
    "name": "t",
    "component": "manual",
    "component_version": 1,
    "props": "{}",
    "created_at": 0,
}
REGISTRATION: Mapping[str, Any] = {
    "id": "trg_1",
    "name": "t",
    "installation_id": "ins_1",
    "workflow": "w",
    "workflow_version": 1,
    "kind": "manual",
    "component": "manual",
    "component_version": 1,
    "config": "{}",
    "tags": "[]",
    "armed_at": 0,
    "misfire": "fire_once",
    "misfire_grace_ms": 0,
    "misfire_limit": 1,
    "overlap": "queue",
    "max_attempts": 3,
    "disable_after": 5,
    "written_enabled": 1,
    "origin": "file",
    "created_at": 0,
}
DELIVERY: Mapping[str, Any] = {
    "id": "dlv_1",
    "installation_id": "ins_1",
    "kind": "manual",
    "delivery_id": "d",
    "envelope": "{}",
    "received_at": 0,
}
EVENT: Mapping[str, Any] = {
    "id": "evt_1",
    "registration_id": "trg_1",
    "workflow": "w",
    "delivery": "dlv_1",
    "delivery_id": "d",
    "kind": "manual",
    "origin": "live",
    "idempotency_key": "trigger:1",
    "occurred_at": 0,
    "state": "pending",
    "next_fire_at": 0,
    "created_at": 0,
}
RUN: Mapping[str, Any] = {
    "id": "run_1",
    "event_id": "evt_1",
    "registration_id": "trg_1",
    "workflow": "w",
    "workflow_version": 1,
    "attempt": 1,
    "engine_key": "trigger:1:1",
    "params": "{}",
    "state": "running",
    "started_at": 0,
    "log": "/log",
}

# What an event's other columns must be for the checks to let its state pass.
FITTING: Mapping[str, Mapping[str, Any]] = {
    "held": {"reason": "lane", "settled_at": None, "next_fire_at": None},
    "pending": {"settled_at": None, "next_fire_at": 0},
    "claimed": {"settled_at": None, "claim_id": "clm_1", "claim_owner": "own_1", "claimed_at": 0},
    "succeeded": {"settled_at": 1},
    "failed": {"settled_at": 1},
    "skipped": {"settled_at": 1},
    "dropped": {"settled_at": 1},
}


def furnish(connection: sqlite3.Connection) -> None:
    """A workflow, an installation, a registration and a delivery for an event to stand on."""
    for table, row in (
        ("workflows", WORKFLOW),
        ("installations", INSTALLATION),
        ("registrations", REGISTRATION),
        ("deliveries", DELIVERY),
    ):
        insert(connection, table, row)
