"""What a run's end means: the one place that decides it.

A pure function of (registration, attempts, outcome, now). ``engine.settling`` writes the answer
down; nothing else interprets an outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final, TypeAlias

from tocsin.errors import InvalidSchedule
from tocsin.registration import DisabledReason, Registration
from tocsin.retry import backoff
from tocsin.run import Outcome, RunState, Verdict
from tocsin.schedule import SelfSchedule, self_scheduled


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The event succeeded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryAt:
    """Another attempt is due then."""

    at: datetime
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp:
    """The event failed: attempts are used up, or no other attempt can help."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """The attempt is given back: it does not count, and the event is due at once."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """The event will not run any more."""

    reason: str


Ending: TypeAlias = Done | RetryAt | GaveUp | Released | Dropped


class Streak(Enum):
    """What becomes of `consecutive_failures`."""

    RESET = "reset"
    ADD = "add"
    KEEP = "keep"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disarm:
    """The registration is turned off. detail: one line for people."""

    reason: DisabledReason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """Everything that changes when a run has ended. error: one line, None after a success."""

    ending: Ending
    run_state: RunState
    error: str | None
    streak: Streak
    next_fire: SelfSchedule | None = None
    disarm: Disarm | None = None


RUN_STATES: Final = {
    Verdict.SUCCEEDED: RunState.SUCCEEDED,
    Verdict.FAILED: RunState.FAILED,
    Verdict.FAILED_PERMANENTLY: RunState.FAILED,
    Verdict.CANCELLED: RunState.CANCELLED,
    Verdict.INTERRUPTED: RunState.CANCELLED,
    Verdict.LOST: RunState.LOST,
}


def settle(registration: Registration, *, attempts: int, outcome: Outcome, now: datetime) -> Settlement:
    """Decide. attempts: how many this event has had, this one included (counted by the claim)."""
    try:
        next_fire = planned_by_run(outcome, now)
    except InvalidSchedule as error:
        return failed(registration, attempts=attempts, outcome=outcome, error=str(error), now=now)
    if outcome.verdict is Verdict.SUCCEEDED:
        return succeeded(registration, next_fire, now)
    return failed(
        registration, attempts=attempts, outcome=outcome, error=outcome.error, now=now, next_fire=next_fire
    )


def planned_by_run(outcome: Outcome, now: datetime) -> SelfSchedule | None:
    """What the run said about its next fire; None when it said nothing. Raises InvalidSchedule."""
    if "next_fire_at" not in outcome.outputs.present:
        return None
    return self_scheduled(outcome.outputs.next_fire_at, now=now)


def succeeded(registration: Registration, next_fire: SelfSchedule | None, now: datetime) -> Settlement:
    successes, limit = registration.runs_since_armed + 1, registration.spec.max_runs
    disarm = None
    if limit is not None and successes >= limit:
        disarm = Disarm(reason=DisabledReason.MAX_RUNS, detail=f"{successes} of max_runs = {limit} successes")
    return Settlement(
        ending=Done(),
        run_state=RunState.SUCCEEDED,
        error=None,
        streak=Streak.RESET,
        next_fire=next_fire,
        disarm=disarm or expiring(registration, next_fire, now),
    )


def failed(
    registration: Registration,
    *,
    attempts: int,
    outcome: Outcome,
    error: str | None,
    now: datetime,
    next_fire: SelfSchedule | None = None,
) -> Settlement:
    """Every end but a success. A self-scheduled next fire counts only if the event ends with it."""
    ending = after_failure(registration, attempts=attempts, outcome=outcome, now=now)
    counts = outcome.verdict in (Verdict.FAILED, Verdict.FAILED_PERMANENTLY, Verdict.SUCCEEDED)
    ended = isinstance(ending, GaveUp)
    state = RUN_STATES[outcome.verdict]
    disarm = too_many_failures(registration) if counts else None
    return Settlement(
        ending=ending,
        run_state=RunState.FAILED if state is RunState.SUCCEEDED else state,
        error=error or outcome.verdict.value,
        streak=Streak.ADD if counts else Streak.KEEP,
        next_fire=next_fire if ended else None,
        disarm=disarm or (expiring(registration, next_fire, now) if ended else None),
    )


def after_failure(registration: Registration, *, attempts: int, outcome: Outcome, now: datetime) -> Ending:
    """Retry, give up, give back or drop, whatever the error was."""
    match outcome.verdict:
        case Verdict.INTERRUPTED:
            return Released(reason="engine stopped")
        case Verdict.CANCELLED:
            return Dropped(reason="cancelled")
        case Verdict.FAILED_PERMANENTLY:
            return GaveUp(reason="permanent")
    if attempts >= registration.spec.max_attempts:
        return GaveUp(reason="attempts")
    off = registration.off_reason(now)
    if off is not None:
        return Dropped(reason=off)
    if outcome.verdict is Verdict.LOST:  # the crash was ours, not the command's: no reason to wait
        return RetryAt(at=now, reason="lost")
    return RetryAt(at=now + backoff(attempts), reason="retry")


def too_many_failures(registration: Registration) -> Disarm | None:
    failures, limit = registration.consecutive_failures + 1, registration.spec.disable_after
    if failures < limit:
        return None
    return Disarm(reason=DisabledReason.FAILURES, detail=f"{failures} failed attempts in a row")


def expiring(registration: Registration, next_fire: SelfSchedule | None, now: datetime) -> Disarm | None:
    """Disarm when the registration ends before it would fire again."""
    end = registration.spec.expires_at
    planned = registration.next_fire_at if next_fire is None else next_fire.at
    if end is None or (end > now and (planned is None or planned <= end)):
        return None
    return Disarm(reason=DisabledReason.EXPIRED, detail="the next fire would be after expires_at")
