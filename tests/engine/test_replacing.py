"""`overlap = "replace"`: the newest event takes the place of what its trigger still has in the lane."""

from __future__ import annotations

from tests.engine.rig import Rig, open_rig, scheduled, spec
from tests.fakes import failed, succeeded
from tocsin.notices import EventDropped, StopAsked
from tocsin.runs import Outcome, RunState, Verdict
from tocsin.trigger import Kind, Overlap

CANCELLED = Outcome(verdict=Verdict.CANCELLED)
REPLACE = spec(overlap=Overlap.REPLACE)


async def story(rig: Rig) -> list[tuple[str, str | None]]:
    return [(event.state.value, event.reason) for event in await rig.events()]


async def test_the_run_under_way_is_stopped_and_then_the_newest_starts(open_engine: Rig) -> None:
    row = await open_engine.add(REPLACE)
    first, second = [(await open_engine.accepted(row, f"d{n}")).event_id for n in range(2)]
    assert await story(open_engine) == [("claimed", None), ("held", "lane")]
    assert (await open_engine.event(first)).cancel_reason == "replaced"
    assert StopAsked(event_id=first, registration="t", reason="replaced") in open_engine.notices.all
    await open_engine.settle(open_engine.taken.pop(), CANCELLED)
    assert await story(open_engine) == [("dropped", "replaced"), ("claimed", None)]
    assert [claim.event.id for claim in open_engine.taken] == [second]
    assert [run.state for run in await open_engine.runs(first)] == [RunState.CANCELLED]


async def test_only_the_newest_waits(open_engine: Rig) -> None:
    row = await open_engine.add(REPLACE)
    ids = [(await open_engine.accepted(row, f"d{n}")).event_id for n in range(4)]
    assert await story(open_engine) == [
        ("claimed", None),
        ("dropped", "replaced"),
        ("dropped", "replaced"),
        ("held", "lane"),
    ]
    assert EventDropped(event_id=ids[1], registration="t", reason="replaced") in open_engine.notices.all


async def test_one_that_waits_for_its_next_attempt_gives_way_at_once(open_engine: Rig) -> None:
    row = await open_engine.add(REPLACE)
    await open_engine.accepted(row, "d0")
    await open_engine.settle(open_engine.taken.pop(), failed())
    await open_engine.accepted(row, "d1")
    assert await story(open_engine) == [("dropped", "replaced"), ("claimed", None)]


async def test_a_run_that_succeeds_before_it_is_stopped_has_succeeded(open_engine: Rig) -> None:
    row = await open_engine.add(REPLACE)
    for n in range(2):
        await open_engine.accepted(row, f"d{n}")
    await open_engine.settle(open_engine.taken.pop(0), succeeded())
    assert await story(open_engine) == [("succeeded", None), ("claimed", None)]


async def test_being_replaced_is_no_failure(open_engine: Rig) -> None:
    row = await open_engine.add(spec(overlap=Overlap.REPLACE, disable_after=1))
    for n in range(3):
        await open_engine.accepted(row, f"d{n}")
        await open_engine.settle(open_engine.taken.pop(0), CANCELLED)
    after = await open_engine.row(row.id)
    assert (after.enabled, after.consecutive_failures) == (True, 0)


async def test_a_schedule_replaces_too_and_skips_nothing(open_engine: Rig) -> None:
    row = await open_engine.add(scheduled(overlap=Overlap.REPLACE))
    for n in range(2):
        await open_engine.accepted(row, f"1:{n}")
    assert await open_engine.states() == ["claimed", "held"]


async def test_triggers_that_share_a_key_replace_only_their_own(open_engine: Rig) -> None:
    mine = await open_engine.add(spec("mine", overlap=Overlap.REPLACE, serialize_key="k"))
    other = await open_engine.add(spec("other", serialize_key="k"))
    await open_engine.accepted(other, "d0")
    await open_engine.accepted(mine, "d1")
    await open_engine.accepted(other, "d2")
    await open_engine.accepted(mine, "d3")
    assert await story(open_engine) == [
        ("claimed", None),
        ("dropped", "replaced"),
        ("held", "lane"),
        ("held", "lane"),
    ]


async def test_a_neighbour_that_waited_longer_goes_first(open_engine: Rig) -> None:
    mine = await open_engine.add(spec("mine", overlap=Overlap.REPLACE, serialize_key="k"))
    other = await open_engine.add(spec("other", serialize_key="k"))
    await open_engine.accepted(mine, "d0")
    await open_engine.settle(open_engine.taken.pop(), failed())
    await open_engine.accepted(other, "d1")
    await open_engine.accepted(mine, "d2")
    assert await story(open_engine) == [("dropped", "replaced"), ("claimed", None), ("held", "lane")]


async def test_a_duplicate_replaces_nothing(open_engine: Rig) -> None:
    row = await open_engine.add(REPLACE)
    await open_engine.accepted(row, "d0")
    await open_engine.accept(row, "d0")
    assert await story(open_engine) == [("claimed", None)]
    assert (await open_engine.events())[0].cancel_reason is None


async def test_what_is_to_be_stopped_is_dropped_also_when_the_engine_dies_first(open_engine: Rig) -> None:
    row = await open_engine.add(REPLACE)
    for n in range(2):
        await open_engine.accepted(row, f"d{n}")
    async with open_rig(open_engine.paths.home, owner="own_2") as after:
        await after.recovery().recover()
        assert await story(after) == [("dropped", "replaced"), ("pending", None)]


async def test_each_value_of_a_payload_is_a_lane_of_its_own(open_engine: Rig) -> None:
    row = await open_engine.add(spec(overlap=Overlap.REPLACE, serialize_by="payload:branch"))
    for n, branch in enumerate(("main", "dev", "main")):
        await open_engine.accepted(row, f"d{n}", payload={"branch": branch})
    assert await story(open_engine) == [("claimed", None), ("claimed", None), ("held", "lane")]


async def test_in_a_pause_the_newest_takes_the_place_of_what_waits_and_stops_nothing(
    open_engine: Rig,
) -> None:
    row = await open_engine.add(
        spec(kind=Kind.RUN, component="after", props={"trigger": "x", "on": "any"}, overlap=Overlap.REPLACE)
    )
    await open_engine.accepted(row, "d0")
    await open_engine.controls.pauses.pause(["t"], tag=None, everything=False, until=None)
    for n in (1, 2):
        await open_engine.accepted(row, f"d{n}")
    assert await story(open_engine) == [("claimed", None), ("dropped", "replaced"), ("held", "paused")]
    assert (await open_engine.events())[0].cancel_reason is None
