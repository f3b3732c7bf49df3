"""The real clock. The only module that reads it; it has no setters (`FakeClock` lives in the tests)."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Implements `seams.Clock` with the machine's clocks."""

    def now(self) -> datetime:
        """The wall clock, aware, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start; stands still while some machines sleep."""
        return time.monotonic()

    def boottime(self) -> float | None:
        """Seconds since the machine's start, its sleep included; None where no clock tells that."""
        which = getattr(time, "CLOCK_BOOTTIME", None)
        return None if which is None else time.clock_gettime(which)
