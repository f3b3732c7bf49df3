"""`cancel`, `retry`, `replay`, with an engine and without one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tocsin
from tests.cli.calling import Home
from tests.cli.test_history import EVENT

REPLAYS_ITSELF = f"""
[workflows.again]
shell = 'exec "{sys.executable}" -m tocsin replay "$TOCSIN_EVENT_ID"'
env = {{ PYTHONPATH = "{Path(tocsin.__file__).parents[1]}" }}
[triggers.again]
workflow = "again"
manual = true
max_attempts = 1
"""


def fired(home: Home, name: str = "hello") -> str:
    """An event that nobody waits for."""
    id_: str = home.ok("fire", name, "--no-wait", "--json").json["event_id"]
    return id_


def failed(home: Home) -> str:
    """An event whose attempts are used up."""
    id_: str = home("fire", "fails", "--json").json["event_id"]
    return id_


class TestWithoutAnEngine:
    def test_cancel_drops_what_waits_and_prints_events(self, home: Home) -> None:
        first, second, third = fired(home), fired(home), fired(home)
        found = home.ok("cancel", first, "--json").json
        assert list(found) == EVENT
        assert (found["id"], found["state"], found["reason"]) == (first, "dropped", "cancelled")
        assert [event["id"] for event in home.ok("cancel", third, second, "--json").json] == [third, second]

    def test_cancel_for_people_and_by_a_beginning_of_the_id(self, home: Home) -> None:
        id_ = fired(home)
        assert home.ok("cancel", id_.removeprefix("evt_")[:-1], id_).out == f"cancelled {id_}\n"
        assert "cancelled: by hand" in home.ok("event", id_).out

    def test_what_has_ended_is_refused_with_its_end_and_nothing_is_changed(self, home: Home) -> None:
        over, waits = failed(home), fired(home)
        result = home("cancel", waits, over)
        assert (result.code, result.out) == (6, "")
        assert f"{over} has ended: failed (attempts)" in result.err
        assert home.ok("event", waits, "--json").json["state"] == "pending"

    def test_retry_gives_a_failed_event_one_more_attempt(self, home: Home) -> None:
        id_ = failed(home)
        result = home.ok("retry", id_, "--json")
        assert (list(result.json), result.json["state"], result.json["attempts"]) == (EVENT, "pending", 1)
        assert "`tocsin up`" in result.err
        assert home.run("up", "--until-idle", "--no-http").code == 0
        event = home.ok("event", id_, "--json").json
        assert (event["state"], event["attempts"], len(event["runs"])) == ("failed", 2, 2)

    def test_retry_of_anything_else_is_refused(self, home: Home) -> None:
        id_ = home.ok("fire", "hello", "--json").json["event_id"]
        result = home("retry", id_)
        assert result.code == 6
        assert f"`tocsin replay {id_}`" in result.err

    @pytest.mark.parametrize("verb", ["retry", "replay"])
    def test_a_trigger_that_is_off_is_refused_with_the_way_out(self, home: Home, verb: str) -> None:
        id_ = failed(home)
        home.ok("disable", "fails")
        result = home(verb, id_)
        assert result.code == 6
        assert "`tocsin enable fails` arms it again" in result.err
        home.ok("enable", "fails")
        home.ok(verb, id_)

    def test_replay_prints_an_object_for_one_and_an_array_for_several(self, home: Home) -> None:
        first, second = fired(home), failed(home)
        one = home.ok("replay", first, "--json").json
        assert one == {"event_id": one["event_id"], "replay_of": first}
        several = home.ok("replay", second, first, "--json").json
        assert [made["replay_of"] for made in several] == [second, first]
        new = home.ok("event", one["event_id"], "--json").json
        assert (new["replay_of"], new["origin"], new["kind"]) == (first, "replay", "manual")
        assert f"replay of  {first}\n" in home.ok("event", new["id"]).out
        assert home.ok("replay", first).out.endswith(f" replays {first}\n")

    def test_a_run_cannot_replay_what_brought_it_about(self, home: Home) -> None:
        home.config.write_text(home.config.read_text() + REPLAYS_ITSELF)
        home.ok("apply")
        result = home("fire", "again", "--json")
        assert result.code == 1
        assert "part of the chain that fires it" in result.json["error"]
        assert len(home.ok("events", "again", "--json").json) == 1

    @pytest.mark.parametrize("verb", ["cancel", "retry", "replay"])
    def test_what_does_not_exist_is_not_found(self, home: Home, bare: Home, verb: str) -> None:
        fired(home)
        fired(home)
        assert home(verb, "evt_f").code == 3
        assert "give more of the id" in home(verb, "evt_0").err
        assert home(verb).code == 2

    def test_a_fire_that_waits_is_told_of_a_cancel_from_elsewhere(self, home: Home) -> None:
        """Its run is stopped by the process that waits, which looks at the queue each second."""
        with home.process("fire", "slow", "--json") as fire:
            follow = home.process("events", "--follow", "--state", "claimed", "--json")
            with follow as events:
                assert events.stdout is not None
                events.stdout.readline()
                events.kill()
            (event,) = home.ok("events", "slow", "--json").json
            assert home.ok("cancel", event["id"]).out == f"cancelled {event['id']}\n"
            out, _ = fire.communicate()
        assert '"state": "dropped"' in out
        assert fire.returncode == 1
        assert home.ok("runs", "slow", "--json").json[0]["state"] == "cancelled"

    def test_a_fire_that_waits_for_its_next_attempt_ends_when_that_is_cancelled(self, home: Home) -> None:
        home.config.write_text(home.config.read_text().replace("max_attempts = 1", "max_attempts = 9"))
        home.ok("apply")
        with home.process("fire", "fails", "--json") as fire:
            with home.process("events", "--follow", "--state", "pending", "--json") as events:
                assert events.stdout is not None
                while '"reason": "retry"' not in events.stdout.readline():
                    pass
                events.kill()
            (event,) = home.ok("events", "fails", "--json").json
            home.ok("cancel", event["id"])
            out, _ = fire.communicate()
        assert '"state": "dropped"' in out


class TestThroughTheEngine:
    def test_all_three(self, engine: Home) -> None:
        failing = failed(engine)
        assert engine.ok("retry", failing).err == ""
        assert engine.ok("logs", failing, "--follow").code == 0
        replayed = engine.ok("replay", failing, "--json")
        assert (replayed.err, replayed.json["replay_of"]) == ("", failing)
        slow = fired(engine, "slow")
        behind = fired(engine, "slow")
        result = engine.ok("cancel", behind, slow, "--json")
        assert [event["state"] for event in result.json] == ["dropped", "dropped"]
        assert f"stopping {slow}" in result.err
        (run,) = engine.ok("event", slow, "--json").json["runs"]
        assert (run["state"], run["signal"]) == ("cancelled", "SIGTERM")
        assert engine("cancel", slow).code == 6
        assert engine.ok("show", "slow", "--json").json["consecutive_failures"] == 0
