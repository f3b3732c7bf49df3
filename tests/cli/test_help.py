"""Help: which commands there are, that each explains itself, and that asking costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.calling import PYTHON, Home
from tocsin.cli import exits
from tocsin.cli.main import GROUPS

COMMANDS = [
    "gc",
    "audit",
    "init",
    "check",
    "plan",
    "apply",
    "up",
    "down",
    "status",
    "panic",
    "pause",
    "resume",
    "list",
    "show",
    "add",
    "rm",
    "enable",
    "disable",
    "rebind",
    "fire",
    "test",
    "events",
    "event",
    "runs",
    "logs",
    "cancel",
    "retry",
    "replay",
    "once",
    "costs",
    "quarantine",
    "next",
    "simulate",
    "gaps",
    "url",
    "state",
    "secret",
    "send",
    "paths",
    "version",
]
QUARANTINE = [f"quarantine {verb}" for verb in ("list", "show", "replay", "drop")]
HEAVY = (
    "cel",
    "jsonschema",
    "textual",
    "aiohttp",
    "pydantic",
    "sqlite3",
    "aiosqlite",
    "croniter",
    "watchdog",
    "rich",
    "psutil",
)


def test_the_commands_are_exactly_these() -> None:
    assert sorted(name for group in GROUPS.values() for name in group) == sorted(COMMANDS)


def test_help_lists_every_command_and_every_exit_code(bare: Home) -> None:
    shown = bare.ok("--help").out
    words = " ".join(shown.split())
    assert all(f"\n  {command} " in shown for command in COMMANDS)
    assert all(f"{code} {meaning}" in words for code, meaning in exits.MEANINGS.items())


@pytest.mark.parametrize("command", [*COMMANDS, "state get", "state set", *QUARANTINE])
def test_each_command_explains_itself_with_an_example(bare: Home, command: str) -> None:
    shown = bare.ok(*command.split(), "--help").out
    assert "Example: " in shown
    assert "tocsin" in shown.partition("Example: ")[2]
    summary = shown.split("\n\n")[1].strip()
    assert summary.endswith(".")


def test_asking_for_help_makes_nothing(bare: Home) -> None:
    bare.ok("fire", "--help")
    assert not bare.path.exists()


def test_help_loads_no_heavy_library(bare: Home) -> None:
    code = (
        "import sys\n"
        "from tocsin.cli.main import outcome\n"
        "code = outcome(['--help'])\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])\n"
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_without_a_command_it_shows_help_and_exits_2(bare: Home) -> None:
    result = bare()
    assert result.code == exits.USAGE
    assert "Usage: tocsin" in result.out + result.err


def test_an_unknown_command_is_a_usage_error_that_names_the_nearest(bare: Home) -> None:
    result = bare("evnts")
    assert result.code == exits.USAGE
    assert "Did you mean 'events'" in result.err


def test_python_dash_m_and_dash_dash_version(bare: Home) -> None:
    done = subprocess.run([*PYTHON, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == bare.ok("version").out


def test_version_as_json(bare: Home) -> None:
    assert set(bare.ok("version", "--json").json) == {"version", "python"}
