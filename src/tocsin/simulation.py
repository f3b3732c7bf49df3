"""What schedules will do, on a virtual clock: the engine's own decision, asked for a time to come. Pure.

Asked by `tocsin simulate`. Nothing is guessed about commands but how long they take: as long as they
took lately. Seats are not reckoned with: what waits for one is late, not otherwise decided.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from tocsin import cron
from tocsin.event import Origin
from tocsin.instants import MICROSECOND
from tocsin.keysource import lane_without_payload
from tocsin.nights import Nights
from tocsin.passing import passed, put_off
from tocsin.registration import Registration
from tocsin.schedule import Decision, PlannedFire, decide, next_after
from tocsin.trigger import Cron, Misfire, Overlap, Schedule


def clock(at: datetime) -> str:
    """An instant in a note, in UTC."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


class What(StrEnum):
    """What happens at a step."""

    FIRE = "fire"
    CATCH_UP = "catch_up"
    SKIP = "skip"  # overlap, or a pause
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


@dataclass(slots=True, kw_only=True)
class Trigger:
    """One registration under way through the virtual time. length: of its runs.

    resumes: the end of its pause; None when it is not paused.
    """

    row: Registration
    length: timedelta
    due: datetime
    resumes: datetime | None
    successes: int


@dataclass(slots=True, kw_only=True)
class Simulation:
    """A time to come.

    lengths: how long runs take, by registration id; none means no time at all. is_present: it begins
    now, with what is planned or overdue; else with each schedule's first instant from `start` on.
    busy: until when lanes are taken at the start, by what runs and waits then. tell: instants in notes.
    """

    start: datetime
    until: datetime
    is_present: bool = False
    lengths: Mapping[str, timedelta] = field(default_factory=dict)
    nights: Nights | None = None
    busy: Mapping[str, datetime] = field(default_factory=dict)
    tell: Callable[[datetime], str] = clock
    _lanes: dict[str, datetime] = field(default_factory=dict)

    def steps(self, rows: Sequence[Registration]) -> Iterator[Step]:
        """Everything that happens from `start` to `until`, ascending; rows that are off do nothing."""
        self._lanes = dict(self.busy)
        queue: list[tuple[datetime, str, Trigger]] = []
        for row in rows:
            trigger = self._begun(row)
            if trigger is not None:
                heapq.heappush(queue, (self._look(trigger), row.spec.name, trigger))
        while queue and queue[0][0] <= self.until:
            now, name, trigger = heapq.heappop(queue)
            following = yield from self._decide(trigger, now)
            if following is not None:
                trigger.due = following
                heapq.heappush(queue, (self._look(trigger), name, trigger))

    def _begun(self, row: Registration) -> Trigger | None:
        due = first_due(row, self.start, is_present=self.is_present)
        if due is None:
            return None
        length = self.lengths.get(row.id, timedelta())
        resumes = None if row.paused_at is None else row.paused_until
        return Trigger(row=row, length=length, due=due, resumes=resumes, successes=row.runs_since_armed)

    def _look(self, trigger: Trigger) -> datetime:
        """When the engine looks at it next, once the machine is awake: it is due, goes on, or ends."""
        at, end = trigger.resumes or trigger.due, trigger.row.spec.expires_at
        at = max(at if end is None else min(at, end), self.start)
        return at if self.nights is None else self.nights.awake(at)

    def _decide(self, trigger: Trigger, now: datetime) -> Generator[Step, None, datetime | None]:
        """One look at a due trigger. Returns when it is due next; None when it has ended."""
        end = trigger.row.spec.expires_at
        if end is not None and end <= now:
            yield from self._expire(trigger, end, now)
            return None
        if trigger.resumes is not None:
            resumes, trigger.resumes = trigger.resumes, None
            return (yield from self._let_go(trigger, resumes, now))
        made = decision(trigger.row, trigger.due, now)
        if made.skipped is not None:
            yield self._step(trigger, now, What.MISS, f"{made.skipped.count} missed, misfire = skip")
        ended = yield from self._fires(trigger, made, now)
        return None if ended else made.next_fire_at

    def _expire(self, trigger: Trigger, end: datetime, now: datetime) -> Iterator[Step]:
        if trigger.resumes is not None:
            yield from self._let_go(trigger, end + MICROSECOND, now)
        elif trigger.due <= end:
            yield self._step(trigger, now, What.MISS, f"planned for {self.tell(trigger.due)}, before its end")
        yield self._step(trigger, now, What.END, "expires_at has passed")

    def _let_go(
        self, trigger: Trigger, resumes: datetime, now: datetime
    ) -> Generator[Step, None, datetime | None]:
        """The end of a pause: one step for all that was planned in it. Returns what is due next."""
        if trigger.due >= resumes:
            return trigger.due
        gone = passed(trigger.row, trigger.due, resumes)
        if gone.skipped is not None:
            yield self._step(trigger, now, What.SKIP, f"paused: {gone.skipped.count} skipped")
        return gone.next_fire_at

    def _fires(self, trigger: Trigger, made: Decision, now: datetime) -> Generator[Step, None, bool]:
        """What is decided. Returns whether the trigger has ended with it."""
        spec, has_run = trigger.row.spec, False
        for fire in made.fires:
            step = self._fire(trigger, fire, now, several=len(made.fires) > 1)
            has_run = has_run or step.what is not What.SKIP
            yield step
            if spec.max_runs is not None and trigger.successes >= spec.max_runs:
                yield self._step(trigger, now, What.END, f"max_runs = {spec.max_runs} if all succeed")
                return True
        following, end = made.next_fire_at, spec.expires_at
        if not has_run or following is None or end is None or following <= end:
            return False
        yield self._step(trigger, now, What.END, "the next fire would be after expires_at")
        return True

    def _fire(self, trigger: Trigger, fire: PlannedFire, now: datetime, *, several: bool) -> Step:
        spec, lane, is_late = (
            trigger.row.spec,
            lane_without_payload(trigger.row),
            fire.origin is Origin.CATCH_UP,
        )
        busy_until = self._lanes.get(lane, now) if lane is not None else now
        begins, what = now + put_off(trigger.row, fire), What.CATCH_UP if is_late else What.FIRE
        note = notes(spec.schedule, fire, now, self.tell)
        if busy_until > now:
            queues = spec.misfire.misfire is Misfire.FIRE_ALL and (several or is_late)
            if spec.overlap is Overlap.SKIP and not queues:
                return self._step(trigger, now, What.SKIP, f"still running until {self.tell(busy_until)}")
            if spec.overlap is Overlap.REPLACE:
                note = joined(note, "replaces the one that runs")
            else:
                begins, what = max(begins, busy_until), What.WAIT
        if begins > now:
            note = joined(note, f"starts at {self.tell(begins)}")
        if lane is not None:
            self._lanes[lane] = begins + trigger.length
        trigger.successes += 1
        return self._step(trigger, now, what, note)

    def _step(self, trigger: Trigger, at: datetime, what: What, note: str | None) -> Step:
        return Step(at=at, registration=trigger.row.spec.name, what=what, note=note)


def decision(row: Registration, due: datetime, now: datetime) -> Decision:
    """As the clockwork has it: what a run named for itself fires, however late."""
    if row.next_fire_run is None or due != row.next_fire_at:
        return decide(
            row.spec.schedule, next_fire_at=due, now=now, anchor=row.armed_at, policy=row.spec.misfire
        )
    following = next_after(row.spec.schedule, after=now, anchor=row.armed_at)
    return Decision(
        fires=(PlannedFire(planned_at=due, missed=0, origin=Origin.SELF),), next_fire_at=following
    )


def first_due(row: Registration, start: datetime, *, is_present: bool) -> datetime | None:
    """The first planned instant that matters, also in a pause that ends; None when there is none."""
    if row.off_reason(start) is not None or row.held_until_enabled or row.drift is not None or row.idle:
        return None
    if row.paused_at is not None and row.paused_until is None:
        return None
    planned = row.next_fire_at
    if planned is not None and (is_present or (row.next_fire_run is not None and planned >= start)):
        return planned
    return next_after(row.spec.schedule, after=start - MICROSECOND, anchor=row.armed_at)


def notes(
    schedule: Schedule | None, fire: PlannedFire, now: datetime, tell: Callable[[datetime], str]
) -> str | None:
    """What is odd about a fire: how late, for how many it stands, what the clock's change does."""
    late = f"planned for {tell(fire.planned_at)}" if now - fire.planned_at >= MICROSECOND else None
    more = f"stands for {fire.missed} more" if fire.missed else None
    dst = None
    if isinstance(schedule, Cron):
        dst = cron.dst_note(cron.parse(schedule.expr), cron.zone(schedule.tz), fire.planned_at)
    return joined(late, more, dst)


def joined(*parts: str | None) -> str | None:
    """The notes there are, in one line."""
    found = [part for part in parts if part]
    return "; ".join(found) if found else None
