"""Every notice has words, and no word reaches the terminal with a control character."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import get_args

import pytest

from tocsin.daemon.logs import WORDS, clean, log
from tocsin.event import State
from tocsin.notices import EventRecorded, Notice, Paused, Resumed, RunEnded
from tocsin.runs import RunState

AT = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


def test_every_notice_has_words() -> None:
    assert set(WORDS) == set(get_args(Notice))


def test_a_late_event_says_when_it_was_planned_and_for_how_many_it_stands(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "tocsin")
    log(EventRecorded(event_id="evt_1", registration="t", state=State.PENDING, planned_at=AT, missed=2))
    assert "planned for 2026-11-30T12:00:00Z, stands for 2 more" in caplog.text


def test_a_failed_run_is_a_warning_with_its_error_and_what_comes_next(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "tocsin")
    ended = {"run_id": "run_1", "event_id": "evt_1", "registration": "t", "run_state": RunState.FAILED}
    log(RunEnded(**ended, event_state=State.PENDING, error="exit code 3", retry_at=AT))  # type: ignore[arg-type]
    log(RunEnded(**ended, event_state=State.FAILED, error="exit code 3"))  # type: ignore[arg-type]
    again, over = caplog.records
    assert again.levelno == over.levelno == logging.WARNING
    assert "exit code 3; next attempt at 2026-11-30T12:00:00Z" in again.getMessage()
    assert "exit code 3; no attempt left" in over.getMessage()


@pytest.mark.parametrize("text", ["\x1b]0;owned\x07", "\x9b31m", "a\nb", "\u202eevil"])
def test_what_comes_from_outside_is_shown_not_obeyed(text: str) -> None:
    assert clean(text).isprintable()


def test_a_pause_says_until_when_and_its_end_what_came_of_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tocsin")
    log(Paused(registration="t", until=AT))
    log(Paused(registration="t"))
    log(Resumed(registration="t", skipped=3, waiting=1))
    log(Resumed(registration="t"))
    assert [record.getMessage() for record in caplog.records] == [
        "t: paused until 2026-11-30T12:00:00Z",
        "t: paused until it is resumed",
        "t: resumed; planned for the pause and skipped: 3; waiting events that go on: 1",
        "t: resumed",
    ]


def test_an_attempt_that_a_pause_holds_back_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tocsin")
    ended = {"run_id": "run_1", "event_id": "evt_1", "registration": "t", "run_state": RunState.FAILED}
    log(RunEnded(**ended, event_state=State.HELD, error="exit code 3", retry_at=AT))  # type: ignore[arg-type]
    assert "exit code 3; its event waits for the end of the pause" in caplog.text
