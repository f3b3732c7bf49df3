"""What schedules will do, on a virtual clock: the engine's own decision, asked for a time to come. Pure.

Asked by `tocsin simulate`. Nothing is guessed about commands but how long they take: as long as they
took lately. Seats are not reckoned with: what waits for one is late, not otherwise decided.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

from tocsin import cron
from tocsin.event import Origin
from tocsin.instants import MICROSECOND
from tocsin.registration import Cron, Misfire, Overlap, Registration, Schedule
from tocsin.schedule import Decision, PlannedFire, decide, next_after
from tocsin.zones import first_pass, wall_at

DAY: Final = timedelta(days=1)


class What(StrEnum):
    """What happens at a step."""

    FIRE = "fire"
    CATCH_UP = "catch_up"
    SKIP = "skip"  # overlap
    MISS = "miss"  # misfire = "skip"
    WAIT = "wait"  # behind its lane's head
    END = "end"  # the trigger switches itself off


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happens. at: aware UTC, when it is decided. note: one line for people."""

    at: datetime
    registration: str
    what: What
    note: str | None = None


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


@dataclass(slots=True, kw_only=True)
class Trigger:
    """One registration under way through the virtual time. length: of its runs."""

    row: Registration
    length: timedelta
    due: datetime
    successes: int


@dataclass(slots=True, kw_only=True)
class Simulation:
    """A time to come.

    lengths: how long runs take, by registration id; none means no time at all. is_present: it begins
    now, with what is planned or overdue; else with each schedule's first instant from `start` on.
    """

    start: datetime
    until: datetime
    is_present: bool = False
    lengths: Mapping[str, timedelta] = field(default_factory=dict)
    nights: Nights | None = None
    _lanes: dict[str, datetime] = field(default_factory=dict)

    def steps(self, rows: Sequence[Registration]) -> Iterator[Step]:
        """Everything that happens from `start` to `until`, ascending; rows that are off do nothing."""
        queue: list[tuple[datetime, str, Trigger]] = []
        for row in rows:
            due = first_due(row, self.start, is_present=self.is_present)
            if due is not None:
                length = self.lengths.get(row.id, timedelta())
                trigger = Trigger(row=row, length=length, due=due, successes=row.runs_since_armed)
                heapq.heappush(queue, (self._look(trigger), row.spec.name, trigger))
        while queue and queue[0][0] <= self.until:
            now, name, trigger = heapq.heappop(queue)
            following = yield from self._decide(trigger, now)
            if following is not None:
                trigger.due = following
                heapq.heappush(queue, (self._look(trigger), name, trigger))

    def _look(self, trigger: Trigger) -> datetime:
        """When the engine looks at it next: when it is due or ends, once the machine is awake."""
        end = trigger.row.spec.expires_at
        at = max(trigger.due if end is None else min(trigger.due, end), self.start)
        return at if self.nights is None else self.nights.awake(at)

    def _decide(self, trigger: Trigger, now: datetime) -> Generator[Step, None, datetime | None]:
        """One look at a due trigger. Returns when it is due next; None when it has ended."""
        spec, due = trigger.row.spec, trigger.due
        if spec.expires_at is not None and spec.expires_at <= now:
            if due <= spec.expires_at:
                yield self._step(trigger, now, What.MISS, f"planned for {clock(due)}, before its end")
            yield self._step(trigger, now, What.END, "expires_at has passed")
            return None
        made = decide(
            spec.schedule, next_fire_at=due, now=now, anchor=trigger.row.armed_at, policy=spec.misfire
        )
        yield from self._missed(trigger, made, now)
        for fire in made.fires:
            yield self._fire(trigger, fire, now, each=len(made.fires) > 1)
            if spec.max_runs is not None and trigger.successes >= spec.max_runs:
                yield self._step(trigger, now, What.END, f"max_runs = {spec.max_runs} if all succeed")
                return None
        return made.next_fire_at

    def _missed(self, trigger: Trigger, made: Decision, now: datetime) -> Iterator[Step]:
        if made.skipped is not None:
            yield self._step(trigger, now, What.MISS, f"{made.skipped.count} missed, misfire = skip")

    def _fire(self, trigger: Trigger, fire: PlannedFire, now: datetime, *, each: bool) -> Step:
        spec, lane = trigger.row.spec, lane_of(trigger.row)
        busy_until = self._lanes.get(lane, now) if lane is not None else now
        begins = now
        what, note = What.FIRE, notes(spec.schedule, fire, now)
        if fire.origin is Origin.CATCH_UP:
            what = What.CATCH_UP
        if busy_until > now and lane is not None:
            queues = each and spec.misfire.misfire is Misfire.FIRE_ALL
            if spec.overlap is Overlap.SKIP and not queues:
                return self._step(trigger, now, What.SKIP, f"still running until {clock(busy_until)}")
            if spec.overlap is Overlap.REPLACE:
                note = joined(note, "replaces the one that runs")
            else:
                begins, what = busy_until, What.WAIT
                note = joined(note, f"starts at {clock(busy_until)}")
        if lane is not None:
            self._lanes[lane] = begins + trigger.length
        trigger.successes += 1
        return self._step(trigger, now, what, note)

    def _step(self, trigger: Trigger, at: datetime, what: What, note: str | None) -> Step:
        return Step(at=at, registration=trigger.row.spec.name, what=what, note=note)


def first_due(row: Registration, start: datetime, *, is_present: bool) -> datetime | None:
    """The first instant at which the row would fire, pauses reckoned with; None when it would not."""
    if row.off_reason(start) is not None or row.held_until_enabled or row.drift is not None:
        return None
    if row.paused_at is not None:
        if row.paused_until is None:
            return None
        start = max(start, row.paused_until)
    planned = row.next_fire_at
    if planned is not None and (planned >= start if row.next_fire_run else is_present and not row.paused_at):
        return planned
    return next_after(row.spec.schedule, after=start - MICROSECOND, anchor=row.armed_at)


def lane_of(row: Registration) -> str | None:
    """As admission has it, for what a schedule fires: nothing of it comes from a payload."""
    if row.spec.serialize_key is not None:
        return f"key:{row.spec.serialize_key}"
    return None if row.spec.overlap is Overlap.ALLOW else row.id


def notes(schedule: Schedule | None, fire: PlannedFire, now: datetime) -> str | None:
    """What is odd about a fire: how late, for how many it stands, what the clock's change does."""
    late = f"planned for {clock(fire.planned_at)}" if now - fire.planned_at >= MICROSECOND else None
    more = f"stands for {fire.missed} more" if fire.missed else None
    dst = None
    if isinstance(schedule, Cron):
        dst = cron.dst_note(cron.parse(schedule.expr), cron.zone(schedule.tz), fire.planned_at)
    return joined(late, more, dst)


def joined(*parts: str | None) -> str | None:
    """The notes there are, in one line."""
    found = [part for part in parts if part]
    return "; ".join(found) if found else None


def clock(at: datetime) -> str:
    """An instant in a note, in UTC."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
