"""`once`: what a run has done under a key, the next attempt of its trigger leaves out."""

from __future__ import annotations

import asyncio
import os
from dataclasses import asdict, replace

import pytest

from tests.engine.rig import Rig, claimed, spec
from tests.fakes import failed, succeeded
from tocsin.engine.once import LONGEST, Turn
from tocsin.engine.runners.process import process_facts
from tocsin.engine.verbs import VERBS
from tocsin.errors import BadRequest, NotFound, Refused
from tocsin.runs import Outcome, ProcessFacts, Verdict
from tocsin.store import journal
from tocsin.store.once import Holder
from tocsin.trigger import Json, Overlap

HERE = process_facts(os.getpid())
ABOVE = process_facts(os.getppid())  # another process that lives
GONE = replace(HERE, started=1)  # one that had this pid before


async def begin(
    rig: Rig, run_id: str, key: str = "mail", *, done: bool = False, process: ProcessFacts = HERE
) -> Turn:
    return await rig.controls.once.begin(Holder(run_id=run_id, process=process), key, done=done)


async def end(
    rig: Rig, run_id: str, key: str = "mail", result: str | None = None, process: ProcessFacts = HERE
) -> None:
    await rig.controls.once.end(Holder(run_id=run_id, process=process), key, result=result)


async def give_up(rig: Rig, run_id: str, process: ProcessFacts = HERE) -> None:
    await rig.controls.once.give_up(Holder(run_id=run_id, process=process), "mail")


async def test_what_is_done_is_done_for_the_next_attempt_and_says_what_it_came_to(open_engine: Rig) -> None:
    first = await claimed(open_engine)
    run = first.ref.run_id
    assert await begin(open_engine, run) == Turn(first=True, run_id=run)
    await end(open_engine, run, result='{"id":7}')
    await open_engine.settle(first, failed())
    open_engine.clock.advance(300)
    await open_engine.take()
    again = open_engine.taken.pop().ref.run_id
    assert await begin(open_engine, again) == Turn(first=False, run_id=run, result={"id": 7})
    assert await begin(open_engine, again, "another") == Turn(first=True, run_id=again)


async def test_a_key_alone_is_done_with_the_asking(open_engine: Rig) -> None:
    run = (await claimed(open_engine)).ref.run_id
    turns = [await begin(open_engine, run, done=True) for _ in range(2)]
    assert turns == [Turn(first=True, run_id=run), Turn(first=False, run_id=run)]


async def test_of_several_that_ask_at_once_within_a_run_one_has_it(open_engine: Rig) -> None:
    run = (await claimed(open_engine)).ref.run_id
    asked = [begin(open_engine, run, process=process) for process in (HERE, ABOVE, HERE)]
    first, *others = await asyncio.gather(*asked, return_exceptions=True)
    assert first == Turn(first=True, run_id=run)
    busy = f"'mail' is being done by process {HERE.pid} of this run: try again when it has ended"
    assert [(type(other), str(other)) for other in others] == [(Refused, busy)] * 2
    await end(open_engine, run)
    assert await begin(open_engine, run, process=ABOVE) == Turn(first=False, run_id=run)


async def test_what_is_given_up_may_be_tried_again(open_engine: Rig) -> None:
    run = (await claimed(open_engine)).ref.run_id
    await begin(open_engine, run)
    await give_up(open_engine, run, ABOVE)
    with pytest.raises(Refused):
        await begin(open_engine, run)
    await give_up(open_engine, run)
    assert (await begin(open_engine, run)).first
    await end(open_engine, run)
    await give_up(open_engine, run)
    assert not (await begin(open_engine, run)).first


@pytest.mark.parametrize("gone", [GONE, replace(HERE, boot_id="another"), replace(HERE, pid=2**22 + 1)])
async def test_what_a_process_that_is_gone_had_begun_is_taken_over(
    open_engine: Rig, gone: ProcessFacts
) -> None:
    row = await open_engine.add(spec(overlap=Overlap.ALLOW))
    one, other = await claimed(open_engine, row), await claimed(open_engine, row)
    await begin(open_engine, one.ref.run_id, process=gone)
    assert (await begin(open_engine, one.ref.run_id, process=gone)).first
    assert (await begin(open_engine, other.ref.run_id, process=HERE)).first
    [entry] = await open_engine.read(lambda tx: journal.of_event(tx, other.event.id))
    left = f"process {gone.pid} of {one.ref.run_id} ended without finishing it"
    assert (entry.what, entry.reason) == ("taken over", f"mail: {left}")
    with pytest.raises(Refused, match="not at this process's hands any more"):
        await end(open_engine, one.ref.run_id, process=gone)


async def test_while_another_run_is_at_it_it_is_refused(open_engine: Rig) -> None:
    row = await open_engine.add(spec(overlap=Overlap.ALLOW))
    one, other = (await claimed(open_engine, row)).ref.run_id, (await claimed(open_engine, row)).ref.run_id
    await begin(open_engine, one)
    with pytest.raises(Refused, match=f"'mail' is being done by process {HERE.pid} of {one}"):
        await begin(open_engine, other)
    await end(open_engine, one)
    assert await begin(open_engine, other) == Turn(first=False, run_id=one)


@pytest.mark.parametrize("outcome", [failed(), Outcome(verdict=Verdict.LOST)])
async def test_what_an_ended_run_had_begun_is_taken_over(open_engine: Rig, outcome: Outcome) -> None:
    """Between doing and noting it there is no way to know: at least once."""
    first = await claimed(open_engine)
    await begin(open_engine, first.ref.run_id)
    await open_engine.settle(first, outcome)
    open_engine.clock.advance(300)
    await open_engine.take()
    again = open_engine.taken.pop().ref.run_id
    assert await begin(open_engine, again) == Turn(first=True, run_id=again)
    with pytest.raises(Refused, match=f"hands any more: process {HERE.pid} of {again} has it"):
        await end(open_engine, first.ref.run_id)
    await end(open_engine, again)


async def test_each_trigger_has_keys_of_its_own(open_engine: Rig) -> None:
    one = (await claimed(open_engine, await open_engine.add(spec("a")))).ref.run_id
    other = (await claimed(open_engine, await open_engine.add(spec("b")))).ref.run_id
    assert (await begin(open_engine, one, done=True)).first
    assert (await begin(open_engine, other, done=True)).first


async def test_a_run_that_has_ended_begins_nothing_but_may_note_what_it_did(open_engine: Rig) -> None:
    first = await claimed(open_engine)
    await begin(open_engine, first.ref.run_id)
    await open_engine.settle(first, succeeded())
    with pytest.raises(Refused, match="has ended"):
        await begin(open_engine, first.ref.run_id, "other")
    await end(open_engine, first.ref.run_id)


async def test_the_story_of_the_event_tells_what_was_left_out_and_taken_over(open_engine: Rig) -> None:
    first = await claimed(open_engine)
    await begin(open_engine, first.ref.run_id, "letter", done=True)
    await begin(open_engine, first.ref.run_id, "mail")
    await open_engine.settle(first, failed())
    open_engine.clock.advance(300)
    await open_engine.take()
    again = open_engine.taken.pop().ref.run_id
    await begin(open_engine, again, "letter")
    await begin(open_engine, again, "mail")
    entries = await open_engine.read(lambda tx: journal.of_event(tx, first.event.id))
    assert [(entry.what, entry.reason) for entry in entries] == [
        ("left out", f"letter: done by {first.ref.run_id}"),
        ("taken over", f"mail: process {HERE.pid} of {first.ref.run_id} ended without finishing it"),
    ]


@pytest.mark.parametrize("key", ["", "k" * (LONGEST + 1)])
async def test_a_key_says_something_but_not_too_much(open_engine: Rig, key: str) -> None:
    run = (await claimed(open_engine)).ref.run_id
    with pytest.raises(BadRequest, match="expected 1 to 200 characters"):
        await begin(open_engine, run, key)


async def test_an_unknown_run_and_a_step_that_nobody_began_are_named(open_engine: Rig) -> None:
    with pytest.raises(NotFound, match="no run named 'run_x'"):
        await begin(open_engine, "run_x")
    run = (await claimed(open_engine)).ref.run_id
    with pytest.raises(Refused, match="nobody has begun it"):
        await end(open_engine, run)


@pytest.mark.parametrize("result", ["{", '"' + "x" * 70_000 + '"'])
async def test_a_result_that_cannot_be_kept_is_no_end(open_engine: Rig, result: str) -> None:
    run = (await claimed(open_engine)).ref.run_id
    await begin(open_engine, run)
    with pytest.raises((BadRequest, Refused)):
        await end(open_engine, run, result=result)
    await give_up(open_engine, run)
    assert (await begin(open_engine, run)).first


async def test_as_verbs(open_engine: Rig) -> None:
    run = (await claimed(open_engine)).ref.run_id
    asked: dict[str, Json] = {"run_id": run, "key": "mail", **asdict(HERE)}
    for _ in range(2):
        begun = await VERBS["once_begin"](open_engine.controls, asked)
        assert begun == {"first": True, "run_id": run, "result": None}
        assert await VERBS["once_give_up"](open_engine.controls, asked) == {}
    await VERBS["once_begin"](open_engine.controls, asked)
    assert await VERBS["once_end"](open_engine.controls, asked | {"result": "[1]"}) == {}
    again = await VERBS["once_begin"](open_engine.controls, asked | {"done": True})
    assert again == {"first": False, "run_id": run, "result": [1]}


@pytest.mark.parametrize("pid", [None, True, -1, 2**63, "1"])
async def test_a_verb_that_does_not_say_which_process_asks_is_refused(open_engine: Rig, pid: Json) -> None:
    run = (await claimed(open_engine)).ref.run_id
    asked: dict[str, Json] = {"run_id": run, "key": "mail", **asdict(HERE), "pid": pid}
    with pytest.raises(BadRequest, match="pid: expected a whole number"):
        await VERBS["once_begin"](open_engine.controls, asked)
