"""What the end of a command means."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tocsin.engine.runners.verdict import End, Stop, outcome
from tocsin.engine.runners.wording import one_line
from tocsin.runs import Outcome, Outputs, Verdict
from tocsin.settings import Workflow


def judged(
    end: End, problem: str | None = None, timeout: timedelta | None = None
) -> tuple[Verdict, str | None]:
    workflow = Workflow(name="w", permanent_exit_codes=(0, 65, 75), timeout=timeout)
    done = outcome(end, workflow, Outputs(), problem)
    return done.verdict, done.error


@pytest.mark.parametrize(
    ("code", "verdict", "error"),
    [
        (0, Verdict.SUCCEEDED, None),
        (1, Verdict.FAILED, "exit code 1"),
        (65, Verdict.FAILED_PERMANENTLY, "exit code 65"),
        (75, Verdict.FAILED, "exit code 75"),
        (-9, Verdict.FAILED, "killed by SIGKILL"),
        (-11, Verdict.FAILED, "killed by SIGSEGV"),
        (-40, Verdict.FAILED, "killed by signal 40"),
    ],
)
def test_the_exit_decides(code: int, verdict: Verdict, error: str | None) -> None:
    assert judged(End(returncode=code)) == (verdict, error)


def test_exit_code_or_signal_never_both() -> None:
    killed = outcome(End(returncode=-9), Workflow(name="w"), Outputs(), None)
    assert killed == Outcome(verdict=Verdict.FAILED, signal="SIGKILL", error="killed by SIGKILL")
    exited = outcome(End(returncode=2, last_words="no"), Workflow(name="w"), Outputs(), "bad output")
    assert exited == Outcome(verdict=Verdict.FAILED, exit_code=2, error="exit code 2: no")


def test_bad_outputs_fail_an_exit_with_0_though_not_for_good() -> None:
    assert judged(End(returncode=0), "output line 1 is not JSON") == (
        Verdict.FAILED,
        "output line 1 is not JSON",
    )


@pytest.mark.parametrize(
    ("length", "told"),
    [
        (timedelta(seconds=1), "timed out after 1s"),
        (timedelta(minutes=10), "timed out after 10m"),
        (timedelta(milliseconds=500), "timed out after 500ms"),
    ],
)
def test_a_timeout_says_after_how_long(length: timedelta, told: str) -> None:
    end = End(returncode=0, stop=Stop.TIMED_OUT, by_itself=False)
    assert judged(end, timeout=length) == (Verdict.FAILED, told)


def test_a_stopped_run_is_cancelled_or_interrupted_however_it_exits() -> None:
    for code in (0, 1, -15):
        cancelled = judged(End(returncode=code, stop=Stop.CANCELLED, by_itself=False))
        interrupted = judged(End(returncode=code, stop=Stop.INTERRUPTED, by_itself=False))
        assert (cancelled[0], interrupted[0]) == (Verdict.CANCELLED, Verdict.INTERRUPTED)


def test_a_stop_that_came_too_late_leaves_the_true_end() -> None:
    for stop in Stop:
        assert judged(End(returncode=0, stop=stop))[0] is Verdict.SUCCEEDED
    assert judged(End(returncode=3, stop=Stop.INTERRUPTED)) == (Verdict.FAILED, "exit code 3")
    assert judged(End(returncode=3, stop=Stop.CANCELLED)) == (Verdict.CANCELLED, "exit code 3")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"plain", "plain"),
        (b"  two\t\twords \r", "two words"),
        (b"\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07", "red link"),
        (b"a\x00b\x07c\x7f", "a b c"),
        (b"caf\xe9", "caf\ufffd"),
        ("right\u202eleft\nnext".encode(), "right left next"),
        (b"x" * 500, "x" * 199 + "…"),
        (b"[/bold] :smile:", "[/bold] :smile:"),
    ],
)
def test_foreign_text_becomes_one_plain_line(text: bytes, line: str) -> None:
    assert one_line(text) == line
