"""`TOCSIN_REQUIRE_ALL=1` (set by `.ci/run`): a test that is skipped for want of something fails instead.

State machines then live through more lives as well.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

MISSING: Final = ("is not installed", "needs ")
"""How reasons are worded that an installation can mend; "root may write anywhere" is none of them."""


def is_missing(reason: str) -> bool:
    """Whether a skip's reason names something that could have been there."""
    return any(words in reason for words in MISSING)


LIVES: Final = 20  # of a state machine in each of its shares, while somebody waits for `make test`
LIVES_IN_CI: Final = 250
SHARES: Final = 8  # a test that takes longer than faulthandler_timeout is taken for one that hangs
STEPS: Final = 18  # what goes wrong goes wrong early in a short life; hypothesis shrinks short ones faster


def is_thorough() -> bool:
    """Whether every test has to run, and as often as it deserves."""
    return os.environ.get("TOCSIN_REQUIRE_ALL") == "1"


def stateful() -> settings:
    """How often a state machine is run; slow machines and thoughtful rules are no fault."""
    return settings(
        max_examples=LIVES_IN_CI if is_thorough() else LIVES,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=False,  # each share, and each day, tries other lives
        suppress_health_check=list(HealthCheck),
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn such a skip into a failure."""
    report = yield
    if is_thorough() and report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if is_missing(reason):
            report.outcome = "failed"
            report.longrepr = f"required by TOCSIN_REQUIRE_ALL: {reason}"
    return report
