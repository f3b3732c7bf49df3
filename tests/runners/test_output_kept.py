"""What is kept of a command's output."""

from __future__ import annotations

import asyncio
import os

import psutil

from tests.runners.workbench import Workbench, until
from tocsin.engine.runners.logfile import LogFollower, read_log
from tocsin.runs import Outcome, Verdict


async def test_both_streams_are_in_the_log(bench: Workbench) -> None:
    request = bench.shell("echo out; echo err >&2; exit 5")
    done = await bench.run(request)
    assert done == Outcome(verdict=Verdict.FAILED, exit_code=5, error="exit code 5: err")
    assert sorted(read_log(request.log_path)) == [b"err\n", b"out\n"]
    assert list(read_log(request.log_path, stderr_only=True)) == [b"err\n"]


async def test_output_is_seen_while_the_command_runs(bench: Workbench) -> None:
    request = bench.shell("echo first; read go <fifo; echo second")
    os.mkfifo(bench.home / "fifo")
    handle = await bench.start(request)
    follower = LogFollower(request.log_path)
    seen = bytearray()

    def read_on() -> bool:
        seen.extend(follower.fresh())
        return seen == b"first\n"

    await until(read_on)
    with await asyncio.to_thread((bench.home / "fifo").open, "w") as fifo:
        fifo.write("go\n")
    assert (await handle.wait()).exit_code == 0
    assert follower.fresh() == b"second\n"


async def test_a_flood_is_kept_at_both_ends_in_little_memory(bench: Workbench) -> None:
    before = psutil.Process().memory_info().rss
    long_line = "head -c 200000 /dev/zero | tr '\\0' y"
    request = bench.shell(f"echo first; {long_line}; yes | head -c 50000000; echo last; echo bad >&2; exit 1")
    done = await bench.run(request, within=60)
    assert done.error == "exit code 1: bad"
    assert request.log_path.stat().st_size <= 1024 * 1024 + 60
    lines = list(read_log(request.log_path))
    assert lines[0] == b"first\n"
    assert {b"last\n", b"bad\n"} <= set(lines[-3:])
    assert sum(line.endswith(b"left out]\n") for line in lines) == 1
    assert psutil.Process().memory_info().rss - before < 30_000_000


async def test_text_cut_by_the_pipe_comes_back_whole(bench: Workbench) -> None:
    command = bench.script(
        "import os\ntext = ('a' + 'é' * 70_000).encode()\n"
        "for at in range(0, len(text), 999):\n"
        "    os.write(1, text[at:at + 999]); os.write(2, text[at:at + 999])\n"
    )
    request = bench.request(*command)
    await bench.run(request)
    assert [line.decode() for line in read_log(request.log_path)] == ["a" + "é" * 70_000] * 2
