"""A run from start to end: what the command is given, what is kept of it, what its end means."""

from __future__ import annotations

import asyncio
import json
import shlex
import signal
import stat
import sys
from pathlib import Path

import psutil
import pytest

from tests.runners.workbench import Workbench, output
from tocsin.engine.runners.command import CommandRunner
from tocsin.engine.runners.logfile import read_log
from tocsin.runs import Outcome, Verdict
from tocsin.seams import RunHandle, Runner
from tocsin.trigger import Json

NASTY_NAMES = [
    "$(touch PWNED).txt",
    "`touch PWNED2`.txt",
    "a;touch PWNED3;.txt",
    '"; touch PWNED4; ".txt',
    "a\nb.txt",
    " lead and trail .txt",
    "'single' \"double\" \\back",
    "*?[a-z]~ {a,b} $HOME %s \t|&<>",
]

ONE = ("printf", "<%s>")  # shows every argument in brackets of its own


async def test_a_run_that_ends_well(bench: Workbench) -> None:
    assert await bench.run(bench.request("true")) == Outcome(verdict=Verdict.SUCCEEDED, exit_code=0)


async def test_it_is_a_runner(bench: Workbench) -> None:
    runner: Runner = CommandRunner(bench.environ)
    handle: RunHandle = await runner.start(bench.request("true"))
    assert (await handle.wait()).exit_code == 0
    assert await handle.wait() == await handle.wait()


# What the command is given


@pytest.mark.parametrize("size", [10, 100_000, 2_000_000])
async def test_the_params_are_on_stdin_and_in_a_private_file(bench: Workbench, size: int) -> None:
    params: dict[str, Json] = {"event": {"text": "é" * (size // 6)}, "config": {}}
    request = bench.shell(
        'cat >in.json; cp -p "$TOCSIN_PARAMS" copy.json; stat -c %a "$TOCSIN_PARAMS"', params=params
    )
    assert (await bench.run(request)).exit_code == 0
    assert json.loads((bench.home / "in.json").read_bytes()) == params
    assert (bench.home / "in.json").read_bytes() == (bench.home / "copy.json").read_bytes()
    assert output(request) == b"600\n"
    assert stat.S_IMODE(request.run_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE(request.log_path.stat().st_mode) == 0o600


@pytest.mark.parametrize("script", ["exec true", "exec <&-; sleep 0.1", "head -c 10 >/dev/null; exit 0"])
async def test_params_of_2_mb_that_are_never_read_are_no_error(bench: Workbench, script: str) -> None:
    request = bench.shell(script, params={"event": {"text": "x" * 2_000_000}})
    assert (await bench.run(request)).verdict is Verdict.SUCCEEDED


@pytest.mark.parametrize("name", NASTY_NAMES)
@pytest.mark.parametrize("template", ["{event.p}", '"{event.p}"', "in/{event.p}"])
async def test_a_name_is_one_argument_byte_for_byte(bench: Workbench, name: str, template: str) -> None:
    request = bench.request(*ONE, template, params={"event": {"p": name}})
    assert (await bench.run(request)).exit_code == 0
    assert output(request).decode() == f"<{template.replace('{event.p}', name)}>"
    assert not [path for path in bench.home.rglob("*") if "PWNED" in path.name]


async def test_a_name_that_begins_with_a_dash_needs_the_double_dash(bench: Workbench) -> None:
    (bench.home / "-rf.txt").touch()
    (bench.home / "precious").touch()
    assert (
        await bench.run(bench.request("rm", "--", "{event.p}", params={"event": {"p": "-rf.txt"}}))
    ).exit_code == 0
    assert [path.name for path in bench.home.iterdir() if path.is_file()] == ["precious"]


async def test_a_name_that_is_not_utf_8_arrives_as_it_is(bench: Workbench) -> None:
    payload: Json = {"path": "caf\ufffd.txt", "path_base64": "Y2Fm6S50eHQ="}
    request = bench.request(*ONE, "{event.p.path}", params={"event": {"p": payload}})
    assert (await bench.run(request)).exit_code == 0
    assert output(request) == b"<caf\xe9.txt>"


async def test_a_shell_string_is_run_as_written_and_reads_the_payload_itself(bench: Workbench) -> None:
    read = 'import json, sys; print(json.load(sys.stdin)["event"])'
    script = f"printf '%s' '{{event.p}}'; {shlex.quote(sys.executable)} -c '{read}'"
    request = bench.shell(script, params={"event": {"p": "$(touch PWNED)"}})
    assert (await bench.run(request)).exit_code == 0
    assert output(request) == b"{event.p}{'p': '$(touch PWNED)'}\n"
    assert not (bench.home / "PWNED").exists()


async def test_the_environment_is_clean(bench: Workbench) -> None:
    bench.environ = dict(bench.environ) | {"SECRET_KEY": "x", "LC_TIME": "C"}
    request = bench.request("env", "-0", env={"MODE": "ü"})
    await bench.run(request)
    names = {entry.partition(b"=")[0].decode() for entry in output(request).split(b"\0") if entry}
    assert {"MODE", "LC_TIME", "PATH", "TOCSIN_RUN_ID"} <= names
    assert "SECRET_KEY" not in names
    assert b"MODE=\xc3\xbc\0" in output(request)


async def test_python_finds_the_tocsin_that_started_it(bench: Workbench) -> None:
    request = bench.shell('test -x "$(dirname "$(command -v tocsin)")/python"', env={"PATH": "/usr/bin:/bin"})
    assert (await bench.run(request)).exit_code == 0


async def test_the_command_runs_in_its_cwd_else_at_home(bench: Workbench) -> None:
    (bench.home / "ä b").mkdir()
    for cwd in (None, bench.home / "ä b"):
        request = bench.request("pwd", "-P", cwd=cwd)
        await bench.run(request)
        assert output(request).decode() == f"{(cwd or bench.home).resolve()}\n"


async def test_a_command_has_its_own_session_and_hears_every_signal(bench: Workbench) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as under `nohup` or a shell's `&`
    try:
        request = bench.shell("grep SigIgn /proc/self/status; ps -o sid= -p $$; echo $$")
        await bench.run(request)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    _, ignored, session, pid = output(request).split()
    assert (
        int(ignored, 16) & (1 << signal.SIGINT - 1 | 1 << signal.SIGTERM - 1 | 1 << signal.SIGPIPE - 1) == 0
    )
    assert session == pid


async def test_an_ignored_sigchld_loses_no_exit_code(bench: Workbench) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert (await bench.run(bench.shell("exit 3"))).exit_code == 3
    finally:
        signal.signal(signal.SIGCHLD, before)


async def test_the_process_can_be_told_from_a_later_one(bench: Workbench) -> None:
    handle = await bench.start(bench.request("cat"))
    facts = handle.process
    fields = Path(f"/proc/{facts.pid}/stat").read_text().rpartition(")")[2].split()
    assert facts.started == int(fields[19])
    assert facts.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert (await handle.wait()).exit_code == 0


# What its end means


@pytest.mark.parametrize(
    ("script", "verdict", "error"),
    [
        ("exit 3", Verdict.FAILED, "exit code 3"),
        ("exit 65", Verdict.FAILED_PERMANENTLY, "exit code 65"),
        ("exit 75", Verdict.FAILED, "exit code 75"),
        ("kill -KILL $$", Verdict.FAILED, "killed by SIGKILL"),
        ("nosuchprogram", Verdict.FAILED, "exit code 127: "),
        ("echo a >&2; printf '\\n \\n' >&2; echo out; exit 1", Verdict.FAILED, "exit code 1: a"),
    ],
)
async def test_the_end_in_one_line(bench: Workbench, script: str, verdict: Verdict, error: str) -> None:
    done = await bench.run(bench.shell(script, permanent_exit_codes=(65, 75)))
    assert done.verdict is verdict
    assert done.error is not None
    assert done.error.startswith(error) if error.endswith(": ") else done.error == error


async def test_twenty_at_once_keep_apart(bench: Workbench) -> None:
    async def one(number: int) -> None:
        script = f'cat; echo {number} >&2; echo "{{\\"n\\":{number}}}" >>"$TOCSIN_OUTPUT"; exit {number}'
        request = bench.shell(script, params={"n": number})
        done = await bench.run(request, within=60)
        assert (done.exit_code, dict(done.outputs.result)) == (number, {"n": number})
        assert set(read_log(request.log_path)) == {b'{"n":%d}' % number, b"%d\n" % number}

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(one(number))


async def test_a_run_leaves_no_task_no_descriptor_and_no_timer(bench: Workbench) -> None:
    await bench.run(bench.request("true"))
    before, descriptors = asyncio.all_tasks(), psutil.Process().num_fds()
    for script in ("exit 0", "exit 3", "sleep 0.01 &"):
        await bench.run(bench.shell(script, timeout=600))
    with pytest.raises(Exception, match="not found"):
        await bench.start(bench.request("no-such-program-7"))
    assert asyncio.all_tasks() == before
    assert psutil.Process().num_fds() == descriptors
