"""Exit codes are a promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.calling import Home
from tocsin.cli import exits
from tocsin.cli.link import NoAnswer
from tocsin.engine.verbs import error_document, error_of
from tocsin.errors import (
    Ambiguous,
    BadRequest,
    ConfigInvalid,
    EngineUnreachable,
    InvalidSchedule,
    LockHeld,
    NotFound,
    Problem,
    Refused,
    StoreUnusable,
    TocsinError,
)
from tocsin.event import State

ERRORS = [
    (NotFound(thing="trigger", name="x"), 3),
    (Ambiguous(thing="event", prefix="evt_0", count=2), 3),
    (ConfigInvalid([Problem(path="f", line=1, key="k", message="m")]), 4),
    (InvalidSchedule("cron: never"), 4),
    (EngineUnreachable("gone"), 5),
    (NoAnswer("silent"), 5),
    (LockHeld(home=Path("/h"), pid=1), 5),
    (Refused("no"), 6),
    (exits.TimedOut("late"), 7),
    (BadRequest("what?"), 2),
    (StoreUnusable("full"), 1),
]


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda value: type(value).__name__)
def test_each_error_has_its_code(error: TocsinError, code: int) -> None:
    assert exits.code_of(error) == code


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=lambda value: type(value).__name__)
def test_the_code_survives_the_way_through_the_socket(error: TocsinError, code: int) -> None:
    assert exits.code_of(error_of(error_document(error))) == code


def test_every_end_of_an_event_has_a_code() -> None:
    assert {state: exits.code_of_state(state) for state in State} == {
        State.HELD: 0,
        State.PENDING: 0,
        State.CLAIMED: 0,
        State.SUCCEEDED: 0,
        State.FAILED: 1,
        State.DROPPED: 1,
        State.SKIPPED: 6,
    }


def test_a_fault_is_one_sentence_and_a_traceback_only_when_asked(bare: Home) -> None:
    (bare.path / "engine.lock").mkdir(parents=True)
    result = bare("status")
    assert result.code == 1
    assert result.err.startswith("tocsin: IsADirectoryError: ")
    assert result.err.endswith(" (TOCSIN_DEBUG=1 shows where)\n")
    assert result.err.count("\n") == 1
    debugged = Home(path=bare.path, environ={"TOCSIN_DEBUG": "1"})("status")
    assert debugged.code == 1
    assert "Traceback" in debugged.err
