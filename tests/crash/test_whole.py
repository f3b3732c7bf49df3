"""The main job, end to end: clock, folder, webhook, chain and hand start a command once each."""

from __future__ import annotations

import json
import socket
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crash.rig import Home, until

CONFIG = """
[workflows.show]
command = ["sh", "-c", 'cat >> "$0"; echo >> "$0"', "{seen}"]

[workflows.sleep]
command = ["sleep", "300"]

[triggers.slow]
workflow = "sleep"
manual = true

[triggers.tick]
workflow = "show"
every = "1s"
enabled = {ticking}

[triggers.inbox]
workflow = "show"
files = {{ path = "inbox", debounce = "50ms", settle = "100ms" }}

[triggers.hook]
workflow = "show"
webhook = {{}}
dedupe = {{ header = "X-Delivery" }}

[triggers.then]
workflow = "show"
after = {{ trigger = "hook", on = "success" }}

[triggers.hand]
workflow = "show"
manual = true
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path, configuration(tmp_path, ticking=False))
    (tmp_path / "inbox").mkdir()
    yield home
    home.end()


def configuration(path: Path, *, ticking: bool) -> str:
    return CONFIG.format(seen=path / "seen", ticking=str(ticking).lower())


def seen(home: Home, trigger: str) -> list[dict[str, Any]]:
    """The params documents that a trigger's runs have read."""
    path = home.path / "seen"
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    return [document for document in found if document["trigger_ref"] == trigger]


def post(url: str, delivery: str) -> tuple[int, dict[str, Any]]:
    """Send a delivery; the status and the answer."""
    headers = {"Content-Type": "application/json", "X-Delivery": delivery}
    request = urllib.request.Request(url, b'{"n": 1}', headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.status, json.loads(answer.read())


def finished(home: Home, trigger: str) -> list[dict[str, Any]]:
    return [event for event in home.json("events", trigger) if event["state"] == "succeeded"]


def test_a_delivery_runs_once_is_answered_again_with_the_same_ids_and_the_chain_fires(home: Home) -> None:
    home.up()
    url = home.tocsin("url", "hook").stdout.strip()
    status, first = post(url, "one")
    assert (status, first["duplicate"]) == (202, False)
    assert first["run_id"].startswith("run_")
    until(lambda: len(finished(home, "then")) == 1, "the chain has run")

    status, again = post(url, "one")
    assert (status, again["duplicate"]) == (200, True)
    assert (again["event_id"], again["run_id"]) == (first["event_id"], first["run_id"])
    assert [document["event"]["raw_payload"] for document in seen(home, "hook")] == [{"n": 1}]
    [chained] = seen(home, "then")
    assert chained["event"]["raw_payload"]["run_id"] == first["run_id"]
    assert home.interrupt() == 0


def test_a_file_runs_once_with_its_path_and_one_copied_while_off_is_picked_up_at_start(home: Home) -> None:
    home.up()
    (home.path / "inbox" / "a b.txt").write_text("first", "utf-8")
    until(lambda: len(finished(home, "inbox")) == 1, "the file has run")
    assert home.interrupt() == 0

    (home.path / "inbox" / "c.txt").write_text("second", "utf-8")
    home.up()
    until(lambda: len(finished(home, "inbox")) == 2, "the file copied while off has run")
    assert home.interrupt() == 0
    home.up()
    assert home.interrupt() == 0
    paths = [document["event"]["raw_payload"]["path"] for document in seen(home, "inbox")]
    assert paths == [str(home.path / "inbox" / name) for name in ("a b.txt", "c.txt")]


def test_a_change_of_the_file_takes_effect_and_a_bad_one_keeps_the_last_good(home: Home) -> None:
    home.up()
    config = home.path / "tocsin.toml"
    config.write_text(configuration(home.path, ticking=True), "utf-8")
    until(lambda: len(finished(home, "tick")) >= 2, "the schedule runs")
    planned = [event["planned_at"] for event in home.json("events", "tick")]
    assert len(set(planned)) == len(planned)

    config.write_text("[triggers.tick]\nworkflow = 'nobody'\n", "utf-8")
    until(lambda: home.json("status")["config"]["ok"] is False, "the bad file is told of")
    ran = len(finished(home, "tick"))
    until(lambda: len(finished(home, "tick")) > ran, "the last good configuration goes on")
    assert home.interrupt() == 0


def test_a_file_that_is_empty_for_a_moment_drops_nothing(home: Home) -> None:
    home.up()
    config = home.path / "tocsin.toml"
    whole = config.read_text("utf-8")
    config.write_text("", "utf-8")
    until(lambda: home.json("status")["config"]["ok"] is False, "the empty file is told of")
    assert [row["enabled"] for row in home.json("list") if row["name"] == "hand"] == [True]
    config.write_text(whole, "utf-8")
    until(lambda: home.json("status")["config"]["ok"] is True, "the file is whole again")
    assert home.tocsin("fire", "hand").returncode == 0
    assert home.interrupt() == 0


def test_a_taken_port_has_its_say_before_anything_is_claimed(home: Home) -> None:
    assert home.tocsin("fire", "hand", "--no-wait").returncode == 0
    with socket.create_server(("127.0.0.1", 0)) as other:
        refused = home.tocsin("up", "--port", str(other.getsockname()[1]))
    assert refused.returncode == 6, refused.stderr
    assert "is taken" in refused.stderr
    [event] = home.json("events")
    assert (event["state"], event["attempts"]) == ("pending", 0)


def test_an_engine_whose_database_is_taken_away_stops(home: Home) -> None:
    home.up()
    (home.path / "tocsin.db").rename(home.path / "elsewhere.db")
    assert home.engine is not None
    assert home.engine.wait(60) == 0
    assert "was removed or replaced" in (home.path / "up.log").read_text("utf-8")


def test_a_fire_waits_no_longer_than_it_may_whatever_others_have_fired(home: Home) -> None:
    assert home.tocsin("fire", "slow", "--timeout", "500ms").returncode == 7
    began = time.monotonic()
    done = home.tocsin("fire", "hand", "--timeout", "5s", "--json")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 60  # `slow` would take 300 s
    [left] = home.json("events", "slow")
    assert left["state"] == "pending"


@pytest.mark.parametrize("engine", [True, False], ids=["with-engine", "without"])
def test_fire_waits_for_its_result_with_and_without_an_engine(home: Home, *, engine: bool) -> None:
    if engine:
        home.up()
    done = home.tocsin("fire", "hand", "--wait", "--json", "--payload", '{"x": 1}', "--key", "k")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["state"] == "succeeded"
    assert document["exit_code"] == 0
    again = json.loads(home.tocsin("fire", "hand", "--json", "--key", "k").stdout)
    assert again == {**document, "duplicate": True}
    assert len(seen(home, "hand")) == 1


def test_up_until_idle_does_what_waits_and_returns(home: Home) -> None:
    home.up()
    assert home.interrupt() == 0
    (home.path / "inbox" / "late.txt").write_text("x", "utf-8")
    assert home.tocsin("fire", "hand", "--no-wait").returncode == 0
    done = home.tocsin("up", "--until-idle", "--no-http")
    assert done.returncode == 0, done.stderr
    assert len(seen(home, "inbox")) == len(seen(home, "hand")) == 1
