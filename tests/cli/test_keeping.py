"""`gc` and `audit`, with an engine and without one."""

from __future__ import annotations

from typing import Any

from tests.cli.calling import CONFIG, Home
from tests.store.raw import beside

NOTHING = dict.fromkeys(
    ("payloads", "runs", "logs", "events", "deliveries", "hashes", "quarantined", "journal", "bytes"), 0
)
AGED = """
UPDATE deliveries SET received_at = received_at - {us};
UPDATE events SET created_at = created_at - {us}, settled_at = settled_at - {us};
UPDATE runs SET started_at = started_at - {us}, finished_at = finished_at - {us};
UPDATE seen SET first_seen_at = first_seen_at - {us}, last_seen_at = last_seen_at - {us};
UPDATE journal SET at = at - {us};
UPDATE registrations SET created_at = created_at - {us}
"""


def age(home: Home, days: int) -> None:
    """Let everything have happened so long ago."""
    with beside(home.path / "tocsin.db") as connection:
        connection.executescript(AGED.format(us=days * 86_400_000_000))


def fired(home: Home, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = home("fire", *arguments, "--json").json
    return found


def test_gc_gives_up_what_is_old_and_says_how_much(home: Home) -> None:
    first = fired(home, "hello", "--payload", '{"n": 1}')
    log = home.path / "logs" / f"{first['run_id']}.log"
    age(home, 15)
    found = home.ok("gc", "--json").json
    assert {key: found[key] for key in ("payloads", "runs", "events")} == {
        "payloads": 1,
        "runs": 0,
        "events": 0,
    }
    event = home.ok("event", first["event_id"], "--json").json
    assert event["envelope"] is None
    assert "payload given up" in [step["what"] for step in event["trace"]]
    assert "given up on" in home.ok("event", first["event_id"]).out
    age(home, 80)
    fired(home, "hello")
    assert log.exists()
    found = home.ok("gc", "--json").json
    assert {key: found[key] for key in ("runs", "logs", "events", "deliveries", "hashes")} == {
        "runs": 1, "logs": 1, "events": 1, "deliveries": 1, "hashes": 1,
    }  # fmt: skip
    assert found["bytes"] > 0
    assert not log.exists()
    assert home("event", first["event_id"]).code == 3
    assert home.ok("gc").out.splitlines()[0].split() == ["payloads", "0"]


def test_gc_through_an_engine_does_the_same(engine: Home) -> None:
    for _ in range(2):
        fired(engine, "hello")
    assert engine.ok("gc", "--json").json == NOTHING
    age(engine, 100)
    fired(engine, "hello")
    found = engine.ok("gc", "--json").json
    assert (found["events"], found["runs"], found["logs"]) == (2, 2, 2)
    assert engine.ok("audit", "--json").json["ok"]


def test_what_lost_its_payload_is_refused(home: Home) -> None:
    event = fired(home, "fails")["event_id"]
    age(home, 15)
    home.ok("gc")
    for command in (("retry", event), ("replay", event), ("test", "fails", "--event", event)):
        result = home(*command)
        assert result.code == 6
        assert "retention.payloads" in result.err


def test_enable_says_what_cannot_come_back(home: Home) -> None:
    home("fire", "slow", "--no-wait")
    home.ok("disable", "slow")
    age(home, 15)
    home.ok("gc")
    result = home.ok("enable", "slow", "--requeue")
    assert result.out == "enabled slow\n"
    assert result.err.startswith("slow: 0 dropped events come back\nslow: 1 dropped event stays so")


def test_a_file_with_mistakes_erases_nothing(home: Home) -> None:
    fired(home, "hello")
    age(home, 400)
    home.config.write_text(CONFIG + "\n[engine.retention]\npayloads = 3\n")
    assert home("gc").code == 4
    assert home.ok("audit", "--json").json["runs"] == 1


def test_a_home_without_a_database_has_nothing_to_look_at(written: Home) -> None:
    for command in ("gc", "audit"):
        assert written(command).code == 3
    assert not (written.path / "tocsin.db").exists()


def test_audit_tells_what_it_looked_at(home: Home) -> None:
    fired(home, "hello")
    fired(home, "fails")
    found = home.ok("audit", "--json").json
    assert found == {"ok": True, "deliveries": 2, "events": 2, "runs": 2, "problems": []}
    lines = home.ok("audit").out.splitlines()
    assert lines[0].split() == ["deliveries", "2"]
    assert "successes          0" in lines
    assert lines[-1] == "ok"


def test_audit_exits_1_and_names_the_row(home: Home) -> None:
    event = fired(home, "hello")["event_id"]
    with beside(home.path / "tocsin.db") as connection:
        connection.execute("DELETE FROM seen")
    result = home("audit", "--json")
    assert result.code == 1
    [problem] = result.json["problems"]
    assert (problem["check"], problem["id"]) == ("keys", event)
    assert f"keys: {event}: " in home("audit").out


def test_a_damaged_file_is_a_finding(home: Home) -> None:
    fired(home, "hello")
    file, page = home.path / "tocsin.db", 4096
    with beside(file) as connection:
        [root] = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'events'").fetchone()
    with file.open("r+b") as handle:
        handle.seek((root - 1) * page)
        handle.write(b"\xff" * page)
    result = home("audit", "--json")
    assert result.code == 1
    found = {problem["check"]: problem["detail"] for problem in result.json["problems"]}
    assert "integrity" in found
    assert found["successes"].startswith("cannot be read: ")
