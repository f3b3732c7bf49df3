"""The whole life of the queue as a state machine: whatever comes in whatever order, its promises hold."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.engine.rig import Rig, limits, open_rig, spec
from tests.fakes import failed, succeeded
from tests.store.raw import on_writer
from tocsin.errors import Refused
from tocsin.event import UNFINISHED, Accepted, Declined, Duplicate, Event, Origin, Skipped, State
from tocsin.registration import Overlap
from tocsin.runs import Outcome, Verdict
from tocsin.store import events

TRIGGERS = {
    "queue": spec("queue", disable_after=100),
    "skip": spec("skip", overlap=Overlap.SKIP, disable_after=100),
    "allow": spec("allow", overlap=Overlap.ALLOW, disable_after=100),
    "limited": spec("limited", workflow="v", overlap=Overlap.ALLOW, max_runs=2, disable_after=100),
    "key-a": spec("key-a", serialize_key="k", disable_after=100),
    "key-b": spec("key-b", workflow="v", serialize_key="k", max_attempts=1, disable_after=2),
}
OUTCOMES = {
    "success": succeeded(state={"v": 1}),
    "failure": failed(),
    "permanent": Outcome(verdict=Verdict.FAILED_PERMANENTLY, error="exit code 65"),
    "cancelled": Outcome(verdict=Verdict.CANCELLED),
    "lost": Outcome(verdict=Verdict.LOST),
    "interrupted": Outcome(verdict=Verdict.INTERRUPTED),
}
SEATS, SEATS_PER_WORKFLOW = 4, 3
FINAL = {State.SUCCEEDED, State.FAILED, State.SKIPPED}
NAMES = st.sampled_from(sorted(TRIGGERS))


class Queue(RuleBasedStateMachine):
    """Drives accept, claim, settle, a person's verbs and crashes against one database."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.lives = 0
        self.known: dict[tuple[str, str], str] = {}  # (trigger, delivery) -> event id
        self.seen: dict[str, Event] = {}
        self.requeued: set[str | None] = set()  # lanes in which an older event came back
        self.cancelled: set[str] = set()

    @initialize()
    def begin(self) -> None:
        self.live()
        for trigger in TRIGGERS.values():
            self.runner.run(self.rig.add(trigger))

    def live(self) -> None:
        """A first or another life of the engine."""
        self.lives += 1
        self.rig: Rig = self.runner.run(
            self.stack.enter_async_context(open_rig(Path(self.folder.name), owner=f"own_{self.lives}"))
        )
        self.rig.claims.settings = limits(total=SEATS, per_workflow=SEATS_PER_WORKFLOW)
        self.runner.run(on_writer(self.rig.store, "PRAGMA synchronous = OFF"))  # no power is cut here
        self.rig.open()

    @rule(name=NAMES, delivery=st.integers(0, 5), by_hand=st.booleans())
    def accept_one(self, name: str, delivery: int, by_hand: bool) -> None:
        self.accept(name, delivery, by_hand=by_hand)

    def accept(self, name: str, delivery: int, *, by_hand: bool) -> None:
        row = self.runner.run(self.rig.named(name))
        origin = Origin.MANUAL if by_hand else Origin.LIVE
        answer = self.runner.run(self.rig.accept(row, f"d{delivery}", origin=origin))
        key = (name, f"d{delivery}")
        if not row.enabled:
            assert isinstance(answer, Declined)
        elif key in self.known:
            assert isinstance(answer, Duplicate)
            assert answer.event_id == self.known[key]
        else:
            assert isinstance(answer, Accepted | Skipped)
            assert not (by_hand and isinstance(answer, Skipped))
            self.known[key] = answer.event_id

    @rule(names=st.lists(NAMES, min_size=2, max_size=6), delivery=st.integers(6, 30))
    def burst(self, names: list[str], delivery: int) -> None:
        """Several at once, so that lanes fill up."""
        for n, name in enumerate(names):
            self.accept(name, delivery + n, by_hand=False)

    @rule(how=st.sampled_from(sorted(OUTCOMES)))
    def settle_all(self, how: str) -> None:
        for claim in list(self.rig.taken):
            self.rig.taken.remove(claim)
            assert self.runner.run(self.rig.settle(claim, OUTCOMES[how]))

    @rule()
    def look(self) -> None:
        self.runner.run(self.rig.look())

    @rule(seconds=st.sampled_from([0.5, 2, 10, 400]))
    def wait(self, seconds: float) -> None:
        self.rig.clock.advance(seconds)

    @precondition(lambda self: self.rig.taken)
    @rule(which=st.integers(0, SEATS - 1), how=st.sampled_from(sorted(OUTCOMES)))
    def settle(self, which: int, how: str) -> None:
        claim = self.rig.taken.pop(which % len(self.rig.taken))
        assert self.runner.run(self.rig.settle(claim, OUTCOMES[how]))
        assert not self.runner.run(self.rig.settle(claim, succeeded()))

    @rule(name=NAMES)
    def disarm(self, name: str) -> None:
        self.rig.clock.advance(0.001)
        self.runner.run(self.rig.disarm(self.runner.run(self.rig.named(name))))

    @rule(name=NAMES)
    def off_and_on(self, name: str) -> None:
        self.disarm(name)
        self.enable(name, requeue=True)

    @rule(name=NAMES, requeue=st.booleans())
    def enable(self, name: str, requeue: bool) -> None:
        self.rig.clock.advance(0.001)
        row = self.runner.run(self.rig.named(name))
        if self.runner.run(self.rig.enable(row, requeue_dropped=requeue)):
            self.requeued |= {event.lane for event in self.runner.run(self.rig.events(row))}

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 99))
    def cancel(self, which: int) -> None:
        event = self.any_event(which)
        if event.state not in UNFINISHED:
            self.refused(self.rig.controls.second_thoughts.cancel([event.id]))
            return
        (event,) = self.runner.run(self.rig.controls.second_thoughts.cancel([event.id]))
        assert event.state in (State.DROPPED, State.CLAIMED)
        self.cancelled.add(event.id)

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 99))
    def retry(self, which: int) -> None:
        event = self.any_event(which, State.FAILED)
        enabled = self.runner.run(self.rig.named(event.registration)).enabled
        waits = event.next_fire_at is not None and event.next_fire_at > self.rig.clock.now()
        if not enabled or not (waits or event.state is State.FAILED):
            self.refused(self.rig.controls.second_thoughts.retry([event.id]))
            return
        (after,) = self.runner.run(self.rig.controls.second_thoughts.retry([event.id]))
        assert after.idempotency_key == event.idempotency_key
        assert after.state in (State.PENDING, State.HELD)
        del self.seen[event.id]
        self.requeued.add(event.lane)

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 99))
    def replay(self, which: int) -> None:
        event = self.any_event(which)
        if not self.runner.run(self.rig.named(event.registration)).enabled:
            self.refused(self.rig.controls.second_thoughts.replay([event.id], cause=None))
            return
        (new,) = self.runner.run(self.rig.controls.second_thoughts.replay([event.id], cause=None))
        assert (new.replay_of, new.state in UNFINISHED) == (event.id, True)
        self.known[event.registration, new.delivery_id] = new.id

    def any_event(self, which: int, preferred: State | None = None) -> Event:
        """One of all events, of a state if there is one."""
        found = self.runner.run(self.rig.events())
        of_state = [event for event in found if event.state is preferred]
        among = of_state or found
        return among[which % len(among)]

    def refused(self, asked: Coroutine[Any, Any, object]) -> None:
        with pytest.raises(Refused):
            self.runner.run(asked)

    @rule()
    def crash(self) -> None:
        """Whatever was claimed is nobody's; another engine starts on the same home."""
        now = self.rig.clock.now()
        self.runner.run(self.stack.aclose())
        self.live()
        self.rig.clock.jump(now - self.rig.clock.now())
        self.rig.claims.close()
        self.runner.run(self.rig.recovery().recover())
        self.rig.open()

    @invariant()
    def promises_hold(self) -> None:
        if self.lives == 0:
            return
        found = self.runner.run(self.rig.events())
        self.each_delivery_is_one_event(found)
        self.seats_suffice(found)
        self.lanes_are_single_file(found)
        self.what_is_over_stays_over(found)
        self.claims_are_attended(found)
        self.what_is_cancelled_ends(found)

    def each_delivery_is_one_event(self, found: list[Event]) -> None:
        assert {event.id for event in found} == set(self.known.values())
        assert len(found) == len(self.known)

    def seats_suffice(self, found: list[Event]) -> None:
        claimed = [event for event in found if event.state is State.CLAIMED]
        assert len(claimed) <= SEATS
        assert all(n <= SEATS_PER_WORKFLOW for n in Counter(event.workflow for event in claimed).values())
        limited = self.runner.run(self.rig.named("limited"))
        under_way = sum(event.registration == "limited" for event in claimed)
        assert limited.runs_since_armed + under_way <= 2

    def lanes_are_single_file(self, found: list[Event]) -> None:
        for lane in {event.lane for event in found if event.lane is not None}:
            here = [event for event in found if event.lane == lane and event.state in UNFINISHED]
            heads = [event for event in here if event.state is not State.HELD]
            held = [event for event in here if event.state is State.HELD]
            assert len(heads) <= 1
            assert heads or not held
            if lane not in self.requeued:
                assert all(heads[0].seq < event.seq for event in held)

    def what_is_over_stays_over(self, found: list[Event]) -> None:
        for event in found:
            before = self.seen.get(event.id)
            if before is not None and before.state in FINAL:
                assert event == before
            assert event.attempts <= (event.attempt_limit or TRIGGERS[event.registration].max_attempts)
            assert (event.state in UNFINISHED) == (event.settled_at is None)
        self.seen = {event.id: event for event in found}

    def claims_are_attended(self, found: list[Event]) -> None:
        claimed = {event.id for event in found if event.state is State.CLAIMED}
        assert {claim.event.id for claim in self.rig.taken} == claimed
        assert {claim.ref.claim_id for claim in self.rig.taken} == self.rig.claims.live

    def what_is_cancelled_ends(self, found: list[Event]) -> None:
        """At once, or with its run: dropped, unless that had succeeded."""
        states = {event.id: event.state for event in found}
        allowed = {State.CLAIMED, State.DROPPED, State.SUCCEEDED}
        assert {states[id_] for id_ in self.cancelled} <= allowed

    def teardown(self) -> None:
        """Nothing is lost: with everything enabled and succeeding, the queue runs dry."""
        try:
            if self.lives:
                self.run_dry()
                self.runner.run(self.stack.aclose())
        finally:
            self.runner.close()
            self.folder.cleanup()

    def run_dry(self) -> None:
        for _ in range(300):
            for name in TRIGGERS:
                row = self.runner.run(self.rig.named(name))
                if not row.enabled:
                    self.enable(name, requeue=True)
            while self.rig.taken:
                self.runner.run(self.rig.settle(self.rig.taken.pop(), succeeded()))
            if self.runner.run(self.rig.read(events.unfinished)) == 0:
                return
            self.rig.clock.advance(400)
            self.runner.run(self.rig.look())
        raise AssertionError(f"still waiting: {self.runner.run(self.rig.states())}")


TestQueue = Queue.TestCase
TestQueue.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
