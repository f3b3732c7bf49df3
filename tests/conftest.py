"""`TOCSIN_REQUIRE_ALL=1` (set by `.ci/run`): a test that is skipped for want of something fails instead."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Final

import pytest

MISSING: Final = ("is not installed", "needs ")
"""How reasons are worded that an installation can mend; "root may write anywhere" is none of them."""


def is_missing(reason: str) -> bool:
    """Whether a skip's reason names something that could have been there."""
    return any(words in reason for words in MISSING)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn such a skip into a failure."""
    report = yield
    if os.environ.get("TOCSIN_REQUIRE_ALL") == "1" and report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2]
        if is_missing(reason):
            report.outcome = "failed"
            report.longrepr = f"required by TOCSIN_REQUIRE_ALL: {reason}"
    return report
