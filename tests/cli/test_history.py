"""`events`, `event`, `runs`, `logs`."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from tests.cli.calling import PYTHON, Home

EVENT = [
    "id",
    "registration",
    "registration_id",
    "kind",
    "origin",
    "state",
    "reason",
    "count",
    "delivery_id",
    "idempotency_key",
    "occurred_at",
    "planned_at",
    "created_at",
    "next_fire_at",
    "attempts",
    "run_id",
    "settled_at",
    "replay_of",
    "folded_into",
    "missed",
]
RUN = [
    "id",
    "event_id",
    "registration",
    "workflow",
    "workflow_version",
    "attempt",
    "state",
    "started_at",
    "finished_at",
    "duration_ms",
    "exit_code",
    "signal",
    "error",
    "result",
    "cost_usd",
    "log",
    "test",
]


@pytest.fixture
def past(home: Home) -> Home:
    """A home on which one event succeeded and, later, one failed."""
    home.ok("fire", "hello", "--key", "first")
    home("fire", "fails")
    return home


def test_events_newest_first_with_exactly_the_keys_scripts_rely_on(past: Home) -> None:
    found = past.ok("events", "--json").json
    assert [event["registration"] for event in found] == ["fails", "hello"]
    assert all(list(event) == EVENT for event in found)
    assert found[1]["delivery_id"] == "first"
    assert found[0]["created_at"].endswith("Z")


def test_events_can_be_narrowed(past: Home) -> None:
    assert len(past.ok("events", "hello", "--json").json) == 1
    assert past.ok("events", "--state", "failed", "--json").json[0]["registration"] == "fails"
    assert past.ok("events", "--limit", "1", "--json").json[0]["registration"] == "fails"
    assert len(past.ok("events", "--since", "1h", "--json").json) == 2
    assert past.ok("events", "--since", "0s", "--json").json == []
    assert past("events", "--since", "60").code == 2
    assert past("events", "--since", "999999w").code == 2
    wrong = past("events", "--state", "succeded")
    assert wrong.code == 2
    assert "did you mean 'succeeded'" in wrong.err


def test_events_for_people(past: Home) -> None:
    header, failed, succeeded = past.ok("events").out.splitlines()
    assert header.split() == ["WHEN", "EVENT", "TRIGGER", "KIND", "STATE", "ATTEMPTS", "REASON"]
    assert failed.split()[-3:] == ["failed", "1", "attempts"]
    assert succeeded.split()[-3:] == ["succeeded", "1", "-"]


def test_no_events_says_how_to_make_one(bare: Home, home: Home) -> None:
    result = home.ok("events")
    assert result.out == ""
    assert "tocsin fire" in result.err
    assert "fit" in home.ok("events", "--state", "failed").err
    assert "tocsin fire" in home.ok("runs").err


def test_event_tells_the_whole_story(past: Home) -> None:
    event = past.ok("events", "fails", "--json").json[0]
    told = past.ok("event", event["id"], "--json").json
    assert list(told) == [*EVENT, "envelope", "runs", "trace"]
    assert [list(run) for run in told["runs"]] == [RUN]
    assert told["envelope"]["trust"] == "untrusted"
    assert [set(step) for step in told["trace"]] == [{"at", "what", "reason"}] * 4
    assert [step["what"] for step in told["trace"]] == [
        "recorded",
        "attempt 1 started",
        "attempt 1 failed",
        "failed",
    ]
    assert [step["at"] for step in told["trace"]] == sorted(step["at"] for step in told["trace"])
    shown = past.ok("event", event["id"]).out
    assert "attempt 1 failed: exit code 3: sorry" in shown


def test_a_beginning_of_an_id_is_enough_with_or_without_its_prefix(past: Home) -> None:
    id_ = past.ok("events", "hello", "--json").json[0]["id"]
    for text in (id_, id_[:-1], id_.removeprefix("evt_")[:-1]):
        assert past.ok("event", text, "--json").json["id"] == id_


@pytest.mark.parametrize("text", ["evt_", "evt_0"])
def test_a_beginning_of_several_ids_is_ambiguous(past: Home, text: str) -> None:
    result = past("event", text)
    assert result.code == 3
    assert "give more of the id" in result.err


@pytest.mark.parametrize("text", ["evt_f", "", "nonsense", "%", "evt_\U0010ffff"])
def test_an_unknown_id_is_not_found(past: Home, text: str) -> None:
    assert past("event", text).code == 3
    assert past("logs", text).code == 3


def test_runs_newest_first_with_exactly_the_keys_scripts_rely_on(past: Home) -> None:
    found = past.ok("runs", "--json").json
    assert [run["registration"] for run in found] == ["fails", "hello"]
    assert all(list(run) == RUN for run in found)
    assert found[0]["error"].endswith("sorry")
    assert found[1]["result"] == {"greeting": "hi"}
    assert past.ok("runs", "hello", "--state", "succeeded", "--since", "1h", "--json").json == found[1:]
    assert "exit code 3: sorry" in past.ok("runs", "fails").out


def test_logs_of_a_run_or_of_an_events_last_run(past: Home) -> None:
    run = past.ok("runs", "hello", "--json").json[0]
    for text in (run["id"], run["id"][:-1], run["id"].removeprefix("run_"), run["event_id"]):
        assert past.ok("logs", text).out == "out\nerr\n"
    assert past.ok("logs", run["id"], "--stderr").out == "err\n"
    assert past.ok("logs", run["id"], "--tail", "1").out == "err\n"
    assert past.ok("logs", run["id"], "--follow").out == "out\nerr\n"


def test_logs_of_an_event_that_has_no_run_yet(home: Home) -> None:
    event = home.ok("fire", "hello", "--no-wait", "--json").json["event_id"]
    result = home("logs", event)
    assert result.code == 3
    assert "run of event" in result.err


def test_logs_that_are_gone(past: Home) -> None:
    run = past.ok("runs", "hello", "--json").json[0]
    (past.path / "logs" / f"{run['id']}.log").unlink()
    assert past("logs", run["id"]).code == 3


def test_output_is_handed_on_byte_for_byte(home: Home) -> None:
    home.config.write_text(
        home.config.read_text()
        + "[workflows.raw]\nshell = \"printf '\\\\033[31m\\\\377\\\\000\\\\n'\"\n"
        + '[triggers.raw]\nworkflow = "raw"\nmanual = true\n'
    )
    home.ok("apply")
    run = home.ok("fire", "raw", "--json").json["run_id"]
    environ = os.environ | home.variables
    done = subprocess.run([*PYTHON, "logs", run], env=environ, capture_output=True, check=True)
    assert done.stdout == b"\x1b[31m\xff\x00\n"


def test_follow_tells_of_each_event_and_of_each_change(home: Home) -> None:
    home.ok("fire", "hello", "--key", "before")
    with home.process("events", "--follow", "--json") as follow:
        assert follow.stdout is not None
        assert json.loads(follow.stdout.readline())["delivery_id"] == "before"
        home.ok("fire", "hello", "--key", "k", "--no-wait")
        assert json.loads(follow.stdout.readline())["state"] == "pending"
        home.ok("fire", "hello", "--key", "k")
        states = [json.loads(follow.stdout.readline())["state"]]
        while states[-1] != "succeeded":
            states.append(json.loads(follow.stdout.readline())["state"])
        assert states in (["succeeded"], ["claimed", "succeeded"])
        follow.send_signal(signal.SIGINT)
        assert follow.stdout.read() == ""
    assert follow.returncode == 130


def test_follow_and_since_exclude_each_other(home: Home) -> None:
    assert home("events", "--follow", "--since", "1h").code == 2


def test_a_reader_that_goes_away_ends_it_quietly(past: Home) -> None:
    with past.process("events", "--follow", "--json") as follow:
        assert follow.stdout is not None
        assert follow.stderr is not None
        follow.stdout.readline()
        follow.stdout.close()
        past.ok("fire", "hello", "--no-wait")
        past.ok("fire", "hello", "--no-wait")
        assert follow.stderr.read() == ""
    assert follow.returncode == 141
