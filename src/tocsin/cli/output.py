"""What runs printed: onto a terminal without control characters, anywhere else byte for byte."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Final

from tocsin.cli import render
from tocsin.cli.session import Session
from tocsin.runs import Run, RunState

LOOK_S: Final = 0.1


def print_log(path: Path, *, stderr: bool = False, tail: int | None = None) -> bool:
    """Print a run's log. False when there is none."""
    from tocsin.engine.runners.logfile import read_log

    try:
        for text in read_log(path, stderr_only=stderr, tail=tail):
            emit(text)
    except FileNotFoundError:
        return False
    return True


async def follow_log(session: Session, run: Run, *, stderr: bool, tail: int | None) -> None:
    """Print what comes until the run has ended and all of it was printed."""
    from tocsin.engine.runners.logfile import LogFollower
    from tocsin.store import runs
    from tocsin.store.connection import open_reader

    follower = LogFollower(Path(run.log), stderr_only=stderr, tail=tail)
    async with open_reader(session.paths.database) as store:
        while True:
            row = await store.read(lambda tx: runs.by_id(tx, run.id))
            emit(follower.fresh())
            if row is None or row.state is not RunState.RUNNING:
                return
            await asyncio.sleep(LOOK_S)


def emit(data: bytes) -> None:
    if sys.stdout.isatty():
        render.write(render.clean(data.decode("utf-8", "replace")))
    else:
        render.write_bytes(data)
