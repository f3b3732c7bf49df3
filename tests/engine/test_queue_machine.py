"""The whole life of the queue as a state machine: whatever comes in whatever order, its promises hold.

`make test` tries 160 lives, `.ci/run` 2,000 (``tests/conftest.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.conftest import SHARES, stateful
from tests.engine import promises
from tests.engine.inline import InlineStore, new_database, new_folder
from tests.engine.rig import Rig, limits, paths_in, spec
from tests.fakes import failed, succeeded
from tocsin.errors import Refused
from tocsin.event import UNFINISHED, Accepted, Declined, Duplicate, Event, Origin, Skipped, State
from tocsin.registration import Registration
from tocsin.runs import Outcome, Verdict
from tocsin.store import events
from tocsin.trigger import Json, Overlap

T = TypeVar("T")

TRIGGERS = {
    "queue": spec("queue", disable_after=100),
    "skip": spec("skip", overlap=Overlap.SKIP, disable_after=100),
    "allow": spec("allow", overlap=Overlap.ALLOW, disable_after=100),
    "limited": spec("limited", workflow="v", overlap=Overlap.ALLOW, max_runs=2, disable_after=100),
    "key-a": spec("key-a", serialize_key="k", disable_after=100),
    "key-b": spec("key-b", workflow="v", serialize_key="k", max_attempts=1, disable_after=2),
    "by": spec("by", workflow="v", serialize_by="payload:who", disable_after=100),
    "newest": spec("newest", overlap=Overlap.REPLACE, disable_after=100),
    "newest-by": spec(
        "newest-by", workflow="v", overlap=Overlap.REPLACE, serialize_by="payload:who", disable_after=100
    ),
    "newest-key": spec("newest-key", overlap=Overlap.REPLACE, serialize_key="k", disable_after=100),
}
REPLACING = {name for name, wanted in TRIGGERS.items() if wanted.overlap is Overlap.REPLACE}
OUTCOMES = {
    "success": succeeded(state={"v": 1}),
    "failure": failed(),
    "permanent": Outcome(verdict=Verdict.FAILED_PERMANENTLY, error="exit code 65"),
    "cancelled": Outcome(verdict=Verdict.CANCELLED),
    "lost": Outcome(verdict=Verdict.LOST),
    "interrupted": Outcome(verdict=Verdict.INTERRUPTED),
    "unavailable": Outcome(verdict=Verdict.UNAVAILABLE, error="the disk is full"),
}
SEATS = promises.Seats(total=4, per_workflow=3, max_runs={"limited": 2})
WHO = (None, 1, 2)  # nobody, or one of two
NAMES = st.sampled_from(sorted(TRIGGERS))


def payload_of(delivery: int) -> dict[str, Json]:
    who = WHO[delivery % len(WHO)]
    return {} if who is None else {"who": who}


def lane_of(row: Registration, delivery: int) -> str | None:
    """As DESIGN section 5 has it."""
    wanted, who = row.spec, WHO[delivery % len(WHO)]
    if wanted.serialize_key is not None:
        return f"key:{wanted.serialize_key}"
    if wanted.serialize_by is not None and who is not None:
        return f"{row.id}:{who}"
    return None if wanted.overlap is Overlap.ALLOW else row.id


class Queue(RuleBasedStateMachine):
    """Drives accept, claim, settle, a person's verbs and crashes against one database."""

    loop: ClassVar[asyncio.AbstractEventLoop]  # one for all lives

    def __init__(self) -> None:
        super().__init__()
        self.folder = new_folder()
        self.paths = paths_in(Path(self.folder.name))
        self.stores: list[InlineStore] = []  # one for each life; those of the dead are never closed in time
        self.known: dict[tuple[str, str], str] = {}  # (trigger, delivery) -> event id
        self.seen: dict[str, Event] = {}
        self.requeued: set[str | None] = set()  # lanes in which an older event came back
        self.cancelled: set[str] = set()

    def run(self, asked: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asked)

    @initialize()
    def begin(self) -> None:
        new_database(self.paths.database)
        self.live()
        self.run(self.rig.add_all(list(TRIGGERS.values())))

    def live(self) -> None:
        """A first or another life of the engine."""
        self.stores.append(InlineStore(self.paths.database))
        self.rig = Rig(store=self.stores[-1], paths=self.paths, owner=f"own_{len(self.stores)}")
        self.rig.claims.settings = limits(total=SEATS.total, per_workflow=SEATS.per_workflow)
        self.rig.open()

    @rule(name=NAMES, delivery=st.integers(0, 5), by_hand=st.booleans())
    def accept_one(self, name: str, delivery: int, by_hand: bool) -> None:
        self.accept(name, delivery, by_hand=by_hand)

    def accept(self, name: str, delivery: int, *, by_hand: bool) -> None:
        row = self.run(self.rig.named(name))
        origin = Origin.MANUAL if by_hand else Origin.LIVE
        asked = self.rig.accept(row, f"d{delivery}", origin=origin, payload=payload_of(delivery))
        answer, key = self.run(asked), (name, f"d{delivery}")
        if not row.enabled or row.is_paused(self.rig.clock.now()):
            assert isinstance(answer, Declined)
        elif key in self.known:
            assert isinstance(answer, Duplicate)
            assert answer.event_id == self.known[key]
        else:
            assert isinstance(answer, Accepted | Skipped)
            assert not (by_hand and isinstance(answer, Skipped))
            self.known[key] = answer.event_id
            self.has_its_place(answer.event_id, lane_of(row, delivery), row)

    def has_its_place(self, id_: str, lane: str | None, row: Registration) -> None:
        """In its lane; and where the newest counts, nothing of its trigger goes on beside it there."""
        found = self.run(self.rig.events())
        (new,) = [event for event in found if event.id == id_]
        assert new.lane == (None if new.state is State.SKIPPED else lane)
        if row.paused_at is not None:
            assert (new.state, new.reason) == (State.HELD, "paused")
        elif new.registration in REPLACING:
            for event in found:
                if (event.registration, event.lane, event.state in UNFINISHED) == (
                    new.registration,
                    lane,
                    True,
                ):
                    assert event.id == id_ or event.cancel_reason in ("replaced", "cancelled", "panic")

    @rule(names=st.lists(NAMES, min_size=2, max_size=6), delivery=st.integers(6, 30))
    def burst(self, names: list[str], delivery: int) -> None:
        """Several at once, so that lanes fill up."""
        for n, name in enumerate(names):
            self.accept(name, delivery + n, by_hand=False)

    @rule(how=st.sampled_from(sorted(OUTCOMES)))
    def settle_all(self, how: str) -> None:
        for claim in list(self.rig.taken):
            self.rig.taken.remove(claim)
            assert self.run(self.rig.settle(claim, OUTCOMES[how]))

    @rule()
    def look(self) -> None:
        self.run(self.rig.look())

    @rule(seconds=st.sampled_from([0.5, 2, 10, 400]))
    def wait(self, seconds: float) -> None:
        self.rig.clock.advance(seconds)

    @precondition(lambda self: self.rig.taken)
    @rule(which=st.integers(0, SEATS.total - 1), how=st.sampled_from(sorted(OUTCOMES)))
    def settle(self, which: int, how: str) -> None:
        claim = self.rig.taken.pop(which % len(self.rig.taken))
        assert self.run(self.rig.settle(claim, OUTCOMES[how]))
        assert not self.run(self.rig.settle(claim, succeeded()))

    @rule(name=NAMES)
    def disarm(self, name: str) -> None:
        self.rig.clock.advance(0.001)
        self.run(self.rig.disarm(self.run(self.rig.named(name))))

    @rule(name=NAMES)
    def off_and_on(self, name: str) -> None:
        self.disarm(name)
        self.enable(name, requeue=True)

    @rule(name=NAMES, requeue=st.booleans())
    def enable(self, name: str, requeue: bool) -> None:
        self.rig.clock.advance(0.001)
        row = self.run(self.rig.named(name))
        if self.run(self.rig.enable(row, requeue_dropped=requeue)):
            self.requeued |= {event.lane for event in self.run(self.rig.events(row))}

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 99))
    def cancel(self, which: int) -> None:
        event = self.any_event(which)
        if event.state not in UNFINISHED:
            self.refused(self.rig.controls.second_thoughts.cancel([event.id]))
            return
        (event,) = self.run(self.rig.controls.second_thoughts.cancel([event.id]))
        assert event.state in (State.DROPPED, State.CLAIMED)
        self.cancelled.add(event.id)

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 99))
    def retry(self, which: int) -> None:
        event = self.any_event(which, State.FAILED)
        waits = event.next_fire_at is not None and event.next_fire_at > self.rig.clock.now()
        may = (event.state is State.PENDING and waits) or event.state is State.FAILED
        if not (may and self.is_on(event.registration)):
            self.refused(self.rig.controls.second_thoughts.retry([event.id]))
            return
        (after,) = self.run(self.rig.controls.second_thoughts.retry([event.id]))
        assert after.idempotency_key == event.idempotency_key
        assert after.state in (State.PENDING, State.HELD)
        del self.seen[event.id]
        self.requeued.add(event.lane)

    @precondition(lambda self: self.seen)
    @rule(which=st.integers(0, 99))
    def replay(self, which: int) -> None:
        event = self.any_event(which)
        if not self.is_on(event.registration):
            self.refused(self.rig.controls.second_thoughts.replay([event.id], cause=None))
            return
        (new,) = self.run(self.rig.controls.second_thoughts.replay([event.id], cause=None))
        assert (new.replay_of, new.state in UNFINISHED) == (event.id, True)
        self.known[event.registration, new.delivery_id] = new.id

    def is_on(self, name: str) -> bool:
        row = self.run(self.rig.named(name))
        return row.enabled and not row.is_paused(self.rig.clock.now())

    def any_event(self, which: int, preferred: State | None = None) -> Event:
        """One of all events, of a state if there is one."""
        found = self.run(self.rig.events())
        of_state = [event for event in found if event.state is preferred]
        among = of_state or found
        return among[which % len(among)]

    def refused(self, asked: Coroutine[Any, Any, object]) -> None:
        with pytest.raises(Refused):
            self.run(asked)

    @rule()
    def crash(self) -> None:
        """Whatever was claimed is nobody's; another engine starts on the same home.

        The dead one's connection stays open: nothing tidies up after a kill.
        """
        now, moves = self.rig.clock.now(), self.stores[-1].moves()
        promises.moves_are_legal(moves)
        self.live()
        self.rig.clock.jump(now - self.rig.clock.now())
        self.rig.claims.close()
        self.run(self.rig.recovery().recover())
        self.rig.open()

    @rule(name=NAMES, seconds=st.sampled_from([None, 5, 300]))
    def pause(self, name: str, seconds: float | None) -> None:
        """What it holds stands aside in its lanes, and comes back older than who went ahead."""
        until = None if seconds is None else self.rig.clock.now() + timedelta(seconds=seconds)
        asked = self.rig.controls.pauses.pause([name], tag=None, everything=False, until=until)
        assert self.run(asked) == [name]
        self.stands_aside(name)
        for event in self.run(self.rig.events(self.run(self.rig.named(name)))):
            assert event.state is not State.PENDING
            assert event.state is not State.HELD or event.reason == "paused"

    def stands_aside(self, name: str) -> None:
        row = self.run(self.rig.named(name))
        self.requeued |= {event.lane for event in self.run(self.rig.events(row))}
        self.requeued |= {lane_of(row, who) for who in range(len(WHO))}

    @rule(name=NAMES)
    def resume(self, name: str) -> None:
        self.run(self.rig.controls.pauses.resume([name], tag=None, everything=False))
        assert not any(
            event.reason == "paused" and event.state is State.HELD
            for event in self.run(self.rig.events(self.run(self.rig.named(name))))
        )

    @rule()
    def tick(self) -> None:
        """The clock: pauses that are over end."""
        self.run(self.rig.tick())
        for name in TRIGGERS:
            row = self.run(self.rig.named(name))
            assert row.paused_until is None or row.paused_until > self.rig.clock.now()

    @rule()
    def panic(self) -> None:
        done = self.run(self.rig.controls.pauses.panic())
        assert set(done.stopping) == {claim.event.id for claim in self.rig.taken}
        self.cancelled |= set(done.stopping)
        for name in TRIGGERS:
            self.stands_aside(name)

    @invariant()
    def promises_hold(self) -> None:
        if not self.stores:
            return
        seen = self.run(self.rig.read(lambda tx: promises.sight(tx, self.rig.clock.now(), SEATS.max_runs)))
        promises.moves_are_legal(self.stores[-1].moves())
        promises.each_delivery_is_one_event(seen, self.known.values())
        promises.seats_suffice(seen, SEATS)
        promises.lanes_are_single_file(seen, self.requeued)
        promises.turns_are_for_the_claimable(seen)
        promises.everything_is_explained(seen)
        attempts = {name: wanted.max_attempts for name, wanted in TRIGGERS.items()}
        promises.what_is_over_stays_over(seen, self.seen, attempts)
        promises.what_is_to_stop_stops(seen)
        self.seen = {event.id: event for event in seen.events}
        self.claims_are_attended()

    def claims_are_attended(self) -> None:
        claimed = {event.id for event in self.seen.values() if event.state is State.CLAIMED}
        assert {claim.event.id for claim in self.rig.taken} == claimed
        assert {claim.ref.claim_id for claim in self.rig.taken} == self.rig.claims.live
        allowed = {State.CLAIMED, State.DROPPED, State.SUCCEEDED}
        assert {self.seen[id_].state for id_ in self.cancelled} <= allowed

    def teardown(self) -> None:
        """Nothing is lost: with everything enabled and succeeding, the queue runs dry."""
        try:
            if self.stores:
                self.run_dry()
        finally:
            for store in self.stores:
                store.close()
            self.folder.cleanup()

    def run_dry(self) -> None:
        for _ in range(300):
            self.run(self.rig.controls.pauses.resume([], tag=None, everything=True))
            for name in TRIGGERS:
                if not self.run(self.rig.named(name)).enabled:
                    self.enable(name, requeue=True)
            while self.rig.taken:
                self.run(self.rig.settle(self.rig.taken.pop(), succeeded()))
            if self.run(self.rig.read(events.unfinished)) == 0:
                return
            self.rig.clock.advance(400)
            self.run(self.rig.look())
        raise AssertionError(f"still waiting: {self.run(self.rig.states())}")


@pytest.mark.parametrize("share", range(SHARES))
def test_its_promises_hold_whatever_comes_in_whatever_order(share: int) -> None:
    with asyncio.Runner() as runner:

        class OnThisLoop(Queue):
            loop = runner.get_loop()

        run_state_machine_as_test(OnThisLoop, settings=stateful())
