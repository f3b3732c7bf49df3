"""A state set by hand is what the next run is given."""

from __future__ import annotations

import pytest

from tests.engine.rig import Rig, claimed
from tests.fakes import succeeded
from tocsin.engine.trigger_state import StateSet
from tocsin.engine.verbs import VERBS
from tocsin.errors import BadRequest, NotFound, Refused


async def test_the_next_run_is_given_it(open_engine: Rig) -> None:
    row = await open_engine.add()
    done = await open_engine.controls.states.put("t", '{"v": 1, "n": 123456789012345678901}')
    assert done == StateSet(state={"v": 1, "n": 123456789012345678901}, under_way=False)
    claim = await claimed(open_engine, row)
    assert claim.registration.state == done.state


async def test_a_run_under_way_has_the_last_word(open_engine: Rig) -> None:
    claim = await claimed(open_engine)
    assert (await open_engine.controls.states.put("t", "1")).under_way
    await open_engine.settle(claim, succeeded(state=2))
    assert (await open_engine.named("t")).state == 2
    assert not (await open_engine.controls.states.put("t", "3")).under_way


async def test_null_clears_it(rig: Rig) -> None:
    await rig.add()
    await rig.controls.states.put("t", "1")
    assert await VERBS["set_state"](rig.controls, {"name": "t", "text": "null"}) == {
        "state": None,
        "under_way": False,
    }
    assert (await rig.named("t")).state is None


async def test_what_is_refused_changes_nothing_and_leaves_no_row(rig: Rig) -> None:
    await rig.add()
    await rig.controls.states.put("t", "1")
    before = await rig.count("SELECT count(*) FROM journal")
    for text, error in (("{", BadRequest), (f'"{"x" * 70_000}"', Refused)):
        with pytest.raises(error, match=r"^state is"):
            await rig.controls.states.put("t", text)
    with pytest.raises(NotFound):
        await rig.controls.states.put("nobody", "1")
    with pytest.raises(BadRequest, match="text"):
        await VERBS["set_state"](rig.controls, {"name": "t", "text": 1})
    assert await rig.count("SELECT count(*) FROM journal") == before
    assert (await rig.named("t")).state == 1
