"""The state machine that the database itself keeps, and the rows it refuses."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.store.raw import (
    DELIVERY,
    EVENT,
    FITTING,
    INSTALLATION,
    REGISTRATION,
    RUN,
    WORKFLOW,
    beside,
    furnish,
    insert,
)
from tocsin.event import BIRTHS, MOVES, UNFINISHED, State
from tocsin.store.connection import Store

EVERY_MOVE = list(itertools.permutations(State, 2))


@pytest.fixture
def db(store: Store, path: Path) -> Iterator[sqlite3.Connection]:
    with beside(path) as connection:
        furnish(connection)
        yield connection


def born(db: sqlite3.Connection, state: State, **more: Any) -> str:
    """An event in any state: one that is never born there is put there behind the trigger's back."""
    row = {**EVENT, **FITTING[state], "state": state, **more}
    if state not in BIRTHS:
        (text,) = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'events_born'").fetchone()
        db.execute("DROP TRIGGER events_born")
        insert(db, "events", row)
        db.execute(text)
    else:
        insert(db, "events", row)
    return str(row["id"])


def move(db: sqlite3.Connection, to: State) -> None:
    """Set a state, with every other column as that state wants it."""
    values: Mapping[str, Any] = {
        **dict.fromkeys(("claim_id", "claim_owner", "claimed_at", "settled_at", "reason", "next_fire_at")),
        **FITTING[to],
        "state": to,
    }
    changes = ", ".join(f"{key} = :{key}" for key in values)
    db.execute(f"UPDATE events SET {changes}", values)  # noqa: S608 - our own names


def test_the_moves_of_the_code_are_the_moves_of_the_database(db: sqlite3.Connection) -> None:
    rows = db.execute("SELECT from_state, to_state FROM event_moves").fetchall()
    assert {(State(one), State(other)) for one, other in rows} == MOVES


def test_the_births_of_the_code_are_the_births_of_the_database(db: sqlite3.Connection) -> None:
    rows = db.execute("SELECT state, born FROM event_states").fetchall()
    assert {State(state) for state, _ in rows} == set(State)
    assert {State(state) for state, is_born in rows if is_born} == BIRTHS


@pytest.mark.parametrize("state", State)
def test_an_event_is_born_only_in_a_state_of_births(db: sqlite3.Connection, state: State) -> None:
    row = {**EVENT, **FITTING[state], "state": state}
    if state in BIRTHS:
        insert(db, "events", row)
    else:
        with pytest.raises(sqlite3.IntegrityError, match="not born in this state"):
            insert(db, "events", row)


@pytest.mark.parametrize(("start", "end"), EVERY_MOVE)
def test_an_event_moves_only_as_moves_says(db: sqlite3.Connection, start: State, end: State) -> None:
    born(db, start)
    if (start, end) in MOVES:
        move(db, end)
        assert db.execute("SELECT state FROM events").fetchone()[0] == end
    else:
        with pytest.raises(sqlite3.IntegrityError, match="does not move between these states"):
            move(db, end)
        assert db.execute("SELECT state FROM events").fetchone()[0] == start


@pytest.mark.parametrize("state", State)
def test_an_event_may_change_without_moving(db: sqlite3.Connection, state: State) -> None:
    born(db, state)
    db.execute("UPDATE events SET state = state, missed = 3")
    assert db.execute("SELECT missed FROM events").fetchone()[0] == 3


def test_what_has_ended_moves_no_more_but_for_a_requeue_or_a_retry() -> None:
    ended = set(State) - UNFINISHED
    assert {(one, other) for one, other in MOVES if one in ended} == {
        (State.FAILED, State.PENDING),
        (State.FAILED, State.HELD),
        (State.DROPPED, State.PENDING),
        (State.DROPPED, State.HELD),
    }


@pytest.mark.parametrize(
    ("state", "wrong"),
    [
        ("pending", {"settled_at": 1}),
        ("pending", {"next_fire_at": None}),
        ("pending", {"claim_id": "clm_1", "claim_owner": "own_1", "claimed_at": 0}),
        ("held", {"settled_at": 1}),
        ("held", {"reason": None}),
        ("claimed", {"claim_id": None, "claim_owner": None, "claimed_at": None}),
        ("claimed", {"claim_owner": None}),
        ("claimed", {"claimed_at": None}),
        ("claimed", {"settled_at": 1}),
        ("skipped", {"settled_at": None}),
        ("skipped", {"count": 0}),
        ("pending", {"missed": -1}),
        ("pending", {"attempts": -1}),
        ("pending", {"attempt_limit": 0}),
        ("pending", {"kind": "cron"}),
        ("pending", {"origin": "somewhere"}),
        ("pending", {"cause_run": "run_1", "cause_lineage": "[trg"}),
        ("pending", {"occurred_at": "2026-01-01"}),
        ("pending", {"registration_id": "trg_nobody"}),
        ("pending", {"delivery": "dlv_nothing"}),
    ],
)
def test_an_impossible_event_is_refused(db: sqlite3.Connection, state: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        insert(db, "events", {**EVENT, **FITTING[state], "state": state, **wrong})


def test_two_events_never_share_an_idempotency_key(db: sqlite3.Connection) -> None:
    born(db, State.PENDING)
    with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE.*idempotency_key"):
        insert(db, "events", {**EVENT, "id": "evt_2"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"enabled": 0},  # without a reason
        {"disabled_reason": "user"},  # with a reason, but on
        {"kind": "schedule"},  # without a schedule
        {"cron_expr": "* * * * *", "cron_tz": "UTC"},  # a schedule of a kind that has none
        {"kind": "schedule", "cron_expr": "* * * * *", "cron_tz": "UTC", "once_at": 0},  # two schedules
        {"kind": "schedule", "every_us": 999_999},  # finer than a second
        {"max_attempts": 0},
        {"disable_after": 0},
        {"max_runs": 0},
        {"misfire": "sometimes"},
        {"origin": "somewhere"},
        {"written_enabled": 2},
        {"state": "{"},
        {"config": "{"},
        {"tags": "x"},
        {"workflow": "unknown"},
        {"installation_id": "ins_nothing"},
        {"armed_at": "noon"},
    ],
)
def test_an_impossible_registration_is_refused(db: sqlite3.Connection, wrong: dict[str, Any]) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        insert(db, "registrations", {**REGISTRATION, "id": "trg_2", "name": "other", **wrong})


def test_a_name_is_free_once_its_bearer_is_removed(db: sqlite3.Connection) -> None:
    second = {**REGISTRATION, "id": "trg_2"}
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        insert(db, "registrations", second)
    db.execute("UPDATE registrations SET removed_at = 1, enabled = 0, disabled_reason = 'user'")
    insert(db, "registrations", second)


@pytest.mark.parametrize(
    "wrong",
    [
        {"finished_at": 1},
        {"state": "succeeded"},
        {"state": "paused"},
        {"attempt": 0},
        {"event_id": None},  # a test has no event
        {"test": 1},  # an event's run is no test
        {"params": "{"},
        {"output": "{"},
        {"registration_id": "trg_nobody"},
    ],
)
def test_an_impossible_run_is_refused(db: sqlite3.Connection, wrong: dict[str, Any]) -> None:
    born(db, State.PENDING)
    with pytest.raises(sqlite3.IntegrityError):
        insert(db, "runs", {**RUN, **wrong})


@pytest.mark.parametrize(
    ("table", "row", "wrong"),
    [
        ("workflows", WORKFLOW, {"name": "v", "version": 0}),
        ("workflows", WORKFLOW, {"name": "v", "max_concurrent": 0}),
        ("workflows", WORKFLOW, {"name": "v", "spec": "no json"}),
        ("installations", INSTALLATION, {"id": "ins_2", "props": "no json"}),
        ("installations", INSTALLATION, {"id": "ins_2", "cursor": "no json"}),
        ("deliveries", DELIVERY, {"id": "dlv_2", "envelope": "no json"}),
        ("deliveries", DELIVERY, {"id": "dlv_2", "installation_id": "ins_nothing"}),
        ("deliveries", DELIVERY, {"id": "dlv_2", "body": "text"}),
    ],
)
def test_other_impossible_rows_are_refused(
    db: sqlite3.Connection, table: str, row: Mapping[str, Any], wrong: dict[str, Any]
) -> None:
    with pytest.raises(sqlite3.IntegrityError):
        insert(db, table, {**row, **wrong})


def test_a_hash_is_seen_for_the_first_time_once(db: sqlite3.Connection) -> None:
    row = {
        "hash": "h",
        "registration_id": "trg_1",
        "verdict": "accepted",
        "first_seen_at": 0,
        "last_seen_at": 0,
    }
    insert(db, "seen", row)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        insert(db, "seen", row)
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        insert(db, "seen", {**row, "hash": "g", "verdict": "perhaps"})
