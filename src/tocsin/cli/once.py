"""`once`: steps of a run that its later attempts leave out. Also what ``tocsin.run`` asks with."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import IO, Annotated, Final, TextIO

import typer

from tocsin.cli import exits, render
from tocsin.cli.link import call
from tocsin.cli.options import JsonFlag
from tocsin.cli.session import Session, session_of
from tocsin.errors import BadRequest, TocsinError
from tocsin.runs import TEST_RUN
from tocsin.trigger import Json

LINGER_S: Final = 1.0  # what a step leaves behind may keep its pipe open; the engine waits no longer either
MOST_READ: Final = 256 * 1024  # of what a step prints: no more than 64 KiB of JSON is kept, blanks apart
CHUNK: Final = 64 * 1024
NOT_FOUND, NOT_STARTED, BY_SIGNAL = 127, 126, 128  # as shells have it


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of the run that this process is part of, and what was answered for it.

    first: it is to be done now. doer: the run that does or did it. result: what was kept of it.
    """

    key: str
    run_id: str
    first: bool
    doer: str
    result: Json = None

    @property
    def document(self) -> dict[str, Json]:
        """As `--json` prints it."""
        return {"key": self.key, "first": self.first, "run_id": self.doer, "result": self.result}


def begin(session: Session, key: str, *, done: bool = False) -> Step:
    """Ask whether a step is still to be done. done: it is with that.

    Raises BadRequest outside of a run and for a bad key, Refused while another process is at it.
    """
    from tocsin.engine.once import checked
    from tocsin.engine.runners.environment import RUN_ID

    checked(key)
    run_id = session.environ.get(RUN_ID)
    if not run_id:
        raise BadRequest(
            f"once works inside of a run: {RUN_ID} is not set (try `tocsin test` or `tocsin fire`)"
        )
    if run_id == TEST_RUN:
        return Step(key=key, run_id=run_id, first=True, doer=run_id)
    answer = call(session, "once_begin", {**holder(run_id), "key": key, "done": done})
    return Step(key=key, run_id=run_id, first=answer["first"], doer=answer["run_id"], result=answer["result"])


def end(session: Session, step: Step, result: str | None) -> None:
    """The step is done. result: JSON, None where nothing is to be kept. Raises as the verb does."""
    if step.run_id != TEST_RUN:
        call(session, "once_end", {**holder(step.run_id), "key": step.key, "result": result})


def give_up(session: Session, step: Step) -> None:
    """The step was not done. What cannot be told now shows when this process ends."""
    if step.run_id != TEST_RUN:
        with suppress(TocsinError):
            call(session, "once_give_up", {**holder(step.run_id), "key": step.key})


def holder(run_id: str) -> dict[str, Json]:
    """Who asks, as the verbs want it: this process."""
    from tocsin.engine.runners.process import process_facts

    return {"run_id": run_id, **asdict(process_facts(os.getpid()))}


def kept(printed: bytes) -> str | None:
    """What is kept of this text: one JSON value of at most 64 KiB; None for anything else."""
    from tocsin.engine.runners.jsontext import compact
    from tocsin.engine.runners.outputs import read_state

    if len(printed) > MOST_READ:  # only its beginning is here
        return None
    try:
        return compact(read_state(printed))
    except TocsinError:
        return None


def once(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="KEY", help="What is done, like mail-$TOCSIN_EVENT_ID.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND…", help="How; without it KEY is done at once.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Inside of a run: do a step unless an earlier attempt of the trigger has done it.

    Runs COMMAND and exits as it does; 0 makes KEY done, with what it printed as result if that is one JSON
    value. When KEY is done already, prints that result and exits 0. Without COMMAND exits 0 the first time
    and 1 from then on. Exits 6 while another process is at KEY.

    Example: tocsin once "mail-$TOCSIN_EVENT_ID" -- sendmail -t < letter
    """
    session = session_of(context)
    try:
        code = do(session, key, command, as_json=as_json) if command else mark(session, key, as_json=as_json)
    except TocsinError as error:
        if exits.code_of(error) != exits.FAILED:
            raise
        render.say(f"tocsin: {error}")  # 1 is an answer here
        code = exits.UNREACHABLE
    raise typer.Exit(code)


def mark(session: Session, key: str, *, as_json: bool) -> int:
    """Done with the asking: 0 the first time."""
    step = begin(session, key, done=True)
    if as_json:
        render.document(step.document)
    return exits.OK if step.first else exits.FAILED


def do(session: Session, key: str, command: Sequence[str], *, as_json: bool) -> int:
    """Run the command unless it is done; its exit code."""
    step = begin(session, key)
    if not step.first:
        tell_done(step, as_json=as_json)
        return exits.OK
    code, printed = run(command, session.environ, sys.stderr if as_json else sys.stdout)
    if code != exits.OK:
        give_up(session, step)
        return code
    result = kept(printed)
    try:
        end(session, step, result)
    except TocsinError:
        render.say(f"{command[0]} has succeeded, but that {key!r} is done could not be noted:")
        raise
    if as_json:
        import json

        render.document(step.document | {"result": None if result is None else json.loads(result)})
    return code


def tell_done(step: Step, *, as_json: bool) -> None:
    """What the step came to when it was done."""
    if as_json:
        render.document(step.document)
    elif step.result is not None:
        render.json_line(step.result)
    render.say(f"{step.key}: done by {step.doer}, left out")


def run(command: Sequence[str], environ: Mapping[str, str], out: TextIO) -> tuple[int, bytes]:
    """The command's exit code as a shell has it, and the beginning of what it printed, which is passed on."""
    printed = bytearray()
    try:
        process = subprocess.Popen(command, env=dict(environ), stdout=subprocess.PIPE)
    except OSError as error:
        render.say(f"tocsin: {command[0]}: {error.strerror}")
        return (NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_STARTED), b""
    copying = threading.Thread(target=pass_on, args=(process.stdout, out, printed), daemon=True)
    copying.start()
    code = process.wait()
    copying.join(LINGER_S)
    return (code if code >= 0 else BY_SIGNAL - code), bytes(printed)


def pass_on(source: IO[bytes], out: TextIO, printed: bytearray) -> None:
    """Copy what comes, at once, and keep its beginning; the step goes on when nobody reads any more."""
    with source:
        while chunk := os.read(source.fileno(), CHUNK):
            printed += chunk[: MOST_READ - len(printed) + 1]
            try:
                out.buffer.write(chunk)
                out.flush()
            except OSError:
                render.silence(out)
