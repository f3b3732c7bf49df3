"""An engine that does not serve a scope leaves its triggers idle: nothing runs, nothing is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.rig import Rig, scheduled, spec
from tocsin.engine.serving import serve
from tocsin.errors import Refused
from tocsin.event import Origin, State
from tocsin.trigger import Scope


async def serving(rig: Rig, *scopes: Scope) -> None:
    await rig.write(lambda tx: serve(tx, scopes))


async def test_only_those_of_another_scope_are_idle(rig: Rig) -> None:
    here, there = await rig.add(spec("here", scope=Scope.DESKTOP)), await rig.add(spec("there"))
    await serving(rig, Scope.CLOUD)
    assert [(await rig.row(row.id)).status(rig.clock.now()) for row in (here, there)] == ["idle", "active"]
    assert (await rig.row(here.id)).idle_reason == "its scope is desktop, which the engine does not serve"
    await serving(rig, *Scope)
    assert (await rig.row(here.id)).status(rig.clock.now()) == "active"


async def test_what_is_accepted_waits_until_it_is_served(open_engine: Rig) -> None:
    rig = open_engine
    row = await rig.add(spec(scope=Scope.DESKTOP))
    await serving(rig, Scope.CLOUD)
    accepted = await rig.accepted(row)
    assert accepted.run_id is None
    await rig.look()
    assert (await rig.event(accepted.event_id)).state is State.PENDING
    await serving(rig, *Scope)
    await rig.look()
    assert [claim.event.id for claim in rig.taken] == [accepted.event_id]


async def test_what_had_its_turn_before_waits_too(rig: Rig) -> None:
    row = await rig.add(spec(scope=Scope.DESKTOP))
    await rig.accepted(row)
    await serving(rig, Scope.CLOUD)
    rig.open()
    assert await rig.take() == []
    other = await rig.accepted(await rig.add(spec("cloudy")))
    assert other.run_id is not None  # nobody waits behind it


async def test_planned_times_are_missed_time_once_it_is_served(open_engine: Rig) -> None:
    rig = open_engine
    await rig.add(scheduled(scope=Scope.DESKTOP))
    await serving(rig, Scope.CLOUD)
    rig.clock.advance(timedelta(hours=1))
    assert await rig.tick() == 1.0
    assert await rig.events() == []
    await serving(rig, *Scope)
    await rig.tick()
    (event,) = await rig.events()
    assert (event.origin, event.missed) == (Origin.LIVE, 59)


async def test_it_is_not_fired_by_hand_where_nobody_would_run_it(open_engine: Rig) -> None:
    await open_engine.add(spec(scope=Scope.DESKTOP))
    await serving(open_engine, Scope.CLOUD)
    with pytest.raises(Refused, match="t is idle: its scope is desktop"):
        await open_engine.controls.fire("t", payload=None, key=None, cause=None)
