"""One trigger made from flags or JSON, by the rules of a file."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.config.loading import NOW, WORKFLOW, loaded
from tocsin.config.convert import trigger_spec
from tocsin.errors import ConfigInvalid
from tocsin.trigger import At, Cron


def test_a_spec_from_flags_is_the_spec_from_a_file(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        WORKFLOW
        + '[triggers.t]\nworkflow = "w"\nfiles = { path = "in" }\nconfig = { a = 1 }\ntags = ["x"]\n',
    )
    table = {"workflow": "w", "files": {"path": "in"}, "config": {"a": 1}, "tags": ["x"]}
    made = trigger_spec("t", table, around=found.around(tmp_path, NOW))
    assert made == found.configuration.triggers["t"]


def test_json_has_no_times_so_text_is_one(tmp_path: Path) -> None:
    around = loaded(tmp_path, WORKFLOW).around(tmp_path, NOW)
    made = trigger_spec("t", {"workflow": "w", "at": "2026-12-24T18:00:00+01:00"}, around=around)
    assert made.schedule == At(at=datetime(2026, 12, 24, 17, tzinfo=UTC))


def test_a_null_is_a_key_that_is_not_set(tmp_path: Path) -> None:
    around = loaded(tmp_path, WORKFLOW).around(tmp_path, NOW)
    table = {"workflow": "w", "cron": None, "at": None, "manual": True, "tz": None, "max_attempts": None}
    assert trigger_spec("t", table, around=around).component == "manual"


def test_defaults_of_the_file_apply_when_given(tmp_path: Path) -> None:
    found = loaded(tmp_path, '[defaults]\nmax_attempts = 9\ntz = "Asia/Tokyo"\n' + WORKFLOW)
    table = {"workflow": "w", "cron": "@daily"}
    made = trigger_spec("t", table, around=found.around(tmp_path, NOW), defaults=found.defaults)
    assert (made.max_attempts, made.schedule) == (9, Cron(expr="@daily", tz="Asia/Tokyo"))


def test_every_problem_comes_with_its_key(tmp_path: Path) -> None:
    around = loaded(tmp_path, WORKFLOW).around(tmp_path, NOW)
    table = {"workflow": "ww", "cron": "x", "max_attempts": "3", "overlap": "allow", "serialize_key": "k"}
    with pytest.raises(ConfigInvalid) as caught:
        trigger_spec("bad name", table, around=around, origin="tocsin add")
    assert {problem.path for problem in caught.value.problems} == {"tocsin add"}
    assert {problem.key for problem in caught.value.problems} == {
        'triggers."bad name"',
        'triggers."bad name".workflow',
        'triggers."bad name".cron',
        'triggers."bad name".max_attempts',
        'triggers."bad name".overlap',
    }


@pytest.mark.parametrize("followed", ["in-file", "by-hand"])
def test_a_trigger_may_follow_one_of_the_file_or_a_row(tmp_path: Path, followed: str) -> None:
    found = loaded(tmp_path, WORKFLOW + '[triggers.in-file]\nworkflow = "w"\nmanual = true\n')
    around = found.around(tmp_path, NOW, rows=["by-hand"])
    made = trigger_spec("t", {"workflow": "w", "after": {"trigger": followed}}, around=around)
    assert made.props == {"trigger": followed, "on": "success"}
