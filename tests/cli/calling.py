"""Calls the command line as a person would: in this process, or as one of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tocsin.cli.main import outcome

DEADLINE_S = 20.0  # a test that waits in vain fails then
PYTHON = (sys.executable, "-m", "tocsin")

CONFIG = """
[engine]
port = 0
tz = "Europe/Berlin"
shutdown_grace = "200ms"

[workflows.hello]
command = ["sh", "-c", 'echo "{\\"greeting\\": \\"hi\\"}" >> "$TOCSIN_OUTPUT"; echo out; echo err >&2']
[workflows.fails]
command = ["sh", "-c", "echo sorry >&2; exit 3"]
[workflows.slow]
command = ["sleep", "30"]
kill_grace = "1s"

[triggers.hello]
workflow = "hello"
manual = true
tags = ["greeting"]
[triggers.fails]
workflow = "fails"
manual = true
max_attempts = 1
[triggers.slow]
workflow = "slow"
manual = true
[triggers.brief]
workflow = "hello"
cron = "0 8 * * mon-fri"
tags = ["client-acme"]
[triggers.hook]
workflow = "hello"
webhook = {}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one call came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """One home, and the commands on it."""

    path: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.path / "tocsin.toml"

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Result:
        """In this process: fast, and with warnings as errors."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace") for _ in range(2))
        with redirect_stdout(out), redirect_stderr(err), environment(self.variables), reading(stdin):
            code = outcome(arguments)
        return Result(code=code, out=text_of(out), err=text_of(err))

    def ok(self, *arguments: str) -> Result:
        """A call that has to succeed."""
        result = self(*arguments)
        assert result.code == 0, result
        return result

    @contextmanager
    def process(self, *arguments: str, seconds: float = DEADLINE_S) -> Iterator[subprocess.Popen[str]]:
        """As a process of its own, with pipes; killed when it outlives the block or a deadline."""
        pipe = subprocess.PIPE
        command = [*PYTHON, *arguments]
        with subprocess.Popen(
            command, env=os.environ | self.variables, text=True, stdout=pipe, stderr=pipe
        ) as process:
            deadline = threading.Timer(seconds, process.kill)
            deadline.start()
            try:
                yield process
                process.wait(5)
            finally:
                deadline.cancel()
                process.kill()

    def run(self, *arguments: str) -> Result:
        """As a process of its own, to its end."""
        done = subprocess.run(
            [*PYTHON, *arguments],
            env=os.environ | self.variables,
            text=True,
            capture_output=True,
            timeout=20,
            check=False,
        )
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

    @property
    def variables(self) -> dict[str, str]:
        return {"TOCSIN_HOME": str(self.path), "TZ": "Europe/Berlin", **self.environ}


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


@contextmanager
def reading(stdin: bytes) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        yield


def text_of(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


def names(documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of an array of REGISTRATIONs."""
    return [document["name"] for document in documents]
