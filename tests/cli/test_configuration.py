"""`init`, `check`, `plan`, `apply`."""

from __future__ import annotations

import stat

from tests.cli.calling import CONFIG, Home, names


def test_init_writes_a_private_file_that_passes_check(bare: Home) -> None:
    result = bare.ok("init")
    assert result.out == f"{bare.config}\n"
    assert "tocsin up" in result.err
    assert stat.S_IMODE(bare.config.stat().st_mode) == 0o600
    assert bare("check").code in (0, 8)


def test_init_overwrites_only_when_forced(written: Home) -> None:
    refused = written("init")
    assert refused.code == 6
    assert "--force" in refused.err
    assert written.config.read_text() == CONFIG
    written.ok("init", "--force")
    assert written.config.read_text() != CONFIG


def test_what_init_wrote_can_be_fired_at_once(bare: Home) -> None:
    bare.ok("init")
    assert bare.ok("fire", "hello", "--json").json["state"] == "succeeded"


def test_check_says_what_a_good_file_holds(written: Home) -> None:
    assert written.ok("check").out == f"{written.config}: ok: 3 workflows, 5 triggers\n"
    assert written.ok("check", "--json").json == {"ok": True, "problems": []}


def test_check_names_every_error_by_file_line_and_key_and_exits_4(written: Home) -> None:
    written.config.write_text(
        '[workflows.x]\ncommand = ["true"]\n[triggers.y]\nworkflo = "x"\ncron = "61 * * * *"\n'
    )
    result = written("check")
    assert result.code == 4
    first, second = result.out.splitlines()
    assert first.startswith(f"{written.config}:4: triggers.y.workflo: ")
    assert "did you mean 'workflow'" in first
    assert second.startswith(f"{written.config}:5: triggers.y.cron: ")
    report = written("check", "--json")
    assert report.code == 4
    assert report.json["ok"] is False
    assert [problem["line"] for problem in report.json["problems"]] == [4, 5]
    assert set(report.json["problems"][0]) == {"path", "line", "key", "message", "severity"}


def test_check_exits_8_for_warnings_only(written: Home) -> None:
    written.config.write_text(CONFIG + '[workflows.gone]\ncommand = ["no-such-program"]\n')
    result = written("check")
    assert result.code == 8
    assert "warning" in result.out
    assert "ok: 4 workflows" in result.out
    report = written("check", "--json")
    assert report.json["ok"] is True
    assert report.json["problems"][0]["severity"] == "warning"


def test_check_another_file(bare: Home, written: Home) -> None:
    other = written.path.parent / "other.toml"
    other.write_text(CONFIG)
    assert written.ok("check", str(other)).out.startswith(f"{other}: ok")


def test_check_a_missing_file_says_how_to_make_one(bare: Home) -> None:
    result = bare("check")
    assert result.code == 4
    assert "tocsin init" in result.out


def test_plan_before_anything_was_applied_adds_all_with_first_fires(written: Home) -> None:
    result = written.ok("plan")
    assert "+ brief: first fire 20" in result.out
    assert written.ok("plan", "--json").json == {
        "added": ["hello", "fails", "slow", "brief", "hook"],
        "changed": [],
        "removed": [],
        "unchanged": 0,
    }
    assert not (written.path / "tocsin.db").exists()


def test_plan_shows_what_changes_and_the_fires_before_and_after(home: Home) -> None:
    home.config.write_text(CONFIG.replace("0 8 * * mon-fri", "0 9 * * *"))
    out = home.ok("plan").out.splitlines()
    assert out[0] == "~ brief"
    assert out[1].strip() == 'schedule.cron: "0 8 * * mon-fri" -> "0 9 * * *"'
    assert out[2].strip().startswith("next fire: 20")
    assert home.ok("plan", "--json").json["changed"] == ["brief"]


def without_hook() -> str:
    return CONFIG.partition("[triggers.hook]")[0]


def test_apply_disables_what_left_the_file_and_prune_removes_it(home: Home) -> None:
    home.config.write_text(without_hook())
    assert home.ok("apply", "--json").json == {
        "added": [],
        "changed": [],
        "removed": ["hook"],
        "unchanged": 4,
    }
    assert home.ok("show", "hook", "--json").json["disabled_reason"] == "config"
    assert home.ok("plan", "--prune", "--json").json["removed"] == ["hook"]
    assert home.ok("apply", "--prune", "--json").json["removed"] == ["hook"]
    assert "hook" not in names(home.ok("list", "--json").json)


def test_apply_of_a_broken_file_changes_nothing(home: Home) -> None:
    home.config.write_text(CONFIG + "[triggers.bad]\n")
    result = home("apply")
    assert result.code == 4
    assert f"{home.config}:" in result.err
    assert len(home.ok("list", "--json").json) == 5


def test_a_name_made_by_hand_is_a_conflict(home: Home) -> None:
    home.ok("add", "mine", "--workflow", "hello")
    home.config.write_text(CONFIG + '[triggers.mine]\nworkflow = "hello"\nmanual = true\n')
    result = home("plan")
    assert result.code == 4
    assert "tocsin rm mine" in result.err


def test_the_configuration_file_may_be_anywhere(bare: Home) -> None:
    elsewhere = bare.path.parent / "my.toml"
    elsewhere.write_text(CONFIG)
    assert bare.ok("--config", str(elsewhere), "check").out.startswith(str(elsewhere))
    assert bare.ok("--home", str(bare.path / "x"), "paths", "--json").json["home"] == str(bare.path / "x")


def test_paths_prints_all_of_them(bare: Home) -> None:
    found = bare.ok("paths", "--json").json
    assert set(found) == {
        "config", "conf_d", "database", "secrets", "api_token", "logs", "runs", "lock", "socket", "home",
    }  # fmt: skip
    assert found["database"] == str(bare.path / "tocsin.db")
    assert found["config"] in bare.ok("paths").out
