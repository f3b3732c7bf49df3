"""`list`, `show`, `add`, `rm`, `enable`, `disable`, `url`."""

from __future__ import annotations

import pytest

from tests.cli.calling import CONFIG, Home, names

REGISTRATION = [
    "id",
    "name",
    "workflow",
    "workflow_version",
    "kind",
    "source",
    "component",
    "component_version",
    "scope",
    "schedule",
    "tz",
    "enabled",
    "status",
    "disabled_reason",
    "paused_until",
    "next_fire_at",
    "last_fired_at",
    "last_error",
    "run_count",
    "consecutive_failures",
    "max_attempts",
    "max_runs",
    "expires_at",
    "max_usd",
    "tags",
    "config",
    "state",
    "serialize_key",
    "origin",
]


def test_registration_has_exactly_the_keys_scripts_rely_on(home: Home) -> None:
    listed = home.ok("list", "--json").json
    assert all(list(row) == REGISTRATION for row in listed)
    assert list(home.ok("show", "brief", "--json").json) == REGISTRATION


def test_a_schedule_is_shown_as_it_was_written(home: Home) -> None:
    brief = home.ok("show", "brief", "--json").json
    assert (brief["schedule"], brief["tz"], brief["kind"]) == ("0 8 * * mon-fri", "Europe/Berlin", "schedule")
    assert brief["next_fire_at"].endswith("Z")
    home.ok("add", "tick", "--workflow", "hello", "--every", "90m")
    tick = home.ok("show", "tick", "--json").json
    assert (tick["schedule"], tick["tz"], tick["origin"]) == ("1h30m", None, "cli")
    home.ok("add", "once", "--workflow", "hello", "--at", "2099-12-24T18:00:00+01:00")
    assert home.ok("show", "once", "--json").json["schedule"] == "2099-12-24T17:00:00Z"
    assert home.ok("show", "hello", "--json").json["schedule"] is None


def test_list_can_be_narrowed(home: Home) -> None:
    assert names(home.ok("list", "--tag", "greeting", "--json").json) == ["hello"]
    assert names(home.ok("list", "--kind", "webhook", "--json").json) == ["hook"]
    assert names(home.ok("list", "--kind", "cron", "--json").json) == ["brief"]
    assert home("list", "--kind", "corn").code == 2
    home("fire", "fails")
    assert names(home.ok("list", "--failing", "--json").json) == ["fails"]
    assert home.ok("list", "--failing").out.splitlines()[1].endswith("error   1 failed")


def test_list_for_people(home: Home) -> None:
    header, brief, *_ = home.ok("list").out.splitlines()
    assert header.split()[:4] == ["NAME", "KIND", "SOURCE", "NEXT"]
    assert "0 8 * * mon-fri Europe/Berlin" in brief
    assert "08:00:00 CE" in brief


def test_an_empty_list_says_what_would_stand_there(bare: Home, tmp_path: object) -> None:
    empty = bare.ok("list")
    assert empty.out == ""
    assert "tocsin init" in empty.err
    assert bare.ok("list", "--json").json == []
    bare.ok("init")
    assert "tocsin apply" in bare.ok("list").err


def test_list_and_show_make_nothing_on_a_home_that_is_not_there(bare: Home) -> None:
    bare.ok("list")
    assert bare("show", "x").code == 3
    assert not bare.path.exists()


def test_an_unknown_trigger_names_the_nearest_and_exits_3(home: Home) -> None:
    for command in ("show", "fire", "url", "next", "events", "runs", "rm", "enable", "test"):
        result = home(command, "helo")
        assert result.code == 3, (command, result)
        assert "did you mean hello" in result.err


def test_show_for_people_adds_recent_events(home: Home) -> None:
    assert "no events yet" in home.ok("show", "hello").err
    id_ = home.ok("fire", "hello", "--json").json["event_id"]
    assert id_ in home.ok("show", "hello").out


def test_add_takes_every_flag(home: Home) -> None:
    row = home.ok(
        "add", "nightly", "--workflow", "hello", "--cron", "0 3 * * *", "--tz", "Asia/Tokyo",
        "--tag", "a", "--tag", "b",
        "--config", '{"out": "/srv"}', "--set", "max_attempts=5", "--set", "misfire=skip", "--json",
    ).json  # fmt: skip
    assert (row["schedule"], row["tz"], row["tags"]) == ("0 3 * * *", "Asia/Tokyo", ["a", "b"])
    assert (row["config"], row["max_attempts"]) == ({"out": "/srv"}, 5)


def test_add_reaches_into_tables_and_resolves_paths_here(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.path)
    (home.path / "in").mkdir()
    result = home.ok("add", "box", "--workflow", "hello", "--files", "in", "--set", "files.recursive=true")
    assert str(home.path / "in") in result.out
    assert home.ok("show", "box", "--json").json["scope"] == "desktop"


def test_add_without_a_source_fires_by_hand_only(home: Home) -> None:
    assert home.ok("add", "plain", "--workflow", "hello", "--json").json["kind"] == "manual"


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (["--cron", "61 * * * *"], 4, "minute '61'"),
        (["--every", "5"], 4, "no unit"),
        (["--cron", "@daily", "--every", "5m"], 4, "exactly one"),
        (["--config", "{"], 2, "not JSON"),
        (["--set", "novalue"], 2, "KEY=VALUE"),
        (["--set", "workflow.x=1"], 2, "has a value already"),
    ],
)
def test_add_refuses_what_a_file_may_not_say(home: Home, flags: list[str], code: int, said: str) -> None:
    result = home("add", "bad", "--workflow", "hello", *flags)
    assert result.code == code
    assert said in result.err
    assert not result.err.startswith(":")
    assert home("show", "bad").code == 3


def test_add_twice_is_refused(home: Home) -> None:
    home.ok("add", "one", "--workflow", "hello")
    assert home("add", "one", "--workflow", "hello").code == 6


def test_a_webhook_comes_with_its_address(home: Home) -> None:
    home.config.write_text(CONFIG.replace("port = 0", "port = 7799"))
    out = home.ok("add", "h2", "--workflow", "hello", "--webhook").out
    address = home.ok("url", "h2").out.strip()
    assert address.startswith("http://127.0.0.1:7799/api/triggers/")
    assert address in out
    added = home.ok("add", "h3", "--workflow", "hello", "--webhook", "--json")
    assert list(added.json) == REGISTRATION
    assert "/api/triggers/" in added.err


def test_a_webhook_without_a_known_port_is_added_all_the_same(home: Home) -> None:
    added = home.ok("add", "h2", "--workflow", "hello", "--webhook", "--json")
    assert added.json["name"] == "h2"
    assert "port = 0" in added.err


def test_url_is_the_address_alone(home: Home) -> None:
    home.config.write_text(CONFIG.replace("port = 0", 'public_url = "https://hooks.example.org"'))
    address = home.ok("url", "hook").out
    assert address.startswith("https://hooks.example.org/api/triggers/")
    assert home.ok("url", "hook", "--json").json == {"url": address.strip()}
    rotated = home.ok("url", "hook", "--rotate")
    assert rotated.out != address
    assert "void" in rotated.err
    assert home.ok("url", "hook").out == rotated.out


def test_only_a_webhook_has_an_address(home: Home) -> None:
    home.config.write_text(CONFIG.replace("port = 0", "port = 7799"))
    assert home("url", "hello").code == 6


def test_an_address_that_only_an_engine_will_know(home: Home) -> None:
    assert home("url", "hook").code == 5


def test_rm_removes_by_name_and_by_tag(home: Home) -> None:
    home.ok("add", "mine", "--workflow", "hello", "--tag", "t")
    home.ok("add", "yours", "--workflow", "hello", "--tag", "t")
    removed = home.ok("rm", "hello", "--json")
    assert removed.json == ["hello"]
    assert "will be added again, armed anew: what had switched it off (its budget, say)" in removed.err
    assert home.ok("rm", "--tag", "t").out == "removed mine\nremoved yours\n"
    assert names(home.ok("list", "--json").json) == ["brief", "fails", "hook", "slow"]


def test_rm_of_a_trigger_of_the_file_says_that_it_comes_back(home: Home) -> None:
    assert "will be added again" in home.ok("rm", "hello").err


@pytest.mark.parametrize("command", ["rm", "enable", "disable"])
def test_names_or_a_tag_but_one_of_them(home: Home, command: str) -> None:
    assert home(command).code == 2
    assert home(command, "hello", "--tag", "greeting").code == 2
    assert home(command, "--tag", "nobody").code == 3


def test_disable_and_enable(home: Home) -> None:
    assert home.ok("disable", "hello", "brief").out == "disabled hello\ndisabled brief\n"
    row = home.ok("show", "brief", "--json").json
    assert (row["status"], row["disabled_reason"], row["next_fire_at"]) == ("disabled", "user", None)
    refused = home("fire", "hello")
    assert refused.code == 6
    assert "tocsin enable hello" in refused.err
    assert home.ok("enable", "--tag", "client-acme").out == "enabled brief\n"
    assert home.ok("show", "brief", "--json").json["status"] == "active"


def test_enable_brings_dropped_events_back_when_asked(home: Home) -> None:
    id_ = home.ok("fire", "hello", "--no-wait", "--json").json["event_id"]
    home.ok("disable", "hello")
    assert home.ok("event", id_, "--json").json["state"] == "dropped"
    assert home.ok("enable", "hello", "--requeue").err == "hello: 1 dropped event comes back\n"
    assert home.ok("event", id_, "--json").json["state"] == "pending"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--at", "2020-01-01T00:00:00Z"], "warning: at: saw 2020-01-01T00:00:00+00:00, which has passed"),
        (["--every", "1h", "--tz", "Europe/Berlin"], "warning: tz: has no effect on a trigger with every"),
    ],
)
def test_a_trigger_made_by_hand_is_warned_about_as_check_does_and_made(
    home: Home, flags: list[str], said: str
) -> None:
    made = home.ok("add", "odd", "--workflow", "hello", *flags, "--json")
    assert said in made.err
    assert made.json["name"] == "odd"
    assert "warning" not in home.ok("add", "even", "--workflow", "hello", "--every", "1h").err
