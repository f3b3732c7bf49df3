"""Turns: a trigger with much to do never keeps another waiting for more than the seats there are.

Start-time fair queueing with one turn as the length of each event (``store/turns.py``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import is_thorough
from tests.engine.inline import inline_rig
from tests.engine.rig import Rig, limits, spec
from tests.fakes import succeeded
from tocsin.engine.admission import admit
from tocsin.engine.claims import Claim
from tocsin.event import State
from tocsin.registration import Registration
from tocsin.store.connection import Tx
from tocsin.trigger import Overlap

SEATS = 3
BURST = 1000


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    with inline_rig() as opened:
        opened.claims.settings = limits(total=SEATS, per_workflow=SEATS)
        opened.open()
        yield opened


async def burst(rig: Rig, row: Registration, size: int) -> None:
    """All in one transaction, as a burst of files is."""
    there, now = len(await rig.events(row)), rig.clock.now()

    def step(tx: Tx) -> None:
        for n in range(there, there + size):
            admit(tx, rig.occurrence(row, f"d{n}"), now=now, announce=rig.notices)
        rig.claims.take(tx, now)

    await rig.write(step)


async def serve(rig: Rig) -> str:
    """The run that has gone on longest ends well; the name of its trigger."""
    claim = rig.taken.pop(0)
    await rig.settle(claim, succeeded())
    return claim.registration.spec.name


async def serve_all(rig: Rig) -> None:
    while rig.taken:
        await serve(rig)


async def others_before(rig: Rig, name: str) -> int:
    """How many events of others are claimed before this trigger's; asked while all seats are taken."""
    for claims in range(2 * BURST):
        if rig.taken[-1].registration.spec.name == name:
            return claims - 1
        await serve(rig)
    raise AssertionError(f"{name} is never served")


async def nothing(rig: Rig, row: Registration) -> None:
    """It has never had an event."""


async def busy(rig: Rig, row: Registration) -> None:
    """It has run two hundred, and then had nothing to do."""
    await burst(rig, row, 200)
    await serve_all(rig)


async def disarmed(rig: Rig, row: Registration) -> None:
    """Most of a burst of it never ran."""
    await burst(rig, row, 200)
    await rig.disarm(row)
    await serve_all(rig)
    await rig.enable(row)


async def cancelled(rig: Rig, row: Registration) -> None:
    """A person thought better of most of a burst of it."""
    await burst(rig, row, 200)
    waiting = [event.id for event in await rig.events(row) if event.state is State.PENDING]
    await rig.controls.second_thoughts.cancel(waiting)
    await serve_all(rig)


PAST = [nothing, busy, disarmed, cancelled]


@pytest.mark.parametrize("workflow", ["w", "v"], ids=["of-one-workflow", "of-another"])
@pytest.mark.parametrize("before", PAST)
@pytest.mark.parametrize("first", [nothing, busy])
async def test_a_single_event_does_not_stand_behind_anothers_thousand(
    rig: Rig,
    workflow: str,
    before: Callable[[Rig, Registration], Awaitable[None]],
    first: Callable[[Rig, Registration], Awaitable[None]],
) -> None:
    one = await rig.add(spec("one", workflow=workflow, overlap=Overlap.ALLOW))
    many = await rig.add(spec("many", overlap=Overlap.ALLOW))
    await before(rig, one)
    await first(rig, many)
    await burst(rig, many, BURST)
    await rig.accept(one, "the one")
    assert len(rig.taken) == SEATS
    assert await others_before(rig, "one") <= SEATS


async def test_two_bursts_are_served_in_turn(rig: Rig) -> None:
    rows = [await rig.add(spec(name, workflow=name, overlap=Overlap.ALLOW)) for name in ("a", "b")]
    for row in rows:
        await burst(rig, row, 50)
    order = [await serve(rig) for _ in range(100)]
    assert order[:SEATS] == ["a"] * SEATS
    assert all(abs(order[:n].count("a") - order[:n].count("b")) <= SEATS + 1 for n in range(96))


NAMES = ("a", "b", "c")
ARRIVE_OR_SERVE = st.lists(
    st.one_of(st.tuples(st.sampled_from(NAMES), st.integers(1, 12)), st.just("serve")), max_size=120
)


class Tally:
    """Claims of each trigger, and how far two have drifted apart while both had something waiting."""

    def __init__(self) -> None:
        self.waiting = dict.fromkeys(NAMES, 0)
        self.ahead = dict.fromkeys(combinations(NAMES, 2), (0, 0, 0))  # now, least, most

    def claimed(self, name: str) -> None:
        for pair, (before, least, most) in self.ahead.items():
            if name in pair and all(self.waiting[one] for one in pair):
                now = before + (1 if name == pair[0] else -1)
                self.ahead[pair] = (now, min(now, least), max(now, most))
        self.waiting[name] -= 1
        for pair in self.ahead:
            if not all(self.waiting[one] for one in pair):
                self.ahead[pair] = (0, 0, 0)

    def gap(self) -> int:
        return max(most - least for _, least, most in self.ahead.values())


@pytest.mark.parametrize("one_workflow", [True, False])
@given(steps=ARRIVE_OR_SERVE)
@settings(max_examples=200 if is_thorough() else 25, deadline=None)
def test_between_two_with_something_waiting_service_hardly_differs(
    steps: list[Any], one_workflow: bool
) -> None:
    with inline_rig() as rig, asyncio.Runner() as runner:
        runner.run(compare(rig, steps, one_workflow=one_workflow))


async def compare(rig: Rig, steps: list[Any], *, one_workflow: bool) -> None:
    rig.claims.settings = limits(total=SEATS, per_workflow=SEATS)
    launched: list[Claim] = []
    tally = Tally()
    rig.claims.open(launched.append)
    rows = {
        name: await rig.add(spec(name, workflow="w" if one_workflow else name, overlap=Overlap.ALLOW))
        for name in NAMES
    }
    for step in steps:
        if step != "serve":
            tally.waiting[step[0]] += step[1]
            await burst(rig, rows[step[0]], step[1])
        elif rig.taken:
            await serve(rig)
        for claim in launched:
            tally.claimed(claim.registration.spec.name)
        rig.taken += launched
        launched.clear()
        assert tally.gap() <= SEATS + 1
