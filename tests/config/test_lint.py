"""Warnings: said with line and key, and never in the way of a configuration that is right."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.config.loading import WORKFLOW, loaded, warned

TRIGGER = WORKFLOW + '[triggers.t]\nworkflow = "w"\n'


def program(path: Path, mode: int = 0o700) -> Path:
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(mode)
    return path


def test_what_is_right_is_not_warned_of(tmp_path: Path) -> None:
    program(tmp_path / "run.sh")
    (tmp_path / "in").mkdir()
    text = """
        [workflows.w]
        command = ["./run.sh", "{config.out}"]
        cwd = "."
        [workflows.v]
        command = ["{config.program}"]
        [triggers.a]
        workflow = "w"
        cron = "0 8 * * mon-fri"
        config = { out = "x" }
        [triggers.b]
        workflow = "w"
        files = { path = "in" }
        config = { out = "x" }
        [triggers.c]
        workflow = "v"
        cron = "*/10 2 * * *"
        tz = "UTC"
        config = { program = "x" }
    """
    assert warned(tmp_path, text) == []


def test_a_warning_has_its_file_and_line(tmp_path: Path) -> None:
    [warning] = loaded(tmp_path, TRIGGER + 'webhook = { auth = "none" }\n').warnings
    assert str(warning) == (
        f"{tmp_path}/tocsin.toml:5: warning: triggers.t.webhook.auth: "
        'saw "none": anyone who learns the address can fire it'
    )


def test_a_program_that_is_not_on_the_path(tmp_path: Path) -> None:
    text = '[workflows.w]\ncommand = ["no-such-program-here"]\n'
    assert warned(tmp_path, text) == [
        "workflows.w.command: saw 'no-such-program-here', which is not on the PATH now"
    ]


def test_the_path_of_the_workflow_counts(tmp_path: Path) -> None:
    program(tmp_path / "tool")
    assert warned(tmp_path, f'[workflows.w]\ncommand = ["tool"]\nenv = {{ PATH = "{tmp_path}" }}\n') == []


@pytest.mark.parametrize(("name", "mode"), [("gone.sh", None), ("plain.sh", 0o600)])
def test_a_program_that_cannot_be_run_where_the_command_starts(
    tmp_path: Path, name: str, mode: int | None
) -> None:
    if mode is not None:
        program(tmp_path / name, mode)
    assert warned(tmp_path, f'[workflows.w]\ncommand = ["./{name}"]\ncwd = "."\n') == [
        f"workflows.w.command: saw {tmp_path / name}, which is not a program that can be run now"
    ]


def test_a_folder_to_start_in_that_is_not_there(tmp_path: Path) -> None:
    assert warned(tmp_path, WORKFLOW + 'cwd = "gone"\n') == [
        f"workflows.w.cwd: saw {tmp_path / 'gone'}, which is not a folder now"
    ]


def test_a_folder_to_watch_that_is_not_there(tmp_path: Path) -> None:
    assert warned(tmp_path, TRIGGER + 'files = { path = [".", "gone"] }\n') == [
        f"triggers.t.files.path: saw {tmp_path / 'gone'}, which is not there now"
    ]


def test_a_folder_to_watch_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shut").mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)  # root, who runs this in a container, may read all
    text = '[workflows.w]\nshell = "x"\n[triggers.t]\nworkflow = "w"\nfiles = { path = "shut" }\n'
    assert warned(tmp_path, text) == [
        f"triggers.t.files.path: saw {tmp_path / 'shut'}, which may not be read"
    ]


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        (
            "manual = true\nmax_attempts = 5",
            (
                "triggers.t.disable_after: saw 5, not above max_attempts (5): "
                "the retries of one event can switch the trigger off"
            ),
        ),
        (
            "manual = true\nexpires_at = 2026-11-30T12:00:00Z",
            "triggers.t.expires_at: saw 2026-11-30T12:00:00+00:00, which has passed",
        ),
        (
            "at = 2026-11-30T12:00:00Z",
            "triggers.t.at: saw 2026-11-30T12:00:00+00:00, which has passed: never fires",
        ),
        (
            'cron = "0 8 1 * mon"',
            "triggers.t.cron: day of month '1' and day of week 'mon': fires when either of them matches",
        ),
        (
            'cron = "30 2 * * *"',
            (
                "triggers.t.cron: where the clock changes: on 2027-03-28 02:30 does not exist on that day; "
                "fires at 03:00; on 2027-10-31 first of two 02:30"
            ),
        ),
        ('manual = true\nmisfire = "skip"', "triggers.t.misfire: has no effect on a trigger with manual"),
        ('every = "5m"\ntz = "UTC"', "triggers.t.tz: has no effect on a trigger with every"),
    ],
)
def test_what_is_probably_not_meant(tmp_path: Path, keys: str, warning: str) -> None:
    assert warned(tmp_path, TRIGGER + keys + "\n") == [warning]


def test_runs_that_write_a_state_side_by_side(tmp_path: Path) -> None:
    text = TRIGGER.replace('["echo"]', '["echo"]\noutputs = ["state"]')
    assert warned(tmp_path, text + 'webhook = {}\noverlap = "allow"\n') == [
        'triggers.t.overlap: saw "allow", but workflow w writes a state: the last run to end wins'
    ]


def test_a_placeholder_that_the_trigger_cannot_fill(tmp_path: Path) -> None:
    text = TRIGGER.replace('["echo"]', '["echo", "{config.out}/{config.name}"]')
    assert warned(tmp_path, text + 'manual = true\nconfig = { name = "x" }\n') == [
        "triggers.t.config: saw no out, which workflow w asks for: its runs cannot start"
    ]


def test_an_exit_code_that_retries_whatever_a_workflow_says(tmp_path: Path) -> None:
    assert warned(tmp_path, WORKFLOW + "permanent_exit_codes = [75]\n") == [
        "workflows.w.permanent_exit_codes: 75 (EX_TEMPFAIL) is retried all the same"
    ]


def test_warnings_come_in_file_order(tmp_path: Path) -> None:
    text = (
        TRIGGER
        + 'manual = true\nmax_attempts = 9\ntz = "UTC"\n[workflows.v]\ncommand = ["no-such-program"]\n'
    )
    assert [warning.line for warning in loaded(tmp_path, text).warnings] == [3, 7, 9]


def test_a_script_that_expects_to_be_filled_in(tmp_path: Path) -> None:
    text = "[workflows.w]\nshell = 'echo ${config} {event.raw_payload.path}'\n"
    assert warned(tmp_path, text) == [
        "workflows.w.shell: saw a placeholder, which is not filled into a script: read the event from stdin"
    ]


def test_chains_that_lead_back_to_themselves(tmp_path: Path) -> None:
    text = WORKFLOW + '[workflows.v]\nshell = "x"\n'
    for name, workflow, after in (
        ("a", "w", 'trigger = "b"'),
        ("b", "v", 'workflow = "w"'),
        ("c", "v", 'trigger = "a"'),
    ):
        text += f'[triggers.{name}]\nworkflow = "{workflow}"\nafter = {{ {after} }}\n'
    told = "its runs lead back to itself through other triggers; the chain is cut where it comes back"
    assert warned(tmp_path, text) == [f"triggers.a.after: {told}", f"triggers.b.after: {told}"]


def test_a_warning_about_a_default_is_given_once_and_there(tmp_path: Path) -> None:
    text = "[defaults]\nmax_attempts = 5\ndisable_after = 5\n" + WORKFLOW
    text += "".join(f'[triggers.t{n}]\nworkflow = "w"\nmanual = true\n' for n in range(3))
    [warning] = loaded(tmp_path, text).warnings
    assert (warning.line, warning.key) == (3, "defaults.disable_after")


def test_a_limit_that_holds_up_others_of_its_lane(tmp_path: Path) -> None:
    text = WORKFLOW
    for name, keys in (("a", 'serialize_key = "k"\nmax_runs_per_hour = 1'), ("b", ""), ("c", "")):
        text += f'[triggers.{name}]\nworkflow = "w"\nmanual = true\n{keys}\n'
    assert warned(tmp_path, text) == []
    shared = text.replace('"w"\nmanual = true\n\n', '"w"\nmanual = true\nserialize_key = "k"\n')
    assert warned(tmp_path, shared) == [
        "triggers.a.max_runs_per_hour: while it waits for this, b, c wait too: they share serialize_key 'k'"
    ]
