"""The command runner: starts a workflow's command on this machine.

Implements `seams.Runner`; ``running`` has its handle. POSIX only. Knows nothing of store or engine.
"""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tocsin.engine.runners.capture import Capture
from tocsin.engine.runners.environment import output_path, params_path
from tocsin.engine.runners.invocation import Invocation, plan
from tocsin.engine.runners.jsontext import UnwritableValue, compact
from tocsin.engine.runners.leftovers import stop_leftovers
from tocsin.engine.runners.process import spawn
from tocsin.engine.runners.running import CommandRun
from tocsin.engine.runners.wording import one_line, shown
from tocsin.errors import RunnerUnreachable, SpawnFailed
from tocsin.runs import Run, RunRequest
from tocsin.trigger import Json

# What execve(2) says of a file that was there and marked executable a moment ago: a script whose
# interpreter is missing, no known format, a mount without permission to execute.
_NOT_EXECUTABLE: Final = frozenset({errno.ENOENT, errno.ENOEXEC, errno.EACCES})


class CommandRunner:
    """Runs commands as argv lists, each in its own session, with a clean environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """environ: the engine's own environment; a run gets its allow-listed part."""
        self._environ = dict(environ)

    async def start(self, request: RunRequest) -> CommandRun:
        """Start the command. Raises SpawnFailed: `command not found: NAME`, `cwd does not exist: …`; and
        RunnerUnreachable when its files cannot be written.

        Writes the params and an empty output file into the run's directory, and opens its log.
        """
        _require_posix()
        invocation = plan(request, self._environ)
        document = _document(request)
        with ExitStack() as undo:
            capture = _prepare(request, document)
            undo.callback(capture.close)
            child = _spawn(invocation)
            undo.callback(_discard, child)
            run = CommandRun(request, child, capture, document)
            undo.pop_all()
        return run

    async def attach(self, run: Run) -> None:
        """Always None: a command cannot be waited for by another engine, so what is left of it is stopped."""
        await asyncio.to_thread(stop_leftovers, [run.id])

    def preview(self, request: RunRequest) -> dict[str, Json]:
        """What `start` would execute: `{"argv": [...], "env": {...}}`. Changes nothing; raises SpawnFailed.

        Bytes of an argument that are not UTF-8 show as `\\xff`.
        """
        invocation = plan(request, self._environ)
        _document(request)
        return {"argv": [shown(argument) for argument in invocation.argv], "env": dict(invocation.env)}


def _require_posix() -> None:
    if sys.platform == "win32":
        raise SpawnFailed("commands run on Linux and macOS only", permanent=True)


def _document(request: RunRequest) -> bytes:
    """The params as the command reads them."""
    try:
        return compact(request.params, ascii_only=True).encode()
    except UnwritableValue as error:
        raise SpawnFailed(f"the params cannot be written as JSON: {error}", permanent=True) from error


def _prepare(request: RunRequest, document: bytes) -> Capture:
    """The run's private files; its log, open. Raises RunnerUnreachable."""
    try:
        request.run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        request.run_dir.chmod(0o700)
        _write_private(params_path(request.run_dir), document)
        _write_private(output_path(request.run_dir), b"")
        request.log_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Capture(request.log_path)
    except OSError as error:
        raise RunnerUnreachable(f"the run's files cannot be written: {one_line(str(error))}") from error


def _write_private(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


def _spawn(invocation: Invocation) -> subprocess.Popen[bytes]:
    name = one_line(shown(invocation.argv[0]))
    try:
        return spawn(invocation)
    except OSError as error:
        if error.errno == errno.E2BIG:
            told = "arguments and environment are over the system's limit; read from stdin or $TOCSIN_PARAMS"
            raise SpawnFailed(told, permanent=True) from error
        if error.errno in _NOT_EXECUTABLE:
            raise SpawnFailed(f"not executable: {name}") from error
        raise SpawnFailed(f"cannot start {name}: {error.strerror}") from error


def _discard(child: subprocess.Popen[bytes]) -> None:
    """End a child that nobody will wait for."""
    with child:
        child.kill()
