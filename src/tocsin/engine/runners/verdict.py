"""What the end of a command means. Pure; used by ``command``."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tocsin.duration import format_duration
from tocsin.runs import Outcome, Outputs, Verdict
from tocsin.settings import Workflow

TRY_AGAIN: Final = getattr(os, "EX_TEMPFAIL", 75)  # sysexits(3): whatever else is configured, retry


class Stop(StrEnum):
    """Why a run was stopped before it had ended by itself."""

    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """How a command ended.

    returncode: as subprocess has it, negative for a signal. stop: what was asked of it, if anything.
    by_itself: it was over before it was asked. last_words: its last line on stderr, fit to be shown.
    """

    returncode: int
    stop: Stop | None = None
    by_itself: bool = True
    last_words: str = ""

    @property
    def exit_code(self) -> int | None:
        """None when a signal ended it."""
        return self.returncode if self.returncode >= 0 else None

    @property
    def signal(self) -> str | None:
        """The signal's name, like `SIGKILL`; None when it exited."""
        return None if self.returncode >= 0 else _signal_name(-self.returncode)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no name of their own
        return f"signal {number}"


def outcome(end: End, workflow: Workflow, outputs: Outputs, problem: str | None) -> Outcome:
    """The run's outcome. problem: what is wrong with its outputs, which fails a run that exited with 0."""
    verdict, error = _judge(end, workflow, problem)
    return Outcome(verdict=verdict, exit_code=end.exit_code, signal=end.signal, error=error, outputs=outputs)


def _judge(end: End, workflow: Workflow, problem: str | None) -> tuple[Verdict, str | None]:
    if end.by_itself:
        return _own_end(end, workflow, problem)
    match end.stop:
        case Stop.TIMED_OUT if workflow.timeout is not None:
            return Verdict.FAILED, f"timed out after {format_duration(workflow.timeout)}"
        case Stop.INTERRUPTED:
            return Verdict.INTERRUPTED, "interrupted: the engine was stopped"
        case _:
            return Verdict.CANCELLED, "cancelled"


def _own_end(end: End, workflow: Workflow, problem: str | None) -> tuple[Verdict, str | None]:
    """A success counts even when a cancel came too late for it; after a cancel nothing is retried."""
    error = _complaint(end) or problem
    if error is None:
        return Verdict.SUCCEEDED, None
    if end.stop is Stop.CANCELLED:
        return Verdict.CANCELLED, error
    permanent = end.exit_code in workflow.permanent_exit_codes and end.exit_code not in (0, TRY_AGAIN)
    return (Verdict.FAILED_PERMANENTLY if permanent else Verdict.FAILED), error


def _complaint(end: End) -> str | None:
    """The end in words; None for an exit with 0."""
    if end.signal is not None:
        return f"killed by {end.signal}"
    if end.exit_code == 0:
        return None
    return f"exit code {end.exit_code}: {end.last_words}" if end.last_words else f"exit code {end.exit_code}"
