"""Exit codes, and which error means which: a promise to scripts (INTERFACE section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tocsin.errors import TocsinError
from tocsin.event import State

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
NOT_FOUND: Final = 3
CONFIG: Final = 4
UNREACHABLE: Final = 5
REFUSED: Final = 6
TIMED_OUT: Final = 7
WARNINGS: Final = 8
INTERRUPTED: Final = 130  # 128 + SIGINT, as shells count
PIPE_CLOSED: Final = 141  # 128 + SIGPIPE: what `cat` ends with when its reader is gone

MEANINGS: Final[Mapping[int, str]] = {
    OK: "ok",
    FAILED: "failed",
    USAGE: "wrong usage",
    NOT_FOUND: "not found",
    CONFIG: "configuration invalid",
    UNREACHABLE: "engine not reachable, or another one holds the lock",
    REFUSED: "refused by policy",
    TIMED_OUT: "timed out",
    WARNINGS: "warnings only",
}

CODES: Final[Mapping[str, int]] = {
    "BadRequest": USAGE,
    "NotFound": NOT_FOUND,
    "NothingYet": NOT_FOUND,
    "Ambiguous": NOT_FOUND,
    "ConfigInvalid": CONFIG,
    "InvalidSchedule": CONFIG,
    "LockHeld": UNREACHABLE,
    "EngineUnreachable": UNREACHABLE,
    "NoAnswer": UNREACHABLE,
    "Refused": REFUSED,
    "BindingMismatch": REFUSED,
    "TimedOut": TIMED_OUT,
}

STATES: Final[Mapping[State, int]] = {
    State.SUCCEEDED: OK,
    State.FAILED: FAILED,
    State.DROPPED: FAILED,
    State.SKIPPED: REFUSED,  # the trigger's overlap or misfire rule said no
}


class TimedOut(TocsinError):
    """What was waited for did not happen in time; the text says what goes on."""


def code_of(error: TocsinError) -> int:
    """By the error's class, or by its name when it comes from the engine (`engine.verbs.Remote`)."""
    kind = getattr(error, "kind", type(error).__name__)
    return CODES.get(kind, FAILED)


def code_of_state(state: State) -> int:
    """What an event's state means for who fired it; 0 while it is under way."""
    return STATES.get(state, OK)
