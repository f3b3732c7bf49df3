"""Version drift: a trigger made for another version of its component halts until a person confirms."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.rig import MINUTELY, Rig, scheduled, spec
from tests.fakes import succeeded
from tests.store.raw import beside
from tocsin.components import VERSIONS
from tocsin.errors import BindingMismatch, NotFound, Refused
from tocsin.event import Declined
from tocsin.registration import Registration

FILE = """
[workflows.w]
command = ["true"]
[triggers.t]
workflow = "w"
cron = "* * * * *"
"""


async def aged(rig: Rig, name: str = "t", version: int = 0, component: str | None = None) -> Registration:
    """As if an earlier tocsin had made the trigger; the next engine's start notices."""
    row = await rig.named(name)
    with beside(rig.paths.database) as connection:
        connection.execute("UPDATE registrations SET component_version = ? WHERE id = ?", (version, row.id))
        connection.execute("UPDATE installations SET component_version = ?", (version,))
        if component is not None:
            connection.execute("UPDATE registrations SET component = ?", (component,))
    await rig.recovery().recover()
    return await rig.named(name)


async def told(rig: Rig, row: Registration) -> list[tuple[str, str | None]]:
    with beside(rig.paths.database) as connection:
        found = connection.execute(
            "SELECT what, reason FROM journal WHERE registration_id = ? ORDER BY seq", (row.id,)
        )
        return [tuple(one) for one in found]


async def test_the_next_start_notes_it_once_and_says_why(rig: Rig) -> None:
    await rig.add(scheduled())
    row = await aged(rig)
    await rig.recovery().recover()
    assert row.drift == "made for version 0 of cron, this tocsin has version 1"
    assert (row.status(rig.clock.now()), row.halt(rig.clock.now())) == ("error", "drifted")
    assert await told(rig, row) == [("added", "file"), ("drifted", row.drift)]


async def test_a_schedule_stands_still_and_what_passed_is_not_made_up_for(open_engine: Rig) -> None:
    await open_engine.add(scheduled())
    row = await aged(open_engine)
    open_engine.clock.advance(600)
    await open_engine.tick()
    assert await open_engine.events() == []
    assert await open_engine.controls.rebinding.rebind(["t"], tag=None) == ["t"]
    await open_engine.tick()
    assert await open_engine.events() == []
    after = await open_engine.row(row.id)
    assert (after.drift, after.drifted_at, after.status(open_engine.clock.now())) == (None, None, "active")
    assert after.next_fire_at is not None
    assert timedelta(0) < after.next_fire_at - open_engine.clock.now() <= timedelta(minutes=1)
    open_engine.clock.advance(60)
    await open_engine.tick()
    assert await open_engine.states() == ["claimed"]


async def test_what_its_source_says_is_refused_as_another_binding(open_engine: Rig) -> None:
    row = await open_engine.add()
    await aged(open_engine)
    with pytest.raises(BindingMismatch, match="Trigger event does not match its authorized subscription"):
        await open_engine.accept(row)
    assert (await told(open_engine, row))[-1] == ("refused", "binding")
    assert await open_engine.events() == []


async def test_also_when_the_occurrence_speaks_for_the_old_version(open_engine: Rig) -> None:
    await open_engine.add()
    row = await aged(open_engine)
    assert await open_engine.accept(row) == Declined(reason="drifted")


async def test_what_was_taken_in_before_runs_to_its_end(open_engine: Rig) -> None:
    row = await open_engine.add()
    await open_engine.accept(row, "d0")
    await open_engine.accept(row, "d1")
    await aged(open_engine)
    await open_engine.settle(open_engine.taken.pop(), succeeded())
    assert await open_engine.states() == ["succeeded", "claimed"]


async def test_firing_retrying_and_replaying_by_hand_are_refused_with_the_way_out(open_engine: Rig) -> None:
    row = await open_engine.add()
    event = await open_engine.accepted(row)
    await aged(open_engine)
    with pytest.raises(Refused, match="`tocsin rebind t` confirms it"):
        await open_engine.controls.fire("t", payload=None, key=None, cause=None)
    with pytest.raises(Refused, match="tocsin rebind"):
        await open_engine.controls.second_thoughts.replay([event.event_id], cause=None)


async def test_a_reload_never_confirms_it_an_apply_by_hand_does(rig: Rig) -> None:
    await rig.apply(FILE)
    await aged(rig)
    applied = await rig.apply(FILE.replace('"* * * * *"', '"0 * * * *"'))
    assert [change.name for change in applied.plan.changed] == ["t"]
    row = await rig.named("t")
    assert (row.spec.component_version, row.drift is None) == (0, False)
    applied = await rig.apply(FILE, by_hand=True)
    assert "component_version" in {difference.key for difference in applied.plan.changed[0].what}
    row = await rig.named("t")
    assert (row.spec.component_version, row.drift, row.drifted_at) == (1, None, None)
    assert (await rig.count("SELECT min(component_version) FROM installations")) == 1


async def test_an_apply_without_any_other_change_confirms_it_too(rig: Rig) -> None:
    await rig.apply(FILE)
    await aged(rig)
    assert (await rig.apply(FILE)).plan.empty
    assert not (await rig.apply(FILE, by_hand=True)).plan.empty
    assert (await rig.named("t")).drift is None


async def test_a_trigger_of_another_kind_is_made_for_the_present_version(rig: Rig) -> None:
    await rig.apply(FILE)
    await aged(rig)
    await rig.apply(FILE.replace('cron = "* * * * *"', 'every = "1h"'))
    row = await rig.named("t")
    assert (row.spec.component, row.drift, row.drifted_at) == ("every", None, None)


async def test_rebinding_what_has_not_drifted_changes_nothing(rig: Rig) -> None:
    row = await rig.add(scheduled())
    assert await rig.controls.rebinding.rebind(["t"], tag=None) == []
    assert await rig.row(row.id) == row


async def test_a_component_that_is_not_there_cannot_be_confirmed(rig: Rig) -> None:
    await rig.add(spec())
    row = await aged(rig, version=3, component="carrier-pigeon")
    assert row.drift == "made for version 3 of carrier-pigeon, this tocsin does not have it"
    with pytest.raises(Refused, match="carrier-pigeon"):
        await rig.controls.rebinding.rebind(["t"], tag=None)
    with pytest.raises(NotFound):
        await rig.controls.rebinding.rebind(["nobody"], tag=None)


async def test_an_older_tocsin_that_fits_again_lets_it_go_on_by_itself(rig: Rig) -> None:
    await rig.add(scheduled(schedule=MINUTELY))
    await aged(rig)
    row = await aged(rig, version=VERSIONS["cron"])
    assert (row.drift, row.drifted_at) == (None, None)


async def test_the_loops_are_woken(rig: Rig) -> None:
    await rig.add(scheduled())
    await aged(rig)
    await rig.controls.rebinding.rebind(["t"], tag=None)
    assert rig.changes == [None]
