"""When the machine sleeps, each day by a zone's clock. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from tocsin.zones import first_pass, wall_at

DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nights:
    """The machine sleeps each day from `start` to `end` by the zone's clock, over midnight too."""

    start: time
    end: time
    tz: ZoneInfo

    def awake(self, at: datetime) -> datetime:
        """The first instant from `at` on at which the machine is awake."""
        today = wall_at(self.tz, at).date()
        for day in (today - DAY, today):
            begins, ends = self._night(day)
            if begins <= at < ends:
                return ends
        return at

    def _night(self, day: date) -> tuple[datetime, datetime]:
        last = day + DAY if self.end <= self.start else day
        begins = first_pass(self.tz, datetime.combine(day, self.start))
        return begins, first_pass(self.tz, datetime.combine(last, self.end))
