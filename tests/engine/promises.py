"""What holds of the queue at every moment, whatever has happened: asked by ``test_queue_machine``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tocsin.event import BIRTHS, MOVES, UNFINISHED, Event, State
from tocsin.registration import Registration
from tocsin.store import events, registrations
from tocsin.store.connection import Tx

FINAL = {State.SUCCEEDED, State.FAILED, State.SKIPPED}
EXPLAINED = {State.HELD, State.FAILED, State.SKIPPED, State.DROPPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seats:
    """How many claims there may be: at once, of one workflow, and beside a trigger's successes."""

    total: int
    per_workflow: int
    max_runs: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The queue at one moment. turns: of the events that have one."""

    now: datetime
    events: Sequence[Event]
    turns: Mapping[str, int]
    rows: Mapping[str, Registration]


def sight(tx: Tx, now: datetime, names: Iterable[str]) -> Sight:
    """Read it, in one snapshot. names: the triggers to look at."""
    rows = {name: registrations.by_name(tx, name) for name in names}
    turns = tx._connection.execute("SELECT id, turn FROM events WHERE turn IS NOT NULL").fetchall()
    return Sight(
        now=now,
        events=events.after(tx, 0, registration_id=None, state=None, limit=100_000),
        turns={row["id"]: row["turn"] for row in turns},
        rows={name: row for name, row in rows.items() if row is not None},
    )


def each_delivery_is_one_event(seen: Sight, known: Iterable[str]) -> None:
    """known: what was acknowledged. None is lost, none made twice, nothing else is there."""
    assert sorted(event.id for event in seen.events) == sorted(known)
    deliveries = Counter((event.registration, event.delivery_id) for event in seen.events)
    assert set(deliveries.values()) <= {1}


def seats_suffice(seen: Sight, seats: Seats) -> None:
    claimed = [event for event in seen.events if event.state is State.CLAIMED]
    assert len(claimed) <= seats.total
    assert all(n <= seats.per_workflow for n in Counter(event.workflow for event in claimed).values())
    for name, limit in seats.max_runs.items():
        under_way = sum(event.registration == name for event in claimed)
        assert seen.rows[name].runs_since_armed + under_way <= limit


def lanes_are_single_file(seen: Sight, requeued: set[str | None]) -> None:
    """requeued: lanes in which an older event came back. What is held for another reason stands aside."""
    lanes: dict[str, list[Event]] = {}
    for event in seen.events:
        if event.lane is not None and event.state in UNFINISHED:
            lanes.setdefault(event.lane, []).append(event)
    for lane, here in lanes.items():
        heads = [event for event in here if event.state is not State.HELD]
        queued = [event for event in here if event.state is State.HELD and event.reason == "lane"]
        assert len(heads) <= 1
        assert heads or not queued
        if lane not in requeued:
            assert all(heads[0].seq < event.seq for event in queued)


def turns_are_for_the_claimable(seen: Sight) -> None:
    """A turn makes a pending event claimable; nothing else has one, and no wait is cut short by one."""
    by_id = {event.id: event for event in seen.events}
    for id_ in seen.turns:
        assert by_id[id_].state is State.PENDING, by_id[id_]
        assert by_id[id_].next_fire_at is not None
        assert by_id[id_].next_fire_at <= seen.now  # type: ignore[operator]
    assert all(event.next_fire_at is not None for event in seen.events if event.state is State.PENDING)


def everything_is_explained(seen: Sight) -> None:
    for event in seen.events:
        if event.state in EXPLAINED:
            assert event.reason, event
        assert (event.state in UNFINISHED) == (event.settled_at is None)
        assert (event.cancel_reason is None) == (event.cancel_requested_at is None)


def what_is_over_stays_over(seen: Sight, before: Mapping[str, Event], attempts: Mapping[str, int]) -> None:
    """attempts: how many each trigger allows."""
    for event in seen.events:
        old = before.get(event.id)
        if old is not None and old.state in FINAL:
            assert event == old
        assert event.attempts <= (event.attempt_limit or attempts[event.registration])


def what_is_to_stop_stops(seen: Sight) -> None:
    """At once, or with its run: dropped for the reason it was given, unless it had succeeded."""
    for event in seen.events:
        if event.cancel_reason is not None:
            assert event.state in (State.CLAIMED, State.DROPPED, State.SUCCEEDED)
            assert event.state is not State.DROPPED or event.reason == event.cancel_reason


def moves_are_legal(moves: Iterable[tuple[str, int, str | None, str]]) -> None:
    for id_, _, was, is_now in moves:
        if was is None:
            assert State(is_now) in BIRTHS, (id_, is_now)
        else:
            assert (State(was), State(is_now)) in MOVES, (id_, was, is_now)
