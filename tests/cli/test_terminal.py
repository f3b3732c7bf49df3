"""On a real terminal: questions, colours, widths, and no control character from outside."""

from __future__ import annotations

import os
import pty
import subprocess

import pytest

from tests.cli.calling import CONFIG, PYTHON, Home

RED = "\x1b[31m"


def on_terminal(home: Home, *arguments: str, typed: str = "", **variables: str) -> tuple[int, str]:
    """Exit code and everything shown."""
    ours, theirs = pty.openpty()
    environ = os.environ | home.variables | {"TERM": "xterm", "COLUMNS": "80"} | variables
    with subprocess.Popen(
        [*PYTHON, *arguments], env=environ, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True
    ) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = everything(ours)
    os.close(ours)
    return process.returncode, shown.decode().replace("\r\n", "\n")


def everything(terminal: int) -> bytes:
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # Linux: the other side is closed
            return shown


@pytest.mark.parametrize(("typed", "left"), [("n\n", True), ("y\n", False)])
def test_rm_asks_first(home: Home, typed: str, left: bool) -> None:
    code, shown = on_terminal(home, "rm", "hello", typed=typed)
    assert "Remove hello? [y/N]" in shown
    assert code == (1 if left else 0)
    assert home("show", "hello").code == (0 if left else 3)


def test_yes_asks_nothing(home: Home) -> None:
    assert "?" not in on_terminal(home, "rm", "hello", "--yes")[1]


def test_apply_asks_only_when_something_goes(home: Home) -> None:
    assert "?" not in on_terminal(home, "apply")[1]
    home.config.write_text(CONFIG.partition("[triggers.hook]")[0])
    code, shown = on_terminal(home, "apply", typed="n\n")
    assert "Disable hook? [y/N]" in shown
    assert code == 1
    assert home.ok("show", "hook", "--json").json["enabled"] is True
    assert on_terminal(home, "apply", "--prune", typed="y\n")[0] == 0
    assert home("show", "hook").code == 3


def test_states_are_coloured_unless_no_color(home: Home) -> None:
    home("fire", "fails")
    assert f"{RED}failed" in on_terminal(home, "events")[1]
    assert "\x1b" not in on_terminal(home, "events", NO_COLOR="1")[1]
    assert "\x1b" not in on_terminal(home, "events", TERM="dumb")[1]
    assert "\x1b" not in home.ok("events").out


def test_a_table_fits_the_terminal_and_keeps_its_ids(home: Home) -> None:
    run = home("fire", "fails", "--json").json["run_id"]
    shown = on_terminal(home, "runs", NO_COLOR="1", COLUMNS="120")[1]
    assert run in shown
    assert all(len(line) <= 120 for line in shown.splitlines())


def test_nothing_from_outside_moves_the_cursor(home: Home) -> None:
    evil = "\x1b[2J\u202egnp"
    home.config.write_text(
        CONFIG
        + "[workflows.evil]\nshell = \"printf '\\\\033[2Jevil' >&2; exit 1\"\n"
        + '[triggers.evil]\nworkflow = "evil"\nmanual = true\nmax_attempts = 1\n'
    )
    home.ok("apply")
    event = home("fire", "evil", "--key", evil, "--json").json["event_id"]
    for arguments in (
        ("runs",),
        ("event", event),
        ("show", "evil"),
        ("logs", event),
        ("event", event, "--json"),
    ):
        shown = on_terminal(home, *arguments, NO_COLOR="1")[1]
        assert "evil" in shown
        assert not set(shown) & {"\x1b", "\u202e"}, arguments
