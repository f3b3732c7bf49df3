"""What two looks at the clocks say of the time between them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tocsin.gaps import Cause, Gap, Look, between, off

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
H = 3600.0


def looks(wall: float, ran: float, passed: float | None) -> Gap | None:
    """Two looks between which the clocks moved by so many seconds."""
    before = Look(wall=NOW, monotonic=10.0, boottime=None if passed is None else 20.0)
    after = Look(
        wall=NOW + timedelta(seconds=wall),
        monotonic=10.0 + ran,
        boottime=None if passed is None else 20.0 + passed,
    )
    return between(before, after)


@pytest.mark.parametrize(
    ("wall", "ran", "passed", "cause", "evidence"),
    [
        (8 * H + 1, 1, 8 * H + 1, Cause.ASLEEP, "the machine was suspended for 8h"),
        (7, 7, 7, Cause.STOPPED, "no look at the clock for 7s: the engine was stopped or starved"),
        (3601, 1, 1, Cause.CLOCK, "the wall clock moved by 1h1s while 1s went by"),
        (-7200, 1, 1, Cause.CLOCK, "the wall clock moved by -2h while 1s went by"),
        (0.5, 10, 10, Cause.CLOCK, "the wall clock moved by 0s while 10s went by"),
        (
            8 * H,
            1,
            None,
            Cause.ASLEEP,
            (
                "the wall clock moved by 8h while the engine ran for 1s: "
                "the machine slept, or its clock was set forward"
            ),
        ),
        (-60, 1, None, Cause.CLOCK, "the wall clock moved by -1m while 1s went by"),
        (6, 6, None, Cause.STOPPED, "no look at the clock for 6s: the engine was stopped or starved"),
    ],
)
def test_each_cause_is_told_apart(
    wall: float, ran: float, passed: float | None, cause: Cause, evidence: str
) -> None:
    gap = looks(wall, ran, passed)
    assert gap is not None
    assert (gap.cause, gap.evidence, gap.from_at) == (cause, evidence, NOW)
    assert gap.length == timedelta(seconds=wall)


@pytest.mark.parametrize(("wall", "ran", "passed"), [(1, 1, 1), (1, 1, None), (4.9, 4.9, 4.9), (1.5, 1, 1)])
def test_an_ordinary_second_is_no_gap(wall: float, ran: float, passed: float | None) -> None:
    assert looks(wall, ran, passed) is None


def test_the_time_without_an_engine_is_a_gap_with_its_last_sign_of_life() -> None:
    gap = off(NOW, NOW + timedelta(hours=1), cleanly=False)
    assert gap is not None
    assert (gap.cause, gap.evidence) == (Cause.OFF, "its last sign of life before it was killed")
    stopped = off(NOW, NOW + timedelta(hours=1), cleanly=True)
    assert stopped is not None
    assert stopped.evidence == "it was stopped"


def test_a_quick_restart_is_no_gap() -> None:
    assert off(NOW, NOW + timedelta(seconds=3), cleanly=True) is None


def test_a_clock_that_went_back_while_it_was_off_is_seen() -> None:
    gap = off(NOW, NOW - timedelta(hours=1), cleanly=True)
    assert gap is not None
    assert gap.length == timedelta(hours=-1)
