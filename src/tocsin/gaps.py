"""Stretches in which the engine could not decide: what two looks at the clocks say. Pure.

``daemon.pulse`` takes the looks, ``engine.gap_ledger`` writes down what is found and what it cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from tocsin.duration import format_duration

LATE: Final = timedelta(seconds=5)  # the loops look once a second; a busy machine may be a few late
DRIFT: Final = timedelta(seconds=2)  # clocks that are kept in step differ by less between two looks


class Cause(StrEnum):
    """Why nothing could be decided."""

    OFF = "off"  # no engine was running
    ASLEEP = "asleep"  # the machine was suspended
    STOPPED = "stopped"  # the engine's process stood still while the machine ran
    CLOCK = "clock"  # somebody set the wall clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All clocks at one instant.

    wall: aware UTC. monotonic, boottime: seconds; monotonic stands still while the machine sleeps,
    boottime goes on. boottime is None where the system has no such clock.
    """

    wall: datetime
    monotonic: float
    boottime: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """from_at to to_at by the wall clock, which may have gone back. evidence: one line for people."""

    from_at: datetime
    to_at: datetime
    cause: Cause
    evidence: str

    @property
    def length(self) -> timedelta:
        """How far the wall clock went; negative when it was set back."""
        return self.to_at - self.from_at


def between(before: Look, after: Look) -> Gap | None:
    """What kept the engine from looking between two looks; None when nothing did."""
    wall = after.wall - before.wall
    ran = timedelta(seconds=after.monotonic - before.monotonic)
    passed = elapsed(before, after)
    if passed is None:  # a sleep and a clock set forward look alike
        return found(before, after, *without_boottime(wall, ran))
    if abs(wall - passed) > DRIFT:
        said = f"the wall clock moved by {signed(wall)} while {signed(passed)} went by"
        return found(before, after, Cause.CLOCK, said)
    if passed - ran > DRIFT:
        said = f"the machine was suspended for {signed(passed - ran)}"
        return found(before, after, Cause.ASLEEP, said)
    return found(before, after, *stopped(ran))


def elapsed(before: Look, after: Look) -> timedelta | None:
    """The time that went by, sleep included; None where no clock tells."""
    if before.boottime is None or after.boottime is None:
        return None
    return timedelta(seconds=after.boottime - before.boottime)


def without_boottime(wall: timedelta, ran: timedelta) -> tuple[Cause | None, str]:
    if wall - ran > DRIFT:
        said = f"the wall clock moved by {signed(wall)} while the engine ran for {signed(ran)}"
        return Cause.ASLEEP, f"{said}: the machine slept, or its clock was set forward"
    if ran - wall > DRIFT:
        return Cause.CLOCK, f"the wall clock moved by {signed(wall)} while {signed(ran)} went by"
    return stopped(ran)


def stopped(ran: timedelta) -> tuple[Cause | None, str]:
    if ran <= LATE:
        return None, ""
    return Cause.STOPPED, f"no look at the clock for {signed(ran)}: the engine was stopped or starved"


def found(before: Look, after: Look, cause: Cause | None, evidence: str) -> Gap | None:
    if cause is None:
        return None
    return Gap(from_at=before.wall, to_at=after.wall, cause=cause, evidence=evidence)


def off(last: datetime, now: datetime, *, cleanly: bool) -> Gap | None:
    """No engine since `last`, its last sign of life; None when that is too short to matter."""
    if abs(now - last) <= LATE:
        return None
    said = "it was stopped" if cleanly else "its last sign of life before it was killed"
    return Gap(from_at=last, to_at=now, cause=Cause.OFF, evidence=said)


def signed(length: timedelta) -> str:
    """`8h`, `-2h`; whole seconds, for that is how exactly a gap is known."""
    seconds = timedelta(seconds=round(abs(length).total_seconds()))
    return f"{'-' if length < timedelta() else ''}{format_duration(seconds)}"
