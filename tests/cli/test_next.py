"""`next`: of expressions without a database, and of triggers."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.cli.calling import CONFIG, Home


def test_an_expression_across_the_end_of_summer_time(bare: Home) -> None:
    found = bare.ok(
        "next", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-10-24T00:00:00Z", "-n", "3",
        "--json",
    ).json  # fmt: skip
    assert [row["at"] for row in found] == [
        "2026-10-24T00:30:00Z",
        "2026-10-25T00:30:00Z",
        "2026-10-26T01:30:00Z",
    ]
    assert [row["local"][-6:] for row in found] == ["+02:00", "+02:00", "+01:00"]
    assert [row["note"] for row in found] == [None, "first of two 02:30", None]
    assert [list(row) for row in found] == [["registration", "at", "local", "tz", "note"]] * 3
    assert (found[0]["registration"], found[0]["tz"]) == (None, "Europe/Berlin")
    assert not bare.path.exists()


def test_a_time_that_does_not_exist_is_noted(bare: Home) -> None:
    shown = bare.ok(
        "next", "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-03-29T00:00:00Z", "-n", "1"
    )
    assert "02:30 does not exist" in shown.out
    assert "03:00:00 CEST" in shown.out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--cron", "0 0 30 2 *"], "day of month"),
        (["--cron", "* * * * * *"], "field"),
        (["--cron", "0 0 * * *", "--tz", "Europe/Berln"], "Europe/Berln"),
    ],
)
def test_what_can_never_fire_exits_4_and_is_named(bare: Home, flags: list[str], said: str) -> None:
    result = bare("next", *flags)
    assert result.code == 4
    assert said in result.err


@pytest.mark.parametrize(
    "flags",
    [
        ["--tz", "UTC"],
        ["--from", "2026-01-01T00:00:00Z"],
        ["hello", "--cron", "0 0 * * *"],
        ["--cron", "0 0 * * *", "--from", "2026-01-01T00:00:00"],
        ["--cron", "0 0 * * *", "--from", "tomorrow"],
        ["--within", "2"],
        ["-n", "0"],
    ],
)
def test_flags_that_make_no_sense_are_usage_errors(home: Home, flags: list[str]) -> None:
    assert home("next", *flags).code == 2


def test_without_a_zone_the_machines_is_meant(bare: Home) -> None:
    assert bare.ok("next", "--cron", "0 0 * * *", "-n", "1", "--json").json[0]["tz"] == "Europe/Berlin"


def test_all_triggers_in_the_order_of_time(home: Home) -> None:
    home.ok("add", "tick", "--workflow", "hello", "--every", "1h")
    found = home.ok("next", "--json").json
    assert len(found) == 10
    instants = [row["at"] for row in found]
    assert instants == sorted(instants)
    assert {row["registration"] for row in home.ok("next", "-n", "200", "--json").json} == {"tick", "brief"}


def test_triggers_of_several_zones_stand_in_the_order_of_their_instants(home: Home) -> None:
    """QU-06: 23:00 in Kolkata is 17:30Z, 13:30 in New York 18:30Z: as text the other way round."""
    for name, cron, zone in (
        ("new-york", "30 13 15 1 *", "America/New_York"),
        ("kolkata", "0 23 15 1 *", "Asia/Kolkata"),
    ):
        home.ok("add", name, "--workflow", "hello", "--cron", cron, "--tz", zone)
    home.ok("disable", "brief")
    found = home.ok("next", "-n", "4", "--json").json
    assert [row["registration"] for row in found] == ["kolkata", "new-york"] * 2
    assert [row["at"][-10:] for row in found] == ["T17:30:00Z", "T18:30:00Z"] * 2


def test_one_trigger_and_a_limit_of_time(home: Home) -> None:
    home.ok("add", "tick", "--workflow", "hello", "--every", "10m")
    found = home.ok("next", "tick", "--within", "1h", "--json").json
    assert len(found) == 6
    first, second = (datetime.fromisoformat(row["at"]) for row in found[:2])
    assert second - first == timedelta(minutes=10)
    assert len(home.ok("next", "tick", "--within", "1h", "-n", "2", "--json").json) == 2
    assert len(home.ok("next", "brief", "--json").json) == 10


def test_what_is_off_or_has_no_schedule_is_not_planned(home: Home) -> None:
    home.ok("disable", "brief")
    assert home.ok("next", "brief", "--json").json == []
    assert "brief is off (user)" in home.ok("next", "brief").err
    assert "hello has no schedule, its source is manual" in home.ok("next", "hello").err


def test_why_nothing_is_planned_is_said_of_what_was_asked(home: Home) -> None:
    expression = home.ok("next", "--cron", "0 0 1 1 *", "--from", "2026-02-01T00:00:00Z", "--within", "1d")
    assert (expression.out, "nothing is planned within 1d" in expression.err) == ("", True)
    assert "nothing of brief is planned within 1s" in home.ok("next", "brief", "--within", "1s").err
    home.ok("pause", "brief")
    assert "brief is paused until `tocsin resume brief`" in home.ok("next", "brief").err
    home.ok("pause", "brief", "--for", "30d")
    assert "brief is paused until 20" in home.ok("next", "brief", "--within", "1d").err
    assert "brief is paused until 20" in home.ok("simulate", "brief", "--for", "1d").err


def test_from_another_time_on_nothing_is_said_to_be_ago(bare: Home) -> None:
    shown = bare.ok("next", "--cron", "0 0 * * *", "--from", "2026-03-01T00:00:00Z", "-n", "1").out
    assert "ago" not in shown
    assert shown.splitlines()[0].split() == ["NAME", "LOCAL", "UTC", "NOTE"]
    assert "IN" in bare.ok("next", "--cron", "0 0 * * *", "-n", "1").out.splitlines()[0].split()


def test_nothing_is_planned_past_the_end_of_a_trigger(home: Home) -> None:
    home.config.write_text(
        CONFIG.replace("[triggers.brief]", "[triggers.brief]\nexpires_at = 2099-01-01T00:00:00Z")
    )
    home.ok("apply")
    assert len(home.ok("next", "brief", "-n", "3", "--json").json) == 3
    home.ok("add", "once", "--workflow", "hello", "--at", "2098-01-01T00:00:00Z")
    assert [row["at"] for row in home.ok("next", "once", "--json").json] == ["2098-01-01T00:00:00Z"]
