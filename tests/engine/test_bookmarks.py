"""What file sources remember: a mark and its event commit together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.pausing import pause, resume
from tests.engine.rig import Rig, commits_of, spec
from tests.store.raw import on_writer
from tocsin.engine.bookmarks import rebased
from tocsin.errors import BindingMismatch, StoreUnusable
from tocsin.event import Accepted, Declined, Duplicate, Occurrence
from tocsin.registration import Registration
from tocsin.seams import FileMark
from tocsin.trigger import Kind, TriggerSpec

MARK = FileMark(path=b"/in/a.txt", generation=1, size=3, mtime_ns=5, inode=7)


def files(name: str = "inbox", **changes: Any) -> TriggerSpec:
    return spec(name, kind=Kind.FILE, component="files", props={"paths": ["/in"]}, **changes)


def settled(rig: Rig, row: Registration, mark: FileMark) -> Occurrence:
    delivery = f"{mark.path.decode('utf-8', 'replace')}:{mark.generation}"
    return rig.occurrence(row, delivery, event_type="created")


async def test_mark_and_event_are_one_transaction_and_the_claim_rides_in_it(open_engine: Rig) -> None:
    row = await open_engine.add(files())
    commits = await commits_of(open_engine)
    occurrence = settled(open_engine, row, MARK)
    (answer,) = await open_engine.bookmarks.record(row.installation_id, [MARK], [occurrence])
    assert len(commits) == 1
    assert isinstance(answer, Accepted)
    assert answer.run_id == open_engine.taken[0].ref.run_id


async def test_neither_is_written_when_one_cannot_be(rig: Rig) -> None:
    row = await rig.add(files())
    await rig.bookmarks.baseline(row.installation_id, [])
    await on_writer(
        rig.store,
        "CREATE TEMP TRIGGER full BEFORE INSERT ON main.events BEGIN SELECT json_extract('{', '$'); END",
    )
    with pytest.raises(StoreUnusable):
        await rig.bookmarks.record(row.installation_id, [MARK], [settled(rig, row, MARK)])
    assert await rig.bookmarks.load(row.installation_id) == {}
    await on_writer(rig.store, "DROP TRIGGER full")
    await rig.bookmarks.record(row.installation_id, [MARK], [settled(rig, row, MARK)])
    assert await rig.states() == ["pending"]


async def test_a_settled_state_that_is_recorded_again_is_a_duplicate(rig: Rig) -> None:
    """The engine died between the commit and the source's own memory of it."""
    row = await rig.add(files())
    for wanted in (Accepted, Duplicate):
        answers = await rig.bookmarks.record(row.installation_id, [MARK], [settled(rig, row, MARK)])
        assert [type(answer) for answer in answers] == [wanted]
    assert len(await rig.events()) == 1


async def test_a_burst_is_one_commit_in_order(rig: Rig) -> None:
    row = await rig.add(files())
    marks = [replace(MARK, path=f"/in/{n:04}".encode(), inode=n) for n in range(500)]
    commits = await commits_of(rig)
    answers = await rig.bookmarks.record(
        row.installation_id, marks, [settled(rig, row, mark) for mark in marks]
    )
    assert len(commits) == 1
    found = await rig.events()
    assert [answer.event_id for answer in answers if isinstance(answer, Accepted)] == [
        event.id for event in found
    ]
    assert [event.delivery_id for event in found] == [f"/in/{n:04}:1" for n in range(500)]


async def test_what_comes_while_it_is_off_is_marked_and_never_runs(rig: Rig) -> None:
    row = await rig.add(files())
    await rig.bookmarks.baseline(row.installation_id, [])
    await rig.disarm(row)
    answers = await rig.bookmarks.record(row.installation_id, [MARK], [settled(rig, row, MARK)])
    assert answers == [Declined(reason="user")]
    assert await rig.bookmarks.load(row.installation_id) == {MARK.path: MARK}
    assert await rig.events() == []


async def test_a_wrong_binding_is_told(rig: Rig) -> None:
    row = await rig.add(files())
    wrong = replace(settled(rig, row, MARK), component_version=2)
    with pytest.raises(BindingMismatch):
        await rig.bookmarks.record(row.installation_id, [MARK], [wrong])
    assert await rig.events() == []


async def test_enabling_asks_for_a_new_baseline_and_generations_go_on(rig: Rig) -> None:
    row = await rig.add(files())
    await rig.bookmarks.baseline(row.installation_id, [MARK])
    await rig.bookmarks.record(row.installation_id, [replace(MARK, generation=4)], [])
    await rig.disarm(row)
    await rig.enable(row)
    assert await rig.bookmarks.load(row.installation_id) is None
    stored = await rig.bookmarks.baseline(row.installation_id, [MARK])
    assert stored == {MARK.path: replace(MARK, generation=5)}
    assert await rig.bookmarks.load(row.installation_id) == stored


class TestRebased:
    MARKS = st.dictionaries(
        st.sampled_from([b"a", b"b", b"c", b"\xff"]),
        st.builds(
            replace,
            st.just(MARK),
            generation=st.integers(1, 9),
            size=st.integers(0, 3),
            gone=st.booleans(),
        ),
    ).map(lambda found: {path: replace(mark, path=path) for path, mark in found.items()})

    @given(MARKS, MARKS)
    def test_generations_only_rise_and_nothing_is_forgotten(
        self, old: dict[bytes, FileMark], present: dict[bytes, FileMark]
    ) -> None:
        here = [replace(mark, gone=False) for mark in present.values()]
        stored = rebased(old, here)
        assert stored.keys() == old.keys() | present.keys()
        for path, mark in stored.items():
            assert mark.path == path
            assert mark.gone == (path not in present)
            if path in old:
                least = old[path].generation + (path in present)
                assert mark.generation == least


async def test_what_settles_as_a_pause_begins_leaves_no_mark_so_that_it_is_found_afterwards(rig: Rig) -> None:
    row = await rig.add(files())
    await rig.bookmarks.baseline(row.installation_id, [])
    await pause(rig, row)
    (answer,) = await rig.bookmarks.record(row.installation_id, [MARK], [settled(rig, row, MARK)])
    assert answer == Declined(reason="paused")
    assert await rig.bookmarks.load(row.installation_id) == {}
    await resume(rig, row)
    (answer,) = await rig.bookmarks.record(row.installation_id, [MARK], [settled(rig, row, MARK)])
    assert isinstance(answer, Accepted)
