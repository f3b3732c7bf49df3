"""The SQL: named, used, free of repetition, planned on its indexes, and in `.sql` files only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tocsin
from tests.store.raw import beside
from tocsin.store import queries
from tocsin.store.connection import Store

SOURCES = Path(tocsin.__file__).parent
FOLDER = SOURCES / "store" / "queries"
SPOKEN_IN = ("store/connection.py", "store/migrate.py")  # PRAGMA, BEGIN and their like
STATEMENT = re.compile(
    r"""["']\s*(SELECT\s|INSERT\s+(OR\s|INTO\s)|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|PRAGMA\s|CREATE\s+TABLE\s)"""
)
NAME = re.compile(r"""\b(?:tx|self)\.(?:all|one|run)\(\s*["']([a-z_]+\.[a-z_]+)["']""")


def modules() -> Iterator[tuple[str, str]]:
    for file in sorted(SOURCES.rglob("*.py")):
        yield file.relative_to(SOURCES).as_posix(), file.read_text("utf-8")


def used() -> set[str]:
    return {name for _, text in modules() for name in NAME.findall(text)}


def test_every_query_is_used_and_every_used_name_is_a_query() -> None:
    assert used() == set(queries.load())


def test_a_query_is_named_after_a_table_and_described_in_one_line() -> None:
    for file in sorted(FOLDER.glob("*.sql")):
        for block in file.read_text("utf-8").split(queries.MARK)[1:]:
            name, description = block.splitlines()[:2]
            assert re.fullmatch(r"[a-z_]+\.[a-z_]+", name), name
            assert re.fullmatch(r"-- \S.*\S", description), name


def test_queries_hold_one_statement_each() -> None:
    for name, text in queries.load().items():
        assert ";" not in text, name
        assert text, name


def test_two_queries_of_one_name_are_refused() -> None:
    with pytest.raises(queries.DuplicateQuery, match=r"a\.b"):
        queries.parse("-- name: a.b\n-- One.\nSELECT 1;\n-- name: a.b\n-- Two.\nSELECT 2;\n")


def test_a_query_is_read_without_its_comments_and_semicolon() -> None:
    found = queries.parse(
        "-- name: a.b\n-- Describes.\nSELECT 1,\n-- and\n  2;\n\n-- name: c.d\n-- More.\nSELECT 3;\n"
    )
    assert found == {"a.b": "SELECT 1,\n  2", "c.d": "SELECT 3"}


def test_sql_stands_in_sql_files_only() -> None:
    found = {name for name, text in modules() if STATEMENT.search(text)}
    assert found - set(SPOKEN_IN) == set()


def test_every_query_is_one_that_the_database_understands(store: Store, path: Path) -> None:
    with beside(path) as connection:
        for name, text in queries.load().items():
            parameters = dict.fromkeys(re.findall(r":([a-z_]+)", text))
            assert connection.execute(f"EXPLAIN {text}", parameters).fetchall(), name


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("events.ready", "events_ready"),
        ("events.waiting_workflows", "events_ready"),
        ("events.next_ready", "events_ready"),
        ("events.claimed_by_registration", "events_claimed"),
        ("events.lane_busy", "events_lane"),
        ("events.lane_next", "events_lane"),
        ("events.drop_waiting", "events_waiting"),
        ("events.skipped_behind", "events_blocked"),
        ("registrations.due", "registrations_due"),
        ("registrations.next_due", "registrations_due"),
        ("registrations.expired", "registrations_expiring"),
        ("registrations.active_with_component", "registrations_kind"),
        ("runs.of_event", "runs_event"),
        ("runs.nth_last", "runs_registration"),
        ("events.waiting_for", "events_waiting"),
        ("costs.spent", "COVERING INDEX costs_registration"),
        ("seen.newer", "seen_turn"),
        ("seen.take_turn", "seen_turn"),
        ("events.sent", "events_registration"),
        ("retention.old_payloads", "deliveries_kept"),
        ("retention.old_hashes", "seen_age"),
        ("retention.old_runs", "PRIMARY KEY"),
        ("retention.old_events", "PRIMARY KEY"),
    ],
)
def test_what_the_queue_asks_often_is_answered_from_its_own_index(
    store: Store, path: Path, name: str, index: str
) -> None:
    with beside(path) as connection:
        text = queries.load()[name]
        parameters = dict.fromkeys(re.findall(r":([a-z_]+)", text))
        plan = [row["detail"] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]
    assert any(re.search(rf"\b{index}\b", line) for line in plan), plan
    assert not [line for line in plan if re.fullmatch(r"SCAN (events|registrations)", line)], plan
