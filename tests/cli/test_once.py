"""`once` and `tocsin.run.once`: inside of runs, in tests of a trigger, and outside of both."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.cli.calling import Home
from tocsin.cli import exits
from tocsin.errors import BadRequest, TocsinError
from tocsin.run import once

CONFIG = """
[workflows.steps]
command = ["sh", "{script}"]
env = {{ PYTHONPATH = "{source}" }}
[triggers.steps]
workflow = "steps"
manual = true
overlap = "allow"
max_attempts = 1
"""

SOURCE = Path(tocsin.__file__).parents[1]  # the tocsin that is tested, also where another is installed
PRINTS = "echo ran >> {here}/ran; echo '{{\"id\": 7}}'"


@pytest.fixture
def steps(bare: Home, tmp_path: Path) -> Home:
    """A trigger whose command is the script that `fire` writes."""
    bare.path.mkdir(mode=0o700)
    bare.config.write_text(CONFIG.format(script=tmp_path / "script", source=SOURCE))
    bare.ok("apply")
    return bare


def fire(home: Home, script: str, *command: str) -> tuple[dict[str, Any], str]:
    """Run this script as the trigger's command; the outcome and what it printed."""
    here = home.path.parent
    text = f'tocsin() {{ {sys.executable} -m tocsin "$@"; }}\n' + script
    (here / "script").write_text(text)
    fired = home(*(command or ("fire", "steps")), "--json").json
    log = home.ok("logs", fired["run_id"]).out if fired["run_id"] else ""
    return fired, log


def ran(home: Home) -> int:
    """How often the step was done."""
    file = home.path.parent / "ran"
    return len(file.read_text().split()) if file.exists() else 0


def test_a_step_is_done_once_and_its_result_comes_again(steps: Home) -> None:
    (steps.path.parent / "step").write_text(PRINTS.format(here=steps.path.parent))
    script = f"tocsin once mail -- sh {steps.path.parent}/step"
    first, log = fire(steps, script)
    assert (first["state"], ran(steps), log) == ("succeeded", 1, '{"id": 7}\n')
    second, log = fire(steps, script)
    assert (second["state"], ran(steps)) == ("succeeded", 1)
    assert '{"id": 7}' in log
    assert f"mail: done by {first['run_id']}, left out" in log


def test_a_step_that_failed_is_not_done_and_its_exit_code_is_passed_on(steps: Home) -> None:
    script = f"tocsin once mail -- sh -c 'echo ran >> {steps.path.parent}/ran; exit 9'"
    for count in (1, 2):
        fired, _ = fire(steps, script)
        assert (fired["exit_code"], ran(steps)) == (9, count)


@pytest.mark.parametrize(
    ("command", "code"),
    [("no-such-program", 127), ("/", 126), ("sh -c 'kill -9 $$'", 137)],
)
def test_other_ends_are_as_a_shell_has_them(steps: Home, command: str, code: int) -> None:
    assert fire(steps, f"tocsin once mail -- {command}")[0]["exit_code"] == code


def test_a_key_alone_answers_0_the_first_time_and_1_from_then_on(steps: Home) -> None:
    script = (
        'tocsin once mail; a=$?; tocsin once mail; b=$?; tocsin once "mail-$TOCSIN_EVENT_ID"; echo $a$b$?'
    )
    assert [fire(steps, script)[1] for _ in range(2)] == ["010\n", "110\n"]


def test_as_json(steps: Home) -> None:
    first = "tocsin once k --json -- sh -c 'echo loud >&2; echo [1]'"
    script = f"{first}; tocsin once k --json -- true; tocsin once k --json"
    fired, out = fire(steps, script)
    assert out.count('"result": [\n    1\n  ]') == 3
    assert (out.count('"first": true'), out.count('"first": false')) == (1, 2)
    assert out.count(f'"run_id": "{fired["run_id"]}"') == 3


@pytest.mark.parametrize("printed", ["two values: 1 2", "", "not JSON", '"%s"' % ("x" * 70_000)])
def test_what_is_no_json_value_is_no_result(steps: Home, printed: str) -> None:
    (steps.path.parent / "printed").write_text(printed)
    script = f"tocsin once k -- cat {steps.path.parent}/printed > /dev/null; tocsin once k --json -- false"
    fired, log = fire(steps, script)
    assert fired["state"] == "succeeded"
    assert '"result": null' in log


def test_what_a_step_leaves_running_holds_nothing_up(steps: Home) -> None:
    fired, _ = fire(steps, "tocsin once k -- sh -c 'sleep 60 & echo 5'; tocsin once k -- false")
    assert fired["state"] == "succeeded"


def test_a_test_of_the_trigger_records_nothing(steps: Home) -> None:
    step = f"tocsin once mail -- sh -c 'echo ran >> {steps.path.parent}/ran'"
    script = f"{step} && tocsin once other && tocsin once other"
    for count in (1, 2):
        fired, _ = fire(steps, script, "test", "steps")
        assert (fired["state"], ran(steps)) == ("succeeded", count)
    assert fire(steps, script)[0]["state"] == "failed"  # `other` is done there, the second time
    assert ran(steps) == 3


def test_outside_of_a_run_it_is_a_wrong_usage_that_says_so(
    bare: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOCSIN_RUN_ID", raising=False)
    result = bare("once", "mail", "--", "touch", str(bare.path / "x"))
    assert result.code == exits.USAGE
    assert "once works inside of a run: TOCSIN_RUN_ID is not set" in result.err
    assert not bare.path.exists()


@pytest.mark.parametrize("key", ["", "k" * 201])
def test_a_bad_key_is_a_wrong_usage(home: Home, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("TOCSIN_RUN_ID", "run_1")
    result = home("once", key)
    assert (result.code, "expected 1 to 200 characters" in result.err) == (exits.USAGE, True)


def test_an_unknown_run_is_not_found(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_RUN_ID", "run_1")
    assert home("once", "k").code == exits.NOT_FOUND


PROGRAM = """
import asyncio, pathlib, sys
from tocsin.run import once
calls = []
def send(to, count):
    calls.append(to)
    if pathlib.Path(sys.argv[1]).exists():
        raise RuntimeError("no line")
    return {"sent": to, "count": count}
async def main():
    return once("mail", send, "me", 2)
made = once("object", object)
sent = once("mail", send, "me", 2) if len(sys.argv) == 2 else asyncio.run(main())
print(made is None, sent, calls)
"""


def test_python_programs_have_the_same(steps: Home, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    script = f"{sys.executable} {tmp_path}/program.py {tmp_path}/broken"
    (tmp_path / "broken").touch()
    assert fire(steps, script)[0]["exit_code"] == 1
    (tmp_path / "broken").unlink()
    value = "{'sent': 'me', 'count': 2}"
    assert (
        fire(steps, script)[1] == f"True {value} ['me']\n"
    )  # of an object it is only known that it was made
    assert fire(steps, script + " async")[1] == f"True {value} []\n"


def test_of_several_at_once_within_a_run_one_does_it(steps: Home) -> None:
    here = steps.path.parent
    (here / "step").write_text(f"echo ran >> {here}/ran; while [ ! -e {here}/refused ]; do sleep 0.05; done")
    (here / "ask").write_text(
        f"{sys.executable} -m tocsin once mail -- sh {here}/step\n"
        f'code=$?; echo "code $code"; [ $code = 0 ] || touch {here}/refused'
    )
    fired, log = fire(steps, f"printf '1\\n2\\n3\\n' | xargs -P3 -I{{}} sh {here}/ask")
    assert (fired["state"], ran(steps)) == ("succeeded", 1)
    assert sorted(line for line in log.splitlines() if "code" in line) == ["code 0", "code 6", "code 6"]
    assert log.count(" of this run: try again when it has ended") == 2


def test_a_step_that_was_killed_is_free_at_once(steps: Home) -> None:
    here = steps.path.parent
    (here / "step").write_text(f"echo ran >> {here}/ran; [ -e {here}/killed ] || kill -9 $PPID")
    once = f"{sys.executable} -m tocsin once mail -- sh {here}/step"
    fired, log = fire(steps, f"{once}; touch {here}/killed; {once}")
    assert (fired["state"], ran(steps)) == ("succeeded", 2), log


AT_ONCE = """
import threading
from tocsin.run import TocsinError, once
begun, asked = threading.Event(), threading.Event()
def send():
    begun.set()
    asked.wait(30)
    try:
        once("mail", print, "called by itself")
    except TocsinError as error:
        return "refused" if "of this run" in str(error) else str(error)
worker = threading.Thread(target=lambda: print(once("mail", send)))
worker.start()
begun.wait(30)
try:
    once("mail", print, "called by another thread")
except TocsinError as error:
    print(type(error).__name__, error)
asked.set()
worker.join()
try:
    once("broken", lambda: 1 / 0)
except ZeroDivisionError:
    print(once("broken", int, 5))
"""


def test_threads_and_recursion_are_refused_and_what_failed_may_be_asked_again(
    steps: Home, tmp_path: Path
) -> None:
    (tmp_path / "program.py").write_text(AT_ONCE)
    _, log = fire(steps, f"{sys.executable} {tmp_path}/program.py")
    first, *others = log.splitlines()
    assert "'mail' is being done by process " in first
    assert others == ["refused", "5"]


def test_python_programs_outside_of_a_run_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOCSIN_RUN_ID", raising=False)
    with pytest.raises(BadRequest, match="once works inside of a run") as caught:
        once("k", print)
    assert isinstance(caught.value, TocsinError)


def test_in_a_test_python_programs_do_everything(monkeypatch: pytest.MonkeyPatch, bare: Home) -> None:
    monkeypatch.setenv("TOCSIN_RUN_ID", "run_test")
    monkeypatch.setenv("TOCSIN_HOME", str(bare.path))

    async def inside() -> Any:
        return once("k", max, 1, 2)

    assert [asyncio.run(inside()) for _ in range(2)] == [2, 2]
    assert not bare.path.exists()
