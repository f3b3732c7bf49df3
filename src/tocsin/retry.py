"""How long to wait before the next attempt."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

CEILING_S: Final = 300  # a failing event is looked at again within five minutes


def backoff(attempts: int) -> timedelta:
    """min(2^attempts, 300) seconds; `attempts` counts the one that has just failed."""
    return timedelta(seconds=min(2 ** min(attempts, 16), CEILING_S))
