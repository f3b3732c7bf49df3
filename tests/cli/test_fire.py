"""`fire` and `test` with no engine running."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.cli.calling import Home
from tocsin.daemon.lock import hold, new_holder
from tocsin.engine.runners.environment import encode_cause
from tocsin.event import Cause

OUTCOME = ["event_id", "run_id", "state", "duplicate", "result", "exit_code", "error"]


def test_fire_waits_for_the_result(home: Home) -> None:
    result = home.ok("fire", "hello", "--json").json
    assert list(result) == OUTCOME
    assert (result["state"], result["exit_code"], result["duplicate"]) == ("succeeded", 0, False)
    assert result["result"] == {"greeting": "hi"}
    shown = home.ok("fire", "hello")
    assert "succeeded" in shown.out
    assert '"greeting": "hi"' in shown.out


def test_fire_of_a_failing_command_exits_1_and_says_where_to_look(home: Home) -> None:
    failed = home("fire", "fails", "--json")
    assert failed.code == 1
    assert (failed.json["state"], failed.json["exit_code"]) == ("failed", 3)
    assert "sorry" in failed.json["error"]
    shown = home("fire", "fails")
    assert shown.code == 1
    assert "tocsin logs run_" in shown.err


def test_fire_takes_the_configuration_over_on_a_home_that_never_saw_an_engine(written: Home) -> None:
    assert written.ok("fire", "hello", "--json").json["state"] == "succeeded"


def test_but_later_changes_of_the_file_wait_for_apply(home: Home) -> None:
    home.config.write_text(home.config.read_text() + '[triggers.new]\nworkflow = "hello"\nmanual = true\n')
    result = home("fire", "new")
    assert result.code == 3
    assert "tocsin apply" in result.err


def test_a_broken_file_does_not_hold_up_what_was_applied_before(home: Home) -> None:
    home.config.write_text("[nonsense]\n")
    assert home.ok("fire", "hello", "--json").json["state"] == "succeeded"


def test_fire_without_any_configuration_makes_nothing(bare: Home) -> None:
    assert bare("fire", "hello").code == 4
    assert not bare.path.exists()


def test_no_wait_answers_at_once_and_the_next_fire_runs_both(home: Home) -> None:
    first = home.ok("fire", "hello", "--no-wait", "--json").json
    assert list(first) == OUTCOME
    assert first["state"] == "pending"
    home.ok("fire", "hello")
    assert home.ok("event", first["event_id"], "--json").json["state"] == "succeeded"


def test_the_same_key_gives_the_first_answer_and_exits_by_its_state(home: Home) -> None:
    first = home("fire", "fails", "--key", "k", "--json")
    again = home("fire", "fails", "--key", "k", "--json")
    assert again.code == first.code == 1
    assert again.json == first.json | {"duplicate": True}
    assert "fired before" in home("fire", "fails", "--key", "k").err
    assert len(home.ok("events", "fails", "--json").json) == 1


@pytest.mark.parametrize(
    ("given", "stdin", "payload"),
    [
        ('{"a": [1, null]}', b"", {"a": [1, None]}),
        ("-", b'{"from": "stdin"}', {"from": "stdin"}),
        ("@FILE", b"", {"from": "Gr\u00fc\u00dfe"}),
        ("12345678901234567890123", b"", 12345678901234567890123),
    ],
)
def test_a_payload_from_anywhere(home: Home, given: str, stdin: bytes, payload: object) -> None:
    file = home.path / "payload.json"
    file.write_text('{"from": "Gr\u00fc\u00dfe"}', encoding="utf-8-sig")
    argument = given.replace("FILE", str(file))
    fired = home("fire", "hello", "--no-wait", "--json", "--payload", argument, stdin=stdin)
    event = home.ok("event", fired.json["event_id"], "--json").json
    assert event["envelope"]["raw_payload"] == payload


@pytest.mark.parametrize("given", ["{", "NaN", "@/no/such/file", "[" * 100_000])
def test_a_payload_that_is_none_is_a_usage_error(home: Home, given: str) -> None:
    assert home("fire", "hello", "--payload", given).code == 2
    assert home.ok("events", "--json").json == []


def test_a_timeout_exits_7_and_the_event_goes_on(home: Home) -> None:
    result = home("fire", "slow", "--timeout", "300ms", "--json")
    assert result.code == 7
    assert result.json["state"] in ("pending", "claimed")
    assert "goes on with the next `tocsin up`" in result.err
    assert home.ok("event", result.json["event_id"], "--json").json["state"] == "pending"


@pytest.mark.parametrize("given", ["5", "-1s", "soon"])
def test_a_timeout_has_a_unit(home: Home, given: str) -> None:
    assert home("fire", "hello", "--timeout", given).code == 2


def test_an_interrupt_leaves_the_event_waiting(home: Home) -> None:
    with home.process("fire", "slow") as fire:
        while not any(run["state"] == "running" for run in home.ok("runs", "--json").json):
            assert fire.poll() is None
        fire.send_signal(signal.SIGINT)
        _, err = fire.communicate()
    assert fire.returncode == 130
    assert "goes on with the next `tocsin up`" in err
    assert home.ok("events", "slow", "--json").json[0]["state"] == "pending"


def test_two_fires_at_once_both_get_their_result(home: Home) -> None:
    with home.process("fire", "hello", "--json") as one, home.process("fire", "hello", "--json") as other:
        results = [json.loads(process.communicate()[0]) for process in (one, other)]
    assert [result["state"] for result in results] == ["succeeded", "succeeded"]
    assert results[0]["event_id"] != results[1]["event_id"]


def test_a_fire_takes_over_when_the_one_that_ran_events_is_gone(home: Home) -> None:
    with home.process("fire", "hello", "--json") as waiting:
        with hold(home.path / "engine.lock", new_holder("fire")):
            while not home.ok("events", "--json").json:
                assert waiting.poll() is None
        assert json.loads(waiting.communicate()[0])["state"] == "succeeded"


def test_a_run_that_fires_its_own_trigger_is_refused(home: Home) -> None:
    id_ = home.ok("show", "hello", "--json").json["id"]
    cause = encode_cause(Cause(run_id="run_1", lineage=(id_,)))
    inside = Home(path=home.path, environ={"TOCSIN_CAUSE": cause})
    assert inside("fire", "hello").code == 6
    event = inside.ok("fire", "brief", "--no-wait", "--json").json["event_id"]
    assert "run_1" in home.ok("event", event).out


def test_test_runs_the_command_and_touches_nothing(home: Home) -> None:
    before = home.ok("show", "fails", "--json").json
    tested = home("test", "fails", "--json")
    assert tested.code == 1
    assert list(tested.json) == [*OUTCOME, "would"]
    assert set(tested.json["would"]) == {"argv", "env", "params"}
    assert home.ok("show", "fails", "--json").json == before
    assert home.ok("events", "--json").json == []
    shown = home.ok("test", "hello").out
    assert "command  sh -c" in shown
    assert shown.rstrip().endswith("err")


def test_test_without_a_run_shows_what_would_run(home: Home) -> None:
    shown = home.ok("test", "brief", "--no-run", "--json").json
    assert shown["run_id"] is None
    assert shown["would"]["params"]["event"]["raw_payload"]["missed"] == 0
    assert "nothing was run" in home.ok("test", "brief", "--no-run").err
    assert home.ok("runs", "--json").json == []


def test_test_with_a_payload_or_with_an_old_event(home: Home) -> None:
    given = home.ok("test", "hello", "--no-run", "--payload", '{"a": 1}', "--json").json
    assert given["would"]["params"]["event"]["raw_payload"] == {"a": 1}
    event = home.ok("fire", "hello", "--no-wait", "--payload", '{"b": 2}', "--json").json["event_id"]
    again = home.ok("test", "hello", "--no-run", "--event", event[:-2], "--json").json
    assert again["would"]["params"]["event"]["raw_payload"] == {"b": 2}
    assert home("test", "hello", "--sample", "--event", event).code == 2
    assert home("test", "hello", "--event", "evt_f").code == 3


def test_test_of_a_folder_lists_what_matches_and_takes_the_newest(home: Home) -> None:
    inbox = home.path / "pdfs"
    home.config.write_text(
        home.config.read_text()
        + '[workflows.count]\ncommand = ["wc", "-c", "--", "{event.raw_payload.path}"]\n'
        + '[triggers.pdfs]\nworkflow = "count"\nfiles = { path = "pdfs", match = ["*.pdf"] }\n'
    )
    inbox.mkdir()
    nothing = home.ok("test", "pdfs", "--no-run", "--json").json
    assert nothing["matches"] == {"count": 0, "paths": []}
    assert "no file matches now" in home.ok("test", "pdfs", "--no-run").err
    for age, name in enumerate(("new.pdf", "old.pdf", "note.txt", "half.pdf.part")):
        (inbox / name).write_text("12345")
        os.utime(inbox / name, (1_700_000_000 - age, 1_700_000_000 - age))
    tested = home.ok("test", "pdfs", "--sample", "--json").json
    assert tested["matches"] == {"count": 2, "paths": [str(inbox / "new.pdf"), str(inbox / "old.pdf")]}
    assert tested["would"]["argv"][-1] == str(inbox / "new.pdf")
    assert tested["state"] == "succeeded"
    shown = home.ok("test", "pdfs", "--sample").out
    assert "2 files match now" in shown
    assert f"5 {inbox}/new.pdf" in shown


def test_test_of_a_batch_takes_them_all(home: Home) -> None:
    home.config.write_text(
        home.config.read_text()
        + '[triggers.pdfs]\nworkflow = "hello"\nfiles = { path = "pdfs", batch = true }\n'
    )
    (home.path / "pdfs").mkdir()
    for name in ("a", "b"):
        (home.path / "pdfs" / name).write_text("x")
    event = home.ok("test", "pdfs", "--no-run", "--json").json["would"]["params"]["event"]
    assert event["raw_payload"]["count"] == 2
