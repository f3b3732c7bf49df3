"""What exactly will be executed for a run, or why it cannot be: argv, program, directory, environment.

Reads the file system, changes nothing. Used by ``command`` to start a run and to preview one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tocsin.engine.runners.environment import run_environment
from tocsin.engine.runners.placeholders import fill, literal
from tocsin.engine.runners.wording import one_line, shown
from tocsin.errors import SpawnFailed
from tocsin.runs import RunRequest
from tocsin.settings import Workflow

LONGEST: Final = 128 * 1024  # MAX_ARG_STRLEN of Linux, the closing NUL included (execve(2))


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One command, ready to be executed. program: absolute path of what is loaded for argv[0]."""

    argv: tuple[bytes, ...]
    program: Path
    cwd: Path
    env: Mapping[str, str]


def plan(request: RunRequest, base: Mapping[str, str]) -> Invocation:
    """Everything about the run's command. Raises SpawnFailed with the first thing that is wrong."""
    argv = _argv(request)
    env = run_environment(request, base)
    _check_variables(env)
    cwd = request.home if request.workflow.cwd is None else request.workflow.cwd
    _check_directory(cwd)
    return Invocation(
        argv=argv, program=_find(os.fsdecode(argv[0]), cwd=cwd, path=env["PATH"]), cwd=cwd, env=env
    )


def _argv(request: RunRequest) -> tuple[bytes, ...]:
    """The arguments, filled and checked."""
    argv = tuple(_script(request.workflow) or _filled(request))
    if not argv:
        raise SpawnFailed(f"workflow {request.workflow.name} has no command", permanent=True)
    for index, argument in enumerate(argv):
        _check_argument(f"argument {index}" if index else "the command's name", argument)
    return argv


def _script(workflow: Workflow) -> Sequence[bytes]:
    """The shell's arguments for a `shell` string, which stays as written; empty when there is none."""
    return () if workflow.shell is None else (b"sh", b"-c", literal(workflow.shell))


def _filled(request: RunRequest) -> Iterator[bytes]:
    """The command's elements with their placeholders filled."""
    guarded = False
    for template in request.workflow.command:
        argument, filled = fill(template, request.params)
        if filled and argument.startswith(b"-") and not (guarded or template.startswith("-")):
            raise SpawnFailed(
                f"{one_line(template)} would become the option {one_line(shown(argument))};"
                " put a `--` element before it",
                permanent=True,
            )
        guarded = guarded or template == "--"
        yield argument


def _check_argument(what: str, argument: bytes) -> None:
    """Raise for what execve cannot take."""
    if b"\0" in argument:
        raise SpawnFailed(f"{what} holds a NUL byte; read it from stdin or $TOCSIN_PARAMS", permanent=True)
    if len(argument) >= LONGEST:
        raise SpawnFailed(
            f"{what} is {len(argument)} bytes, over the system's limit of 128 KiB;"
            " read it from stdin or $TOCSIN_PARAMS",
            permanent=True,
        )


def _check_variables(env: Mapping[str, str]) -> None:
    """Raise for a variable that execve or the libraries behind it cannot take."""
    for name, value in env.items():
        if not name or "=" in name or "\0" in name:
            raise SpawnFailed(f"{one_line(repr(name))} cannot name an environment variable", permanent=True)
        _check_argument(f"environment variable {one_line(name)}", literal(f"{name}={value}"))


def _check_directory(cwd: Path) -> None:
    """Raise unless a command can be started there."""
    if not os.access(cwd, os.F_OK):
        raise SpawnFailed(f"cwd does not exist: {one_line(str(cwd))}")
    if not cwd.is_dir():
        raise SpawnFailed(f"cwd is not a directory: {one_line(str(cwd))}")
    if not os.access(cwd, os.X_OK):
        raise SpawnFailed(f"cwd cannot be entered: {one_line(str(cwd))}")


def _find(name: str, *, cwd: Path, path: str) -> Path:
    """The program's absolute path, found as a shell in `cwd` would find it. Raises SpawnFailed."""
    present = [place for place in _places(name, cwd, path) if os.access(place, os.F_OK)]
    for place in present:
        if os.access(place, os.X_OK) and not place.is_dir():
            return place
    what = "not executable" if present else "command not found"
    raise SpawnFailed(f"{what}: {one_line(shown(literal(name)))}")


def _places(name: str, cwd: Path, path: str) -> Sequence[Path]:
    """Where a command of this name may stand. An empty entry of PATH is the current directory (execvp(3))."""
    if not name:
        return ()
    folders = [""] if "/" in name else path.split(os.pathsep)
    return [Path(cwd, folder, name).absolute() for folder in folders]
