"""Many ended events at once, by SQL: recording them one by one would take longer than the test."""

from __future__ import annotations

import sqlite3

from tests.engine.rig import Rig
from tocsin.registration import Registration
from tocsin.store.connection import on_thread

STATEMENTS = """
CREATE TEMP TABLE numbers (n INTEGER);

INSERT INTO numbers
WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted LIMIT :rows)
SELECT n FROM counted;

INSERT INTO deliveries (id, installation_id, kind, delivery_id, body, envelope, received_at)
SELECT 'dlv_' || n, :installation, 'webhook', 'd' || n, zeroblob(300), '{}', :at FROM numbers;

INSERT INTO events (
  id, registration_id, workflow, delivery, delivery_id, kind, origin, idempotency_key, occurred_at, state,
  reason, created_at, settled_at)
SELECT 'evt_' || n, :registration, 'w', 'dlv_' || n, 'd' || n, 'webhook', 'live', 'trigger:h' || n, :at,
  'skipped', 'overlap', :at, :at FROM numbers;

INSERT INTO seen (hash, registration_id, event_id, verdict, first_seen_at, last_seen_at)
SELECT 'h' || n, :registration, 'evt_' || n, 'accepted', :at, :at FROM numbers
"""


async def furnish(rig: Rig, row: Registration, rows: int) -> None:
    """Skipped events of a registration, all of now, with their deliveries and hashes."""
    at = int(rig.clock.now().timestamp() * 1_000_000)
    values = {"rows": rows, "installation": row.installation_id, "registration": row.id, "at": at}

    def step(connection: sqlite3.Connection) -> None:
        for statement in STATEMENTS.split(";"):
            connection.execute(statement, values)

    await on_thread(rig.store._writer, step)
