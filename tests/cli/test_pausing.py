"""`pause`, `resume`, `panic`, with an engine and without one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tocsin
from tests.cli.calling import Home

PAST = "2020-01-01T00:00:00Z"
FUTURE = "2099-01-01T01:00:00+01:00"
FUTURE_UTC = "2099-01-01T00:00:00Z"
PAUSES_ITSELF = f"""
[workflows.shy]
shell = '"{sys.executable}" -m tocsin pause shy --for 3s; exit 1'
env = {{ PYTHONPATH = "{Path(tocsin.__file__).parents[1]}" }}
[triggers.shy]
workflow = "shy"
manual = true
max_attempts = 2
"""


def paused(home: Home, name: str) -> tuple[str, str | None, str | None]:
    """(status, paused_until, next_fire_at)."""
    row = home.ok("show", name, "--json").json
    return row["status"], row["paused_until"], row["next_fire_at"]


class TestPause:
    def test_by_name_until_it_is_resumed(self, home: Home) -> None:
        result = home.ok("pause", "brief", "hello")
        assert result.out == "paused brief\npaused hello\n"
        assert result.err == "until they are resumed\n"
        assert paused(home, "brief") == ("paused", None, None)
        assert " paused " in home.ok("list", "--kind", "cron").out

    def test_to_a_time(self, home: Home) -> None:
        result = home.ok("pause", "brief", "--until", FUTURE, "--json")
        assert result.json == ["brief"]
        assert paused(home, "brief") == ("paused", FUTURE_UTC, "2099-01-01T07:00:00Z")
        assert "paused     until 2099-01-01 " in home.ok("show", "brief").out
        (first, *_) = home.ok("next", "brief", "-n", "1", "--json").json
        assert first["at"] == "2099-01-01T07:00:00Z"

    def test_for_a_while_and_another_while(self, home: Home) -> None:
        assert home.ok("pause", "brief", "--for", "1h").err.endswith(", in 1h\n")
        assert "paused, ends in 59m" in home.ok("list", "--kind", "cron").out
        first = paused(home, "brief")[1]
        home.ok("pause", "brief", "--for", "2h")
        second = paused(home, "brief")[1]
        assert first is not None
        assert second is not None
        assert first < second

    def test_a_tag_and_all(self, home: Home) -> None:
        assert home.ok("pause", "--tag", "client-acme", "--json").json == ["brief"]
        assert home.ok("pause", "--all", "--json").json == ["brief", "fails", "hello", "hook", "slow"]
        assert {row["status"] for row in home.ok("list", "--json").json} == {"paused"}
        assert home.ok("next", "--json").json == []

    @pytest.mark.parametrize(
        ("flags", "says"),
        [
            ([], "give names, --tag or --all"),
            (["brief", "--all"], "give names, --tag or --all"),
            (["brief", "--for", "0s"], "--for: 0s is over before it begins"),
            (["brief", "--for", "1ms"], "--for: 1ms is over before it begins"),
            (["brief", "--for", "soon"], "--for"),
            (["brief", "--for", "9999999d"], "--for"),
            (["brief", "--until", PAST], "not in the future"),
            (["brief", "--until", "2099-01-01T00:00:00"], "no time with an offset"),
            (["brief", "--until", "9999-12-31T23:59:59-10:00"], "end of the calendar"),
            (["brief", "--for", "1h", "--until", FUTURE], "not both"),
        ],
    )
    def test_what_makes_no_sense_is_a_usage_error(self, home: Home, flags: list[str], says: str) -> None:
        result = home("pause", *flags)
        assert (result.code, result.out) == (2, "")
        assert says in result.err
        assert paused(home, "brief")[0] == "active"

    def test_a_name_that_fits_none_changes_nothing(self, home: Home) -> None:
        result = home("pause", "hello", "brieff")
        assert result.code == 3
        assert "did you mean brief" in result.err
        assert paused(home, "hello")[0] == "active"

    def test_fire_is_refused_and_enable_says_that_it_lifts_nothing(self, home: Home) -> None:
        home.ok("pause", "hello")
        result = home("fire", "hello")
        assert (result.code, result.out) == (6, "")
        assert "hello is paused: `tocsin resume hello` lets it go on" in result.err
        assert home.ok("enable", "hello").err == "hello is still paused: `tocsin resume hello`\n"
        home.ok("resume", "hello")
        assert home.ok("fire", "hello", "--json").json["state"] == "succeeded"


class TestResume:
    def test_it_prints_those_that_were_paused(self, home: Home) -> None:
        home.ok("pause", "brief")
        result = home.ok("resume", "brief", "hello")
        assert (result.out, result.err) == ("resumed brief\n", "hello was not paused\n")
        assert paused(home, "brief")[0] == "active"

    def test_all_of_none(self, home: Home) -> None:
        assert home.ok("resume", "--all", "--json").json == []
        assert home.ok("resume", "--all").err == "none was paused\n"

    def test_a_fire_that_waits_with_no_engine_up_sees_the_end_of_a_pause(self, home: Home) -> None:
        home.config.write_text(PAUSES_ITSELF)
        home.ok("apply")
        result = home("fire", "shy", "--json")
        assert (result.code, result.json["state"]) == (1, "failed"), result.err
        assert home.ok("event", result.json["event_id"], "--json").json["attempts"] == 2

    def test_what_waits_is_kept(self, home: Home) -> None:
        id_ = home.ok("fire", "hello", "--no-wait", "--json").json["event_id"]
        home.ok("pause", "hello")
        event = home.ok("event", id_, "--json").json
        assert (event["state"], event["reason"]) == ("held", "paused")
        assert home.run("up", "--until-idle", "--no-http").code == 0, "a paused event keeps nobody up"
        home.ok("resume", "--all")
        assert home.run("up", "--until-idle", "--no-http").code == 0
        assert home.ok("event", id_, "--json").json["state"] == "succeeded"


class TestPanic:
    def test_without_anything_to_stop(self, home: Home) -> None:
        result = home.ok("panic")
        assert result.out == "paused 5 triggers\n"
        assert "`tocsin resume --all`" in result.err
        assert home.ok("panic", "--json").json == {"paused": 5, "stopping": []}

    def test_with_a_broken_configuration(self, home: Home) -> None:
        home.config.write_text("broken = [")
        home.ok("panic")
        assert home.ok("resume", "--all", "--json").json == ["brief", "fails", "hello", "hook", "slow"]

    def test_it_stops_what_an_engine_runs(self, engine: Home) -> None:
        first, second = (engine.ok("fire", "slow", "--no-wait", "--json").json["event_id"] for _ in range(2))
        engine.config.write_text("broken = [")
        result = engine.ok("panic", "--json")
        assert result.json == {"paused": 5, "stopping": [first]}
        for id_, state in ((first, ("dropped", "panic")), (second, ("held", "paused"))):
            event = engine.ok("event", id_, "--json").json
            assert (event["state"], event["reason"]) == state
        trace = engine.ok("event", first, "--json").json["trace"]
        assert ("cancel asked for", "panic") in [(step["what"], step["reason"]) for step in trace]
