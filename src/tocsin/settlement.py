"""What a run's end means: the one place that decides it.

A pure function of (registration, what the event's row says, outcome, now). ``engine.settling``
writes the answer down; nothing else interprets an outcome.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeAlias

from tocsin.budget import is_used_up, spent_of
from tocsin.errors import InvalidSchedule
from tocsin.registration import DisabledReason, Registration
from tocsin.retry import backoff
from tocsin.runs import Outcome, RunState, Verdict
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
    """The attempt is given back: it does not count, and the event is due then."""

    at: datetime
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
    Verdict.UNAVAILABLE: RunState.FAILED,
}

UNAVAILABLE_PAUSE: Final = timedelta(seconds=10)  # a full disk takes a person's hand


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the event's row says at the end of a run.

    attempts: how many it has had, this one included (counted by the claim). limit: its last attempt
    where a person allowed one more, else None. cancelled: why it is to be stopped, None when it is not.
    spent: what counts against the trigger's budget, in billionths of a dollar, this run's cost included.
    others: whether more events of the trigger wait or run.
    """

    attempts: int
    limit: int | None = None
    cancelled: str | None = None
    spent: int = 0
    others: bool = False


def settle(registration: Registration, standing: Standing, outcome: Outcome, *, now: datetime) -> Settlement:
    """Decide."""
    next_fire = None
    try:
        next_fire = planned_by_run(outcome, now)
    except InvalidSchedule as error:
        outcome = spoilt(outcome, str(error))
    if standing.cancelled is not None:
        outcome = stopped(outcome)
    if outcome.verdict is Verdict.SUCCEEDED:
        settlement = succeeded(registration, next_fire, now)
    else:
        ending = after_failure(registration, standing, outcome, now)
        settlement = failed(registration, ending, outcome, now=now, next_fire=next_fire)
    if standing.others and ends_early(registration, settlement, now):
        settlement = replace(settlement, disarm=None)  # whichever of them is the last will end it
    broke = overspent(registration, standing.spent)
    return settlement if broke is None else replace(settlement, disarm=broke)


def ends_early(registration: Registration, settlement: Settlement, now: datetime) -> bool:
    """Whether it is disarmed before its end has come, for want of a further fire."""
    stop, end = settlement.disarm, registration.spec.expires_at
    return stop is not None and stop.reason is DisabledReason.EXPIRED and end is not None and end > now


def spoilt(outcome: Outcome, error: str) -> Outcome:
    """A run whose outputs cannot be used has failed, whatever its exit code."""
    succeeded = outcome.verdict is Verdict.SUCCEEDED
    return replace(outcome, verdict=Verdict.FAILED if succeeded else outcome.verdict, error=error)


def stopped(outcome: Outcome) -> Outcome:
    """A run that a person wanted stopped was cancelled, unless it succeeded or was lost with its engine."""
    if outcome.verdict in (Verdict.SUCCEEDED, Verdict.LOST):
        return outcome
    return replace(outcome, verdict=Verdict.CANCELLED)


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
    ending: Ending,
    outcome: Outcome,
    *,
    now: datetime,
    next_fire: SelfSchedule | None,
) -> Settlement:
    """Every end but a success. A self-scheduled next fire counts only if the event ends with it."""
    counts = outcome.verdict in (Verdict.FAILED, Verdict.FAILED_PERMANENTLY)
    disarm = too_many_failures(registration) if counts else None
    if disarm is not None and isinstance(ending, RetryAt):  # no retry comes: this is its end
        ending = GaveUp(reason=disarm.reason)
    ended = isinstance(ending, GaveUp)
    return Settlement(
        ending=ending,
        run_state=RUN_STATES[outcome.verdict],
        error=outcome.error or outcome.verdict.value,
        streak=Streak.ADD if counts else Streak.KEEP,
        next_fire=next_fire if ended else None,
        disarm=disarm or (expiring(registration, next_fire, now) if ended else None),
    )


def after_failure(registration: Registration, standing: Standing, outcome: Outcome, now: datetime) -> Ending:
    """Retry, give up, give back or drop, whatever the error was."""
    if standing.cancelled is not None or outcome.verdict is Verdict.CANCELLED:
        return Dropped(reason=standing.cancelled or "cancelled")
    if outcome.verdict is Verdict.INTERRUPTED:
        return Released(at=now, reason="engine stopped")
    if outcome.verdict is Verdict.UNAVAILABLE:
        return Released(at=now + UNAVAILABLE_PAUSE, reason="runner unavailable")
    if outcome.verdict is Verdict.FAILED_PERMANENTLY:
        return GaveUp(reason="permanent")
    if standing.attempts >= (standing.limit or registration.spec.max_attempts):
        return GaveUp(reason="attempts")
    off = registration.off_reason(now)
    if off is not None:
        return Dropped(reason=off)
    if outcome.verdict is Verdict.LOST:  # the crash was ours, not the command's: no reason to wait
        return RetryAt(at=now, reason="lost")
    return RetryAt(at=now + backoff(standing.attempts), reason="retry")


def too_many_failures(registration: Registration) -> Disarm | None:
    failures, limit = registration.consecutive_failures + 1, registration.spec.disable_after
    if failures < limit:
        return None
    return Disarm(reason=DisabledReason.FAILURES, detail=f"{failures} failed attempts in a row")


def overspent(registration: Registration, spent: int) -> Disarm | None:
    """Disarm when the budget is used up, however the run ended; a retry would be dropped with it."""
    budget = registration.spec.budget
    if budget is None or not is_used_up(budget, spent):
        return None
    return Disarm(reason=DisabledReason.BUDGET, detail=spent_of(spent, budget))


def expiring(registration: Registration, next_fire: SelfSchedule | None, now: datetime) -> Disarm | None:
    """Disarm when the registration ends before it would fire again."""
    end = registration.spec.expires_at
    planned = registration.next_fire_at if next_fire is None else next_fire.at
    if end is None or (end > now and (planned is None or planned <= end)):
        return None
    return Disarm(reason=DisabledReason.EXPIRED, detail="the next fire would be after expires_at")
