"""When a schedule fires next, and what becomes of the instants that have come due.

Asked by the engine's clockwork, `tocsin next`, `simulate` and the TUI, so that all of them give one
answer; ``settlement`` asks what a run wished for. Every instant is aware UTC, lengths are elapsed time.
Knows nothing of rows: the caller keeps `next_fire_at` and the arming instant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Final

from tocsin import cron
from tocsin.duration import format_duration, parse_duration
from tocsin.errors import InvalidSchedule
from tocsin.event import Origin
from tocsin.instants import MICROSECOND, microseconds, rfc3339
from tocsin.trigger import At, Cron, Every, Json, Misfire, MisfirePolicy, Schedule
from tocsin.zones import utc

SHORTEST: Final = timedelta(seconds=1)  # DESIGN section 1: nothing finer than one second
LONGEST: Final = timedelta(days=36_525)  # a century; what is longer is a slip, and would leave the calendar
PUT_OFF: Final = timedelta(days=366)  # DESIGN section 7: the furthest a run may move its next fire

_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_SHOWN: Final = 60  # characters of a bad value that are repeated


def next_after(schedule: Schedule | None, *, after: datetime, anchor: datetime) -> datetime | None:
    """The first planned instant later than `after`; None when there is none.

    anchor: the arming instant, grid of an `Every` without an anchor of its own. The grid reaches both
    ways: an anchor in the future sets the phase, not a beginning. Raises InvalidSchedule for what
    `validate` refuses.
    """
    match schedule:
        case Cron(expr=expr, tz=tz):
            return cron.next_fire(cron.parse(expr), cron.zone(tz), after)
        case Every():
            return _slot(schedule, anchor, _index(schedule, anchor, after) + 1)
        case At(at=at):
            return utc(at) if utc(at) > after else None
    return None


def _index(schedule: Every, anchor: datetime, at: datetime) -> int:
    """The number of the last slot not later than `at`; the anchor is slot 0."""
    if not SHORTEST <= schedule.every <= LONGEST:
        seen = format_duration(schedule.every)
        raise InvalidSchedule(f"every {seen} is out of range; wanted 1s to {LONGEST.days}d")
    return (utc(at) - utc(schedule.anchor or anchor)) // schedule.every


def _slot(schedule: Every, anchor: datetime, index: int) -> datetime:
    return utc(schedule.anchor or anchor) + index * schedule.every


def upcoming(
    schedule: Schedule | None, *, after: datetime, anchor: datetime, limit: int, until: datetime | None = None
) -> Iterator[datetime]:
    """The planned instants later than `after` and not later than `until`, ascending, `limit` at most."""
    for _ in range(limit):
        at = next_after(schedule, after=after, anchor=anchor)
        if at is None or (until is not None and at > until):
            return
        yield at
        after = at


def validate(schedule: Schedule, now: datetime) -> None:
    """Raise InvalidSchedule when it can never be used. That an `At` is past is no fault of the schedule."""
    next_after(schedule, after=now, anchor=now)


def delivery_id(revision: int, planned_at: datetime) -> str:
    """`<revision>:<planned microseconds since the epoch>`: one instant of one edit of a schedule."""
    return f"{revision}:{microseconds(planned_at)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfSchedule:
    """What a run said of its next fire. at: None means never. note: why `at` is not what it said."""

    at: datetime | None
    note: str | None = None


def self_scheduled(value: Json, *, now: datetime) -> SelfSchedule:
    """Read a run's `next_fire_at`: RFC 3339 with offset, a duration from now, `never` or null (the same).

    Kept between now + 1 s and now + 366 d, with a note when it had to be moved. Raises InvalidSchedule
    for anything else.
    """
    if value is None or value == "never":
        return SelfSchedule(at=None)
    wish = _wish(value, now)
    kept = min(max(wish, now + SHORTEST), now + PUT_OFF)
    if kept == wish:
        return SelfSchedule(at=wish)
    bound = "the soonest is 1s" if kept > wish else f"the latest is {PUT_OFF.days}d"
    return SelfSchedule(at=kept, note=f"next_fire_at {value}: {bound} from now, so it is {rfc3339(kept)}")


def _wish(value: Json, now: datetime) -> datetime:
    try:
        if isinstance(value, str) and _RFC3339.fullmatch(value):
            return datetime.fromisoformat(value.upper()).astimezone(UTC)
        if isinstance(value, str):
            return now + min(parse_duration(value), PUT_OFF + SHORTEST)  # longer is moved to PUT_OFF anyway
    except (ValueError, OverflowError, InvalidSchedule):
        pass
    wanted = 'an RFC 3339 time with offset, a duration like "30s" or "2d", or "never"'
    raise InvalidSchedule(f"next_fire_at {str(value)[:_SHOWN]!r} is not understood; wanted {wanted}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFire:
    """One event to make. missed: earlier instants that it stands for. origin: live or catch_up."""

    planned_at: datetime
    missed: int
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedSpan:
    """Missed instants that make no event. planned_at: the latest of them; count: all of them."""

    planned_at: datetime
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a due schedule does now, fires in the order of their instants, and when it is due again."""

    fires: tuple[PlannedFire, ...] = ()
    skipped: SkippedSpan | None = None
    next_fire_at: datetime | None


def decide(
    schedule: Schedule | None,
    *,
    next_fire_at: datetime,
    now: datetime,
    anchor: datetime,
    policy: MisfirePolicy,
) -> Decision:
    """What becomes of every planned instant from `next_fire_at` to `now`; before it, nothing happens.

    `next_fire_at` is planned by itself, on the schedule's grid or not: a run may have named it, of a
    trigger that may have no schedule. An instant more than `grace` ago is missed. fire_once: one event
    for the latest. skip: none for the missed, one for the latest of the others. fire_all: one each, the
    latest `limit` of them, except that the slots of an `Every` that are not missed fold into the last.
    Whatever was folded or cut off counts as `missed` of the next event.
    """
    if now < next_fire_at:
        return Decision(next_fire_at=next_fire_at)
    overdue = now - policy.grace - MICROSECOND  # the latest instant that counts as missed
    due = _Due(schedule=schedule, anchor=anchor, start=next_fire_at, now=now, overdue=overdue)
    after = next_after(schedule, after=now, anchor=anchor)
    match policy.misfire:
        case Misfire.SKIP:
            return Decision(fires=due.on_time(1), skipped=due.skipped(), next_fire_at=after)
        case Misfire.FIRE_ALL:
            return Decision(fires=due.each(max(policy.limit, 1)), next_fire_at=after)
    return Decision(fires=due.each(1), next_fire_at=after)


@dataclass(frozen=True, kw_only=True)  # without slots, so that `missed` is counted once
class _Due:
    """The planned instants from `start` to `now`; those up to `overdue` are missed."""

    schedule: Schedule | None
    anchor: datetime
    start: datetime
    now: datetime
    overdue: datetime

    def each(self, limit: int) -> tuple[PlannedFire, ...]:
        """The latest `limit`, missed or not; whatever was cut off folds into the first."""
        live = self.on_time(limit)
        late = self._latest(self.overdue, min(self.missed, limit - len(live)))
        if late:
            return _folded(late, self.missed, Origin.CATCH_UP) + live
        return (replace(live[0], missed=live[0].missed + self.missed), *live[1:])

    def on_time(self, limit: int) -> tuple[PlannedFire, ...]:
        """The latest `limit` of those that are not missed; of an `Every` only the last (never a burst)."""
        total = self._count(self.now) - self.missed
        most = 1 if isinstance(self.schedule, Every) else limit
        return _folded(self._latest(self.now, min(total, most)), total, Origin.LIVE)

    def skipped(self) -> SkippedSpan | None:
        """All that are missed; None when none is."""
        if not self.missed:
            return None
        return SkippedSpan(planned_at=self._latest(self.overdue, 1)[0], count=self.missed)

    @cached_property
    def missed(self) -> int:
        return self._count(self.overdue)

    def _count(self, until: datetime) -> int:
        """How many are not later than `until`; exact and fast, however many there are."""
        if until < self.start:
            return 0
        match self.schedule:
            case Cron(expr=expr, tz=tz):
                first = self.start + MICROSECOND
                return 1 + cron.count(cron.parse(expr), cron.zone(tz), first=first, until=until)
            case Every() as every:
                return 1 + len(self._slots(every, until))
        return 1 + len(self._own(until, 1))

    def _latest(self, until: datetime, limit: int) -> tuple[datetime, ...]:
        """The last `limit` of those not later than `until`, ascending."""
        found = (self.start, *self._own(until, limit)) if until >= self.start else ()
        return found[max(0, len(found) - limit) :]

    def _own(self, until: datetime, limit: int) -> tuple[datetime, ...]:
        """The last `limit` of the schedule's own instants after `start`."""
        match self.schedule:
            case Cron(expr=expr, tz=tz):
                first = self.start + MICROSECOND
                return cron.recent(cron.parse(expr), cron.zone(tz), first=first, until=until, limit=limit)
            case Every() as every:
                slots = self._slots(every, until)
                return tuple(_slot(every, self.anchor, n) for n in slots[max(0, len(slots) - limit) :])
            case At(at=at):
                return (utc(at),) if self.start < at <= until else ()
        return ()

    def _slots(self, every: Every, until: datetime) -> range:
        return range(_index(every, self.anchor, self.start) + 1, _index(every, self.anchor, until) + 1)


def _folded(planned: tuple[datetime, ...], total: int, origin: Origin) -> tuple[PlannedFire, ...]:
    """One event each; the first stands for all of `total` that are not among them."""
    spare = [total - len(planned)] + [0] * len(planned)
    return tuple(
        PlannedFire(planned_at=at, missed=n, origin=origin) for at, n in zip(planned, spare, strict=False)
    )
