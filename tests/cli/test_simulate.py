"""`simulate` and `gaps` on the command line."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.cli.calling import Home
from tests.store.raw import beside
from tocsin.cli import exits
from tocsin.clock import SystemClock


def test_a_week_of_an_office_schedule(home: Home) -> None:
    found = home.ok("simulate", "brief", "--from", "2026-03-02T00:00:00+01:00", "--for", "7d", "--json").json
    assert [list(row) for row in found] == [["at", "registration", "what", "note"]] * 5
    assert {row["what"] for row in found} == {"fire"}
    assert found[0]["at"] == "2026-03-02T07:00:00Z"


def test_a_sleep_over_the_time_is_made_up_for_in_the_morning(home: Home) -> None:
    found = home.ok(
        "simulate", "--from", "2026-03-02T00:00:00+01:00", "--for", "1d", "--sleep", "23:00-09:30", "--json",
    ).json  # fmt: skip
    assert found == [
        {
            "at": "2026-03-02T08:30:00Z",
            "registration": "brief",
            "what": "catch_up",
            "note": "planned for 2026-03-02T07:00:00Z",
        }
    ]


def test_people_see_one_clock_in_order_and_in_the_notes(home: Home) -> None:
    home.ok("add", "tokyo", "--workflow", "hello", "--cron", "0 18 * * *", "--tz", "Asia/Tokyo")
    shown = home.ok("simulate", "--from", "2026-03-02T00:00:00Z", "--for", "1d").out
    assert "2026-03-02 08:00:00 CET" in shown
    assert "2026-03-02 10:00:00 CET" in shown
    night = home.ok("simulate", "--from", "2026-03-02T00:00:00Z", "--for", "1d", "--sleep", "23:00-09:30").out
    assert "2026-03-02 09:30:00 CET" in night
    assert "planned for 2026-03-02 08:00:00 CET" in night


def test_no_time_at_all_is_said_to_be_too_short(home: Home) -> None:
    assert "nothing is planned within 0s" in home.ok("simulate", "--for", "0s").err


@pytest.mark.parametrize("sleep", ["23-7", "25:00-07:00", "07:00-07:00", "7:00-8:00", ""])
def test_a_sleep_that_is_none_is_a_usage_error(home: Home, sleep: str) -> None:
    result = home("simulate", "--sleep", sleep)
    assert result.code == exits.USAGE
    assert "--sleep" in result.err


def test_without_a_schedule_nothing_is_planned(home: Home) -> None:
    result = home.ok("simulate", "hook")
    assert (result.out, "hook has no schedule, its source is webhook" in result.err) == ("", True)
    assert home.ok("simulate", "hook", "--json").json == []


def test_an_unknown_trigger_is_not_found(home: Home) -> None:
    assert home("simulate", "nobody").code == exits.NOT_FOUND


def test_gaps_tell_when_why_and_at_what_cost(home: Home) -> None:
    began = SystemClock().now() - timedelta(hours=10)
    us = int(began.timestamp() * 1_000_000)
    cost = '[{"registration":"brief","planned":3,"events":1,"skipped":0}]'
    with beside(home.path / "tocsin.db") as connection:
        connection.execute(
            "INSERT INTO gaps (from_at, to_at, cause, evidence, cost) VALUES (?, ?, 'asleep', 'slept', ?)",
            (us, us + 8 * 3600 * 1_000_000, cost),
        )
    [found] = home.ok("gaps", "--json").json
    assert (found["cause"], found["seconds"], found["evidence"]) == ("asleep", 28800.0, "slept")
    assert found["cost"] == [{"registration": "brief", "planned": 3, "events": 1, "skipped": 0}]
    assert "brief 3 (1 fire)" in home.ok("gaps").out
    assert home.ok("gaps", "--last", "1h", "--json").json == []
    assert "no gap in the last 1h" in home.ok("gaps", "--last", "1h").err


def test_a_home_without_a_database_has_no_gaps(bare: Home) -> None:
    assert bare.ok("gaps", "--json").json == []
    assert not bare.path.exists()
