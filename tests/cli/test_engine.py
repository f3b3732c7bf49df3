"""`up`, `down`, `status`, and every change through a running engine."""

from __future__ import annotations

import json
import signal
import socket
import urllib.request

import pytest

from tests.cli.calling import CONFIG, Home, names
from tocsin.cli.link import call
from tocsin.cli.session import session_from
from tocsin.daemon.lock import hold, new_holder, read_holder
from tocsin.errors import EngineUnreachable
from tocsin.event import State


def test_status_without_an_engine(written: Home) -> None:
    found = written.ok("status", "--json").json
    assert list(found) == ["engine", "registrations", "events", "quarantine", "config"]
    assert found["engine"] == {
        "running": False,
        "pid": None,
        "url": None,
        "started_at": None,
        "version": None,
    }
    assert found["registrations"] == {"total": 0, "enabled": 0, "disabled": 0, "failing": 0, "idle": 0}
    assert found["events"] == dict.fromkeys(State, 0)
    assert found["quarantine"] == 0
    assert found["config"] == {"path": str(written.config), "ok": True, "error": None}
    assert "not running" in written.ok("status").out


def test_status_counts_and_tells_of_a_broken_file(home: Home) -> None:
    home("fire", "fails")
    home.ok("disable", "hello")
    home.config.write_text("[nonsense]\n")
    found = home.ok("status", "--json").json
    assert found["registrations"] == {"total": 5, "enabled": 4, "disabled": 1, "failing": 1, "idle": 0}
    assert found["events"]["failed"] == 1
    assert found["config"]["ok"] is False
    assert "nonsense" in found["config"]["error"]


def test_a_running_engine_shows_where_it_is(shared_engine: Home) -> None:
    found = shared_engine.ok("status", "--json").json["engine"]
    assert found["running"] is True
    assert found["started_at"].endswith("Z")
    with urllib.request.urlopen(f"{found['url']}/api/health", timeout=5) as answer:
        assert json.load(answer)["version"] == found["version"]
    assert f"process {found['pid']}" in shared_engine.ok("status").out


def test_changes_go_through_the_engine(engine: Home) -> None:
    assert engine.ok("fire", "hello", "--json").json["state"] == "succeeded"
    assert engine("fire", "fails", "--json").code == 1
    assert engine.ok("add", "mine", "--workflow", "hello", "--tag", "t", "--json").json["origin"] == "cli"
    assert engine.ok("disable", "--tag", "t").out == "disabled mine\n"
    assert engine("fire", "mine").code == 6
    assert engine.ok("enable", "mine").out == "enabled mine\n"
    assert engine.ok("rm", "mine").out == "removed mine\n"
    assert engine("rm", "mine").code == 3
    assert engine("add", "bad", "--workflow", "nope").code == 4
    engine.config.write_text(CONFIG.partition("[triggers.hook]")[0])
    assert engine.ok("apply", "--prune", "--json").json["removed"] == ["hook"]
    assert names(engine.ok("list", "--json").json) == ["brief", "fails", "hello", "slow"]


def test_a_webhook_address_works(shared_engine: Home) -> None:
    address = shared_engine.ok("url", "hook").out.strip()
    request = urllib.request.Request(address, b'{"n": 1}', {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        event = json.load(answer)["event_id"]
    assert shared_engine.ok("event", event, "--json").json["envelope"]["raw_payload"] == {"n": 1}


def test_a_timeout_leaves_the_run_to_the_engine(engine: Home) -> None:
    result = engine("fire", "slow", "--timeout", "200ms", "--json")
    assert result.code == 7
    assert result.json["state"] == "claimed"
    assert "goes on: `tocsin event" in result.err


def test_an_interrupted_wait_leaves_the_run_to_the_engine(engine: Home) -> None:
    with engine.process("fire", "slow") as fire:
        assert fire.stderr is not None
        assert "waiting" in fire.stderr.readline()
        fire.send_signal(signal.SIGINT)
        _, err = fire.communicate()
    assert fire.returncode == 130
    assert "goes on: `tocsin event" in err
    assert engine.ok("events", "slow", "--json").json[0]["state"] == "claimed"


def test_a_second_engine_is_refused_with_5(shared_engine: Home) -> None:
    second = shared_engine.run("up")
    assert second.code == 5
    assert "already running" in second.err


def test_down_stops_it_and_waits(engine: Home) -> None:
    pid = engine.ok("status", "--json").json["engine"]["pid"]
    assert f"process {pid}" in engine.ok("down").err
    assert read_holder(engine.path / "engine.lock") is None
    assert engine("down").code == 5


def test_down_now_does_not_wait_for_runs(engine: Home) -> None:
    event = engine.ok("fire", "slow", "--no-wait", "--json").json["event_id"]
    engine.ok("down", "--now")
    assert engine.ok("event", event, "--json").json["state"] == "pending"


def test_logs_follow_a_run_to_its_end(shared_engine: Home) -> None:
    run = shared_engine.ok("fire", "hello", "--no-wait", "--json").json["event_id"]
    assert shared_engine.ok("logs", run, "--follow").out == "out\nerr\n"


def test_until_idle_returns(written: Home) -> None:
    written.ok("apply")
    event = written.ok("fire", "hello", "--no-wait", "--json").json["event_id"]
    assert written.run("up", "--until-idle", "--no-http").code == 0
    assert written.ok("event", event, "--json").json["state"] == "succeeded"


def test_up_with_a_broken_configuration_exits_4(written: Home) -> None:
    written.config.write_text("[triggers.x]\n")
    result = written.run("up")
    assert result.code == 4
    assert f"{written.config}:1: triggers.x" in result.err


def test_an_engine_that_does_not_answer_is_unreachable(home: Home) -> None:
    with hold(home.path / "engine.lock", new_holder("engine")) as lock:
        lock.tell(url=None, socket=str(home.path / "nobody.sock"))
        result = home("disable", "hello")
    assert result.code == 5
    assert "does not answer" in result.err
    assert home.ok("show", "hello", "--json").json["enabled"] is True


def test_without_a_socket_it_is_asked_over_tcp_with_the_token(engine_over_tcp: Home) -> None:
    assert engine_over_tcp.ok("disable", "hello").out == "disabled hello\n"
    (engine_over_tcp.path / "api-token").write_text("wrong\n")
    with pytest.raises(EngineUnreachable, match="HTTP 401"):
        call(session_from(engine_over_tcp.path, None), "disable", {"names": ["hello"]})


def test_down_sends_term_when_nobody_answers(engine: Home) -> None:
    (engine.path / "tocsin.sock").unlink()
    result = engine.ok("down")
    assert "sending TERM" in result.err
    assert read_holder(engine.path / "engine.lock") is None


def test_a_port_that_is_taken_is_named(written: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = written.run("up", "--port", str(port))
    assert result.code == 6
    assert f"port {port} is taken" in result.err
    assert "Traceback" not in result.err
