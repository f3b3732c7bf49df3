"""What is refused before anything is started, and in which words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.runners.workbench import Workbench
from tocsin.errors import SpawnFailed
from tocsin.runs import RunRequest


async def refusal(bench: Workbench, request: RunRequest) -> SpawnFailed:
    """The error of a start; `preview` says the same."""
    with pytest.raises(SpawnFailed) as previewed:
        bench.runner.preview(request)
    with pytest.raises(SpawnFailed) as raised:
        await bench.start(request)
    assert str(previewed.value) == str(raised.value)
    assert not request.run_dir.exists()
    return raised.value


def program(path: Path, text: str = "#!/bin/sh\necho ran", mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


async def test_a_command_that_is_not_on_the_path(bench: Workbench) -> None:
    error = await refusal(bench, bench.request("no-such-program-7", "x"))
    assert str(error) == "command not found: no-such-program-7"
    assert not error.permanent  # a disk may come back, a program be installed


@pytest.mark.parametrize("name", ["./missing", "/no/such/thing", ""])
async def test_a_command_that_is_not_at_its_place(bench: Workbench, name: str) -> None:
    assert str(await refusal(bench, bench.request(name))) == f"command not found: {name}"


async def test_a_file_without_the_permission_is_not_executable(bench: Workbench) -> None:
    program(bench.home / "plain", mode=0o644)
    assert str(await refusal(bench, bench.request("./plain"))) == "not executable: ./plain"
    on_path = bench.request("plain", env={"PATH": str(bench.home)})
    assert str(await refusal(bench, on_path)) == "not executable: plain"


async def test_a_directory_is_not_executable(bench: Workbench) -> None:
    (bench.home / "dir").mkdir()
    assert str(await refusal(bench, bench.request("./dir"))) == "not executable: ./dir"


@pytest.mark.parametrize("text", ["#!/no/such/interpreter\n", "\x7fno known format"])
async def test_a_file_that_the_system_cannot_load_is_not_executable(bench: Workbench, text: str) -> None:
    program(bench.home / "odd", text)
    with pytest.raises(SpawnFailed, match=r"^not executable: \./odd$"):
        await bench.start(bench.request("./odd"))


async def test_an_executable_further_down_the_path_wins_over_a_plain_file(bench: Workbench) -> None:
    program(bench.home / "a" / "tool", mode=0o644)
    program(bench.home / "b" / "tool")
    path = f"{bench.home}/a:{bench.home}/b:{os.environ['PATH']}"
    assert (await bench.run(bench.request("tool", env={"PATH": path}))).exit_code == 0


async def test_a_relative_command_is_relative_to_cwd(bench: Workbench) -> None:
    program(bench.home / "work" / "bin" / "tool")
    cwd = bench.home / "work"
    assert (await bench.run(bench.request("bin/tool", cwd=cwd))).exit_code == 0
    assert str(await refusal(bench, bench.request("bin/tool"))) == "command not found: bin/tool"
    on_path = bench.request("tool", cwd=cwd, env={"PATH": f"bin:{os.environ['PATH']}"})
    assert (await bench.run(on_path)).exit_code == 0


async def test_the_directory_is_named_and_not_the_command(bench: Workbench) -> None:
    missing = bench.home / "gone"
    assert str(await refusal(bench, bench.request("true", cwd=missing))) == f"cwd does not exist: {missing}"
    file = program(bench.home / "file")
    assert str(await refusal(bench, bench.request("true", cwd=file))) == f"cwd is not a directory: {file}"


async def test_without_a_command_nothing_is_started(bench: Workbench) -> None:
    assert (await refusal(bench, bench.request())).permanent


@pytest.mark.parametrize(
    "command", [("rm", "{event.f}"), ("rm", "{event.e}{event.f}"), ("rm", "{event.e}-{event.n}")]
)
async def test_a_value_cannot_become_an_option(bench: Workbench, command: tuple[str, ...]) -> None:
    error = await refusal(bench, bench.request(*command, params={"event": {"f": "-rf", "e": "", "n": "rf"}}))
    assert "put a `--` element before it" in str(error)
    assert error.permanent


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (("echo", "--", "{event.f}"), ["echo", "--", "-rf"]),
        (("echo", "--", "a", "{event.f}"), ["echo", "--", "a", "-rf"]),
        (("echo", "--name={event.f}"), ["echo", "--name=-rf"]),
        (("echo", "./{event.f}"), ["echo", "./-rf"]),
        (("echo", "-n"), ["echo", "-n"]),
    ],
)
async def test_what_was_written_or_guarded_may_begin_with_a_dash(
    bench: Workbench, command: tuple[str, ...], argv: list[str]
) -> None:
    assert bench.runner.preview(bench.request(*command, params={"event": {"f": "-rf"}}))["argv"] == argv


async def test_a_filled_double_dash_guards_nothing(bench: Workbench) -> None:
    request = bench.request("rm", "--{event.e}", "{event.f}", params={"event": {"e": "", "f": "-rf"}})
    assert "would become the option -rf" in str(await refusal(bench, request))


async def test_a_missing_value_is_permanent(bench: Workbench) -> None:
    error = await refusal(bench, bench.request("echo", "{event.x}", params={"event": {"x": None}}))
    assert str(error) == "placeholder {event.x} has no value"
    assert error.permanent


async def test_a_nul_byte_cannot_be_an_argument(bench: Workbench) -> None:
    error = await refusal(bench, bench.request("echo", "{event.x}", params={"event": {"x": "a\0b"}}))
    assert "NUL" in str(error)


@pytest.mark.parametrize("env", [{"A": "x\0y"}, {"A=B": "x"}, {"": "x"}, {"A\0": "x"}, {"A": "x" * 200_000}])
async def test_a_variable_that_cannot_be_set_is_refused(bench: Workbench, env: dict[str, str]) -> None:
    assert "environment variable" in str(await refusal(bench, bench.request("true", env=env)))


async def test_an_argument_of_128_kib_points_to_stdin(bench: Workbench) -> None:
    error = await refusal(bench, bench.request("echo", "{event.x}", params={"event": {"x": "x" * 131_072}}))
    assert str(error).startswith("argument 1 is 131072 bytes")
    assert "stdin or $TOCSIN_PARAMS" in str(error)
    longest = bench.request("true", "{event.x}", params={"event": {"x": "x" * 131_071}})
    assert (await bench.run(longest)).exit_code == 0


async def test_too_many_arguments_point_to_stdin(bench: Workbench) -> None:
    request = bench.request("true", *["{event.x}"] * 100, params={"event": {"x": "x" * 130_000}})
    with pytest.raises(SpawnFailed, match="stdin or") as raised:
        await bench.start(request)
    assert raised.value.permanent


@pytest.mark.parametrize("value", [float("nan"), 10**5000], ids=["nan", "5001 digits"])
async def test_params_that_json_cannot_hold_are_refused(bench: Workbench, value: float) -> None:
    error = await refusal(bench, bench.request("true", params={"event": {"x": value}}))
    assert "cannot be written as JSON" in str(error)


def test_a_preview_shows_argv_and_environment_and_changes_nothing(bench: Workbench) -> None:
    payload = {"p": "caf\ufffd", "p_base64": "Y2Fm6Q=="}
    request = bench.request("echo", "{event.p}", params={"event": payload}, env={"MODE": "fast"})
    seen = bench.runner.preview(request)
    assert seen["argv"] == ["echo", "caf\\xe9"]
    assert isinstance(seen["env"], dict)
    assert seen["env"]["MODE"] == "fast"
    assert list(bench.home.iterdir()) == []


def test_a_shell_string_receives_nothing(bench: Workbench) -> None:
    request = bench.shell("echo {event.p} '{config.x}'", params={"event": {"p": "$(touch PWNED)"}})
    assert bench.runner.preview(request)["argv"] == ["sh", "-c", "echo {event.p} '{config.x}'"]
