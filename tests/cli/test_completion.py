"""The shell's completion."""

from __future__ import annotations

import os
import subprocess

from tests.cli.calling import PYTHON, Home


def completed(home: Home, words: str) -> list[str]:
    """What bash is offered behind these words."""
    environ = os.environ | home.variables
    environ |= {
        "_TOCSIN_COMPLETE": "complete_bash",
        "COMP_WORDS": f"tocsin {words}",
        "COMP_CWORD": str(len(words.split(" "))),
    }
    done = subprocess.run([*PYTHON], env=environ, capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_names_of_triggers_come_from_the_database(home: Home) -> None:
    assert completed(home, "fire h") == ["hello", "hook"]
    assert completed(home, "disable hello br") == ["brief"]


def test_a_home_given_as_an_option_is_asked(home: Home, tmp_path: object) -> None:
    elsewhere = Home(path=home.path.parent / "elsewhere")
    assert completed(elsewhere, f"--home {home.path} show sl") == ["slow"]
    assert completed(elsewhere, "show sl") == []
    assert not elsewhere.path.exists()


def test_commands_are_completed(bare: Home) -> None:
    assert completed(bare, "ev") == ["events", "event"]


def test_a_shell_is_given_its_script(bare: Home) -> None:
    """The shell that asks is found by looking at who called, so a shell has to call."""
    asked = '"$@" --show-completion; exit $?'
    done = subprocess.run(
        ["bash", "-c", asked, "bash", *PYTHON],
        env=os.environ | bare.variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "_TOCSIN_COMPLETE" in done.stdout
