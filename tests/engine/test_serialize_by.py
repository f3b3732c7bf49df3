"""`serialize_by`: lanes named by what arrives."""

from __future__ import annotations

from tests.engine.rig import Rig, limits, spec
from tests.fakes import succeeded
from tocsin.event import Origin
from tocsin.registration import Registration

BY_ISSUE = spec(serialize_by="payload:issue.id")


async def comment(rig: Rig, row: Registration, delivery: str, issue: object) -> None:
    await rig.accepted(row, delivery, payload={"issue": {"id": issue}})


async def test_one_value_runs_in_order_values_run_beside_each_other(open_engine: Rig) -> None:
    row = await open_engine.add(BY_ISSUE)
    for n, issue in enumerate([1, 2, 1, 2, 1]):
        await comment(open_engine, row, f"d{n}", issue)
    assert await open_engine.states() == ["claimed", "claimed", "held", "held", "held"]
    await open_engine.settle(open_engine.taken[0], succeeded())
    assert await open_engine.states() == ["succeeded", "claimed", "claimed", "held", "held"]
    assert open_engine.taken[-1].event.delivery_id == "d2"


async def test_what_has_no_value_shares_the_triggers_own_lane(open_engine: Rig) -> None:
    row = await open_engine.add(BY_ISSUE)
    await open_engine.accepted(row, "d0", payload={"other": 1})
    await open_engine.accepted(row, "d1", payload=None)
    await comment(open_engine, row, "d2", 5)
    assert [event.lane for event in await open_engine.events()] == [row.id, row.id, f"{row.id}:5"]
    assert await open_engine.states() == ["claimed", "held", "claimed"]


async def test_two_triggers_with_equal_values_do_not_wait_for_each_other(open_engine: Rig) -> None:
    rows = [await open_engine.add(spec(name, serialize_by="payload:issue.id")) for name in ("a", "b")]
    for row in rows:
        await comment(open_engine, row, "d0", 1)
    assert await open_engine.states() == ["claimed", "claimed"]


async def test_a_fire_by_hand_and_a_replay_stand_in_the_lane_of_their_payload(open_engine: Rig) -> None:
    row = await open_engine.add(BY_ISSUE)
    await comment(open_engine, row, "d0", 1)
    await open_engine.accepted(row, "d1", payload={"issue": {"id": "1"}}, origin=Origin.MANUAL)
    first, second = await open_engine.events()
    await open_engine.controls.second_thoughts.replay([first.id], cause=None)
    replayed = (await open_engine.events())[-1]
    assert first.lane == second.lane == replayed.lane == f"{row.id}:1"
    assert await open_engine.states() == ["claimed", "held", "held"]


async def test_a_value_cannot_reach_into_the_lane_of_a_serialize_key(open_engine: Rig) -> None:
    keyed = await open_engine.add(spec("keyed", serialize_key="k"))
    row = await open_engine.add(BY_ISSUE)
    await open_engine.accepted(keyed, "d0")
    await comment(open_engine, row, "d1", "key:k")
    assert await open_engine.states() == ["claimed", "claimed"]


async def test_lanes_take_no_more_seats_than_there_are(rig: Rig) -> None:
    rig.claims.settings = limits(total=3, per_workflow=2)
    rig.open()
    row = await rig.add(BY_ISSUE)
    for n in range(20):
        await comment(rig, row, f"d{n}", n)
    assert (await rig.states()).count("claimed") == 2
