"""`tocsin.retry`: min(2^attempts, 300) seconds."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.retry import backoff


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [(0, 1), (1, 2), (2, 4), (3, 8), (4, 16), (8, 256), (9, 300), (16, 300), (17, 300), (10_000, 300)],
)
def test_the_wait_doubles_up_to_five_minutes(attempts: int, seconds: int) -> None:
    assert backoff(attempts) == timedelta(seconds=seconds)


@given(st.integers(min_value=0, max_value=1_000_000))
def test_the_wait_never_shrinks_and_never_passes_its_ceiling(attempts: int) -> None:
    assert timedelta(0) < backoff(attempts) <= backoff(attempts + 1) <= timedelta(seconds=300)
