"""`tocsin.settlement`: what a run's end means, for every verdict and every limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import failed, succeeded
from tocsin.registration import DisabledReason, Registration
from tocsin.runs import Outcome, Outputs, RunState, Verdict
from tocsin.schedule import SelfSchedule
from tocsin.settlement import (
    Disarm,
    Done,
    Dropped,
    Ending,
    GaveUp,
    Released,
    RetryAt,
    Settlement,
    Standing,
    Streak,
    settle,
)
from tocsin.trigger import NANOS, Budget, BudgetPeriod, Cron, Json, Kind, TriggerSpec

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ON = Registration(
    id="trg_1",
    spec=TriggerSpec(
        name="t",
        workflow="w",
        kind=Kind.SCHEDULE,
        component="cron",
        schedule=Cron(expr="0 * * * *", tz="UTC"),
        max_attempts=3,
        disable_after=5,
    ),
    installation_id="ins_1",
    workflow_version=1,
    next_fire_at=NOW + HOUR,
    armed_at=NOW,
    created_at=NOW,
)
OFF = replace(ON, enabled=False, disabled_reason=DisabledReason.USER)
EXPIRED = replace(ON, spec=replace(ON.spec, expires_at=NOW))
REMOVED = replace(OFF, removed_at=NOW)


def outcome(verdict: Verdict, **outputs: Json) -> Outcome:
    return replace(succeeded(**outputs), verdict=verdict, error=None)


def ending(registration: Registration, verdict: Verdict, attempts: int) -> Ending:
    return settle(registration, Standing(attempts=attempts), outcome(verdict), now=NOW).ending


def limited(registration: Registration = ON, **limits: object) -> Registration:
    return replace(registration, spec=replace(registration.spec, **limits))  # type: ignore[arg-type]


RETRY = RetryAt(at=NOW + timedelta(seconds=2), reason="retry")
AT_ONCE = RetryAt(at=NOW, reason="lost")
ATTEMPTS, PERMANENT = GaveUp(reason="attempts"), GaveUp(reason="permanent")
STOPPED, CANCELLED = Released(at=NOW, reason="engine stopped"), Dropped(reason="cancelled")


@pytest.mark.parametrize(
    ("verdict", "attempts_left", "attempts_used_up", "off"),
    [
        (Verdict.SUCCEEDED, Done(), Done(), Done()),
        (Verdict.FAILED, RETRY, ATTEMPTS, Dropped(reason="user")),
        (Verdict.FAILED_PERMANENTLY, PERMANENT, PERMANENT, PERMANENT),
        (Verdict.LOST, AT_ONCE, ATTEMPTS, Dropped(reason="user")),
        (Verdict.INTERRUPTED, STOPPED, STOPPED, STOPPED),
        (Verdict.CANCELLED, CANCELLED, CANCELLED, CANCELLED),
    ],
)
def test_the_table_of_endings(
    verdict: Verdict, attempts_left: Ending, attempts_used_up: Ending, off: Ending
) -> None:
    assert ending(ON, verdict, 1) == attempts_left
    assert ending(ON, verdict, 3) == attempts_used_up
    assert ending(OFF, verdict, 1) == off


@pytest.mark.parametrize(
    ("registration", "reason"), [(OFF, "user"), (EXPIRED, "expired"), (REMOVED, "removed")]
)
def test_nothing_is_retried_for_a_registration_that_is_not_active(
    registration: Registration, reason: str
) -> None:
    assert ending(registration, Verdict.FAILED, 1) == Dropped(reason=reason)


def test_a_last_attempt_fails_its_event_even_when_the_registration_is_off() -> None:
    assert ending(OFF, Verdict.FAILED, 3) == ATTEMPTS


@pytest.mark.parametrize(
    ("verdict", "run_state"),
    [
        (Verdict.FAILED, RunState.CANCELLED),
        (Verdict.FAILED_PERMANENTLY, RunState.CANCELLED),
        (Verdict.CANCELLED, RunState.CANCELLED),
        (Verdict.INTERRUPTED, RunState.CANCELLED),
        (Verdict.LOST, RunState.LOST),
    ],
)
def test_what_a_person_cancelled_is_dropped_whatever_ended_its_run(
    verdict: Verdict, run_state: RunState
) -> None:
    row = replace(ON, consecutive_failures=4)
    found = settle(
        row, Standing(attempts=1, cancelled="cancelled"), outcome(verdict, next_fire_at="2h"), now=NOW
    )
    assert (found.ending, found.run_state) == (CANCELLED, run_state)
    assert (found.streak, found.disarm, found.next_fire) == (Streak.KEEP, None, None)


def test_a_success_stands_even_when_a_cancel_came_for_it() -> None:
    standing = Standing(attempts=1, cancelled="cancelled")
    assert settle(ON, standing, succeeded(), now=NOW).ending == Done()
    spoilt = settle(ON, standing, succeeded(next_fire_at="nonsense"), now=NOW)
    assert (spoilt.ending, spoilt.streak) == (CANCELLED, Streak.KEEP)


@pytest.mark.parametrize("limit", [2, 4])
def test_an_attempt_that_a_person_allowed_is_the_last_one(limit: int) -> None:
    standing = Standing(attempts=limit, limit=limit)
    assert settle(ON, standing, failed(), now=NOW).ending == ATTEMPTS
    assert settle(ON, standing, outcome(Verdict.LOST), now=NOW).ending == ATTEMPTS
    assert settle(ON, standing, outcome(Verdict.INTERRUPTED), now=NOW).ending == STOPPED


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        (Verdict.SUCCEEDED, RunState.SUCCEEDED),
        (Verdict.FAILED, RunState.FAILED),
        (Verdict.FAILED_PERMANENTLY, RunState.FAILED),
        (Verdict.CANCELLED, RunState.CANCELLED),
        (Verdict.INTERRUPTED, RunState.CANCELLED),
        (Verdict.LOST, RunState.LOST),
    ],
)
def test_the_runs_own_state(verdict: Verdict, state: RunState) -> None:
    assert settle(ON, Standing(attempts=1), outcome(verdict), now=NOW).run_state is state


@pytest.mark.parametrize(
    ("verdict", "streak"),
    [
        (Verdict.SUCCEEDED, Streak.RESET),
        (Verdict.FAILED, Streak.ADD),
        (Verdict.FAILED_PERMANENTLY, Streak.ADD),
        (Verdict.CANCELLED, Streak.KEEP),
        (Verdict.INTERRUPTED, Streak.KEEP),
        (Verdict.LOST, Streak.KEEP),
    ],
)
def test_only_the_commands_own_failures_count_towards_the_streak(verdict: Verdict, streak: Streak) -> None:
    assert settle(ON, Standing(attempts=1), outcome(verdict), now=NOW).streak is streak


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 2), (2, 4), (8, 256), (9, 300), (40, 300)])
def test_a_retry_waits_twice_as_long_each_time(attempts: int, seconds: int) -> None:
    patient = limited(max_attempts=100)
    assert ending(patient, Verdict.FAILED, attempts) == RetryAt(
        at=NOW + timedelta(seconds=seconds), reason="retry"
    )


def test_an_error_is_always_named() -> None:
    assert settle(ON, Standing(attempts=1), failed("exit code 7"), now=NOW).error == "exit code 7"
    assert settle(ON, Standing(attempts=1), outcome(Verdict.LOST), now=NOW).error == "lost"
    assert settle(ON, Standing(attempts=1), succeeded(), now=NOW).error is None


class TestDisarm:
    def test_a_streak_that_reaches_disable_after(self) -> None:
        failing = replace(ON, consecutive_failures=4)
        assert settle(failing, Standing(attempts=1), failed(), now=NOW).disarm == Disarm(
            reason=DisabledReason.FAILURES, detail="5 failed attempts in a row"
        )
        assert (
            settle(replace(ON, consecutive_failures=3), Standing(attempts=1), failed(), now=NOW).disarm
            is None
        )

    @pytest.mark.parametrize("verdict", [Verdict.CANCELLED, Verdict.INTERRUPTED, Verdict.LOST])
    def test_no_streak_grows_from_what_the_command_did_not_do(self, verdict: Verdict) -> None:
        failing = replace(ON, consecutive_failures=4)
        assert settle(failing, Standing(attempts=3), outcome(verdict), now=NOW).disarm is None

    def test_the_last_success_that_max_runs_allows(self) -> None:
        found = settle(limited(max_runs=1), Standing(attempts=1), succeeded(), now=NOW)
        assert found.disarm == Disarm(reason=DisabledReason.MAX_RUNS, detail="1 of max_runs = 1 successes")

    def test_max_runs_counts_successes_since_it_was_armed(self) -> None:
        def disarm(since_armed: int) -> Disarm | None:
            row = replace(limited(max_runs=3), runs_since_armed=since_armed, run_count=50)
            return settle(row, Standing(attempts=1), succeeded(), now=NOW).disarm

        assert disarm(1) is None
        assert disarm(2) is not None

    def test_a_failure_is_no_run_of_max_runs(self) -> None:
        assert settle(limited(max_runs=1), Standing(attempts=1), failed(), now=NOW).disarm is None

    @pytest.mark.parametrize(
        ("expires_in", "is_over"), [(HOUR - timedelta(seconds=1), True), (HOUR, False), (2 * HOUR, False)]
    )
    def test_a_next_fire_after_the_end(self, expires_in: timedelta, is_over: bool) -> None:
        row = limited(expires_at=NOW + expires_in)
        found = settle(row, Standing(attempts=1), succeeded(), now=NOW).disarm
        assert (None if found is None else found.reason) == (DisabledReason.EXPIRED if is_over else None)

    def test_a_next_fire_that_the_run_named_after_the_end(self) -> None:
        row = limited(expires_at=NOW + 2 * HOUR)
        found = settle(row, Standing(attempts=1), succeeded(next_fire_at="3h"), now=NOW).disarm
        assert found is not None
        assert found.reason is DisabledReason.EXPIRED

    def test_an_event_driven_trigger_lives_until_its_end(self) -> None:
        row = replace(limited(expires_at=NOW + HOUR), next_fire_at=None)
        assert settle(row, Standing(attempts=1), succeeded(), now=NOW).disarm is None
        assert settle(row, Standing(attempts=1), succeeded(), now=NOW + HOUR).disarm is not None

    def test_a_retry_is_made_even_when_the_next_fire_lies_after_the_end(self) -> None:
        row = limited(expires_at=NOW + HOUR / 2)
        found = settle(row, Standing(attempts=1), failed(), now=NOW)
        assert (found.ending, found.disarm) == (RETRY, None)


class TestNextFire:
    def test_said_by_a_success(self) -> None:
        found = settle(ON, Standing(attempts=1), succeeded(next_fire_at="2h"), now=NOW)
        assert found.next_fire == SelfSchedule(at=NOW + 2 * HOUR)

    @pytest.mark.parametrize("value", ["never", None])
    def test_never(self, value: Json) -> None:
        found = settle(ON, Standing(attempts=1), succeeded(next_fire_at=value), now=NOW)
        assert found.next_fire == SelfSchedule(at=None)

    def test_not_said(self) -> None:
        assert settle(ON, Standing(attempts=1), succeeded(state={}), now=NOW).next_fire is None

    def test_of_a_failed_run_counts_only_when_it_ends_the_event(self) -> None:
        wish = failed(next_fire_at="2h")
        assert settle(ON, Standing(attempts=1), wish, now=NOW).next_fire is None
        assert settle(ON, Standing(attempts=3), wish, now=NOW).next_fire == SelfSchedule(at=NOW + 2 * HOUR)

    def test_kept_within_its_bounds_and_said_so(self) -> None:
        found = settle(ON, Standing(attempts=1), succeeded(next_fire_at="0s"), now=NOW).next_fire
        assert found is not None
        assert found.at == NOW + timedelta(seconds=1)
        assert found.note is not None

    @pytest.mark.parametrize("value", ["tomorrow", "", 5, True, [], "2026-01-01T00:00:00"])
    def test_not_understood_fails_the_run(self, value: Json) -> None:
        found = settle(ON, Standing(attempts=1), succeeded(next_fire_at=value), now=NOW)
        assert found.ending == RETRY
        assert found.run_state is RunState.FAILED
        assert found.streak is Streak.ADD
        assert found.error is not None
        assert found.error.startswith("next_fire_at ")


def settlements() -> st.SearchStrategy[Settlement]:
    moments = st.none() | st.integers(-5, 5).map(lambda hours: NOW + hours * HOUR)
    wishes = st.sampled_from([None, "never", "1h", "0s", "nonsense"])

    def build(
        verdict: Verdict,
        attempts: int,
        enabled: bool,
        failures: int,
        runs: int,
        limits: tuple[int | None, datetime | None],
        wish: str | None,
    ) -> Settlement:
        row = replace(
            limited(max_runs=limits[0], expires_at=limits[1]),
            enabled=enabled,
            disabled_reason=None if enabled else DisabledReason.USER,
            consecutive_failures=failures,
            runs_since_armed=runs,
        )
        said: dict[str, Json] = {} if wish is None else {"next_fire_at": wish}
        return settle(row, Standing(attempts=attempts), outcome(verdict, **said), now=NOW)

    return st.builds(
        build,
        st.sampled_from(Verdict),
        st.integers(1, 5),
        st.booleans(),
        st.integers(0, 6),
        st.integers(0, 4),
        st.tuples(st.none() | st.integers(1, 3), moments),
        wishes,
    )


@given(settlements())
def test_whatever_happens_success_and_error_agree(found: Settlement) -> None:
    is_done = isinstance(found.ending, Done)
    assert is_done == (found.error is None) == (found.run_state is RunState.SUCCEEDED)
    assert is_done == (found.streak is Streak.RESET)


@given(settlements())
def test_whatever_happens_a_retry_is_never_in_the_past(found: Settlement) -> None:
    if isinstance(found.ending, RetryAt):
        assert NOW <= found.ending.at <= NOW + timedelta(seconds=300)


@given(settlements())
def test_whatever_happens_only_an_ended_event_plans_a_next_fire(found: Settlement) -> None:
    assert found.next_fire is None or isinstance(found.ending, Done | GaveUp)


def test_absent_and_null_outputs_differ() -> None:
    assert outcome(Verdict.SUCCEEDED).outputs == Outputs()
    assert outcome(Verdict.SUCCEEDED, state=None).outputs.present == {"state"}


class TestBudget:
    """spent counts this run; reaching max_usd is enough, however the run ended."""

    POOR = replace(
        ON, spec=replace(ON.spec, budget=Budget(max_nanos=NANOS, period=BudgetPeriod.DAY, tz="UTC"))
    )
    GONE = Disarm(reason=DisabledReason.BUDGET, detail="$1.00 of $1.00 today")

    @pytest.mark.parametrize("verdict", list(Verdict))
    def test_what_is_used_up_disarms(self, verdict: Verdict) -> None:
        found = settle(self.POOR, Standing(attempts=1, spent=NANOS), outcome(verdict), now=NOW)
        assert found.disarm == self.GONE
        assert replace(found, disarm=None) == settle(ON, Standing(attempts=1), outcome(verdict), now=NOW)

    def test_what_is_left_does_not(self) -> None:
        found = settle(self.POOR, Standing(attempts=1, spent=NANOS - 1), succeeded(), now=NOW)
        assert found.disarm is None

    def test_without_a_budget_money_is_no_matter(self) -> None:
        assert settle(ON, Standing(attempts=1, spent=10**18), succeeded(), now=NOW).disarm is None

    def test_it_is_named_before_the_other_reasons(self) -> None:
        """One `enable` then lifts them all; else the budget would disarm it at once again."""
        last = replace(self.POOR, spec=replace(self.POOR.spec, max_runs=1))
        assert settle(last, Standing(attempts=1, spent=NANOS), succeeded(), now=NOW).disarm == self.GONE
