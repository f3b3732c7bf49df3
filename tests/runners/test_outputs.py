"""The file a run appends its outputs to."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.runners.workbench import Workbench
from tocsin.engine.runners.outputs import FILE_CAP, read_outputs
from tocsin.runs import Outputs, Verdict


def read(path: Path, text: str | bytes) -> tuple[Outputs, str | None]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_outputs(path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "output.jsonl"


def test_later_keys_win_and_the_rest_is_the_result(file: Path) -> None:
    lines = '{"state":{"v":1},"pages":1}\n\n  \n{"pages":2,"cost_usd":1,"next_fire_at":"30s"}\r\n'
    assert read(file, lines + '{"state":{"v":2}}') == (
        Outputs(
            present=frozenset({"state", "pages", "cost_usd", "next_fire_at"}),
            state={"v": 2},
            next_fire_at="30s",
            cost_usd=1.0,
            result={"pages": 2},
        ),
        None,
    )


def test_no_file_and_an_empty_file_are_no_outputs(file: Path) -> None:
    assert read_outputs(file) == (Outputs(), None)
    assert read(file, "") == (Outputs(), None)


def test_a_null_state_is_present(file: Path) -> None:
    outputs, problem = read(file, '{"state":null}')
    assert (outputs.present, outputs.state, problem) == (frozenset({"state"}), None, None)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("done", "is not JSON: Expecting value at column 1"),
        ('{"a":1', "is not JSON: Expecting ',' delimiter at column 7"),
        ("[1]", "is not a JSON object"),
        ("null", "is not a JSON object"),
        ('{"a":NaN}', "holds NaN, which is not JSON"),
        ('{"a":-Infinity}', "holds -Infinity, which is not JSON"),
        ('{"a":1e999}', "holds a number that is out of range"),
        ('{"cost_usd":1e999}', "holds a number that is out of range"),
        ('{"cost_usd":"1"}', "has a `cost_usd` that is not a number of 0 or more"),
        ('{"cost_usd":null}', "has a `cost_usd` that is not a number of 0 or more"),
        ('{"cost_usd":true}', "has a `cost_usd` that is not a number of 0 or more"),
        ('{"cost_usd":-0.5}', "has a `cost_usd` that is not a number of 0 or more"),
        ('{"cost_usd":%s}' % ("9" * 400), "has a `cost_usd` of more than a billion dollars"),
        ('{"cost_usd":1000000000.01}', "has a `cost_usd` of more than a billion dollars"),
        ('{"a":%s}' % ("7" * 5000), "holds a number of 5000 digits"),
        ('{"a":%s}' % ("[" * 300 + "]" * 300), "is nested too deeply"),
        ('{"a":%s}' % ("[" * 100_000 + "]" * 100_000), "is nested too deeply"),
        ('{"a":"\\ud800"}', "holds text that is not Unicode"),
        (b'{"a":"\xff"}', "is not UTF-8"),
    ],
)
def test_a_bad_line_is_named_and_leaves_the_good_ones_alone(file: Path, line: str | bytes, told: str) -> None:
    raw = line.encode() if isinstance(line, str) else line
    outputs, problem = read(file, b'{"a":1}\n' + raw + b'\n{"b":2}\nworse\n')
    assert problem == f"output line 2 {told}"
    assert outputs.result == {"a": 1, "b": 2}
    assert outputs.cost_usd is None


def test_many_brackets_side_by_side_are_not_deep(file: Path) -> None:
    wide = {"rows": [[1]] * 5000}
    assert read(file, json.dumps(wide))[0].result == wide


def test_a_state_over_64_kib_is_left_out(file: Path) -> None:
    outputs, problem = read(file, json.dumps({"state": "é" * 32_768, "pages": 3}))
    assert problem == "state is 65538 bytes, over the cap of 64 KiB"
    assert (outputs.present, outputs.state, outputs.result) == (frozenset({"pages"}), None, {"pages": 3})
    assert read(file, json.dumps({"state": "é" * 32_767}))[1] is None


def test_a_file_over_its_cap_keeps_what_came_first(file: Path) -> None:
    line = json.dumps({"pages": "x" * 1000}) + "\n"
    outputs, problem = read(file, '{"first":1}\n' + line * (FILE_CAP // len(line) + 1))
    assert problem == f"output is {file.stat().st_size} bytes, over the cap of 4 MiB"
    assert set(outputs.result) == {"first", "pages"}


def test_what_is_no_file_is_not_waited_for(file: Path) -> None:
    os.mkfifo(file)
    assert read_outputs(file) == (Outputs(), "output is not a regular file")
    file.unlink()
    file.mkdir()
    assert read_outputs(file) == (Outputs(), "output is not a regular file")


async def test_a_run_reports_through_the_file(bench: Workbench) -> None:
    shell = """echo '{"state":{"v":1},"n":1}' >>"$TOCSIN_OUTPUT"; echo '{"n":2}' >>"$TOCSIN_OUTPUT"; exit 4"""
    done = await bench.run(bench.shell(shell))
    assert (done.verdict, done.error, done.outputs.state) == (Verdict.FAILED, "exit code 4", {"v": 1})
    assert done.outputs.result == {"n": 2}


async def test_a_bad_line_fails_a_run_that_exited_with_0(bench: Workbench) -> None:
    done = await bench.run(bench.shell('echo oops >>"$TOCSIN_OUTPUT"'))
    assert (done.verdict, done.exit_code) == (Verdict.FAILED, 0)
    assert done.error == "output line 1 is not JSON: Expecting value at column 1"


async def test_a_state_over_the_cap_fails_the_run(bench: Workbench) -> None:
    shell = """printf '{"state":"%065536d"}' 0 >>"$TOCSIN_OUTPUT" """
    done = await bench.run(bench.shell(shell))
    assert (done.verdict, done.error) == (Verdict.FAILED, "state is 65538 bytes, over the cap of 64 KiB")
    assert "state" not in done.outputs.present


async def test_a_long_file_is_read_too(bench: Workbench) -> None:
    shell = """printf '{"text":"%0300000d"}' 0 >>"$TOCSIN_OUTPUT" """
    done = await bench.run(bench.shell(shell))
    assert done.outputs.result == {"text": "0" * 300_000}
