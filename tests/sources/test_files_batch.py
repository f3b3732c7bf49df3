"""`batch = true`: one event for everything that settles together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from tests.sources.rig import Killed, Rig
from tocsin.engine.sources.files.batching import Batch
from tocsin.engine.sources.files.changes import Change
from tocsin.engine.sources.files.settling import Stamp
from tocsin.event import Occurrence
from tocsin.seams import FileMark


def batches(rig: Rig) -> list[Occurrence]:
    return [made for made in rig.bookmarks.occurrences if made.registration_id == "trg_t"]


async def batched(rig: Rig, count: int) -> list[list[tuple[str, str]]]:
    """Wait for so many; (event, name) of each one's files."""
    await rig.signal.until(lambda: len(batches(rig)) >= count)
    payloads = [cast("Mapping[str, Any]", made.payload) for made in batches(rig)]
    assert all(payload["count"] == len(payload["files"]) for payload in payloads)
    return [[(file["event"], file["name"]) for file in payload["files"]] for payload in payloads]


async def test_a_burst_is_one_event(rig: Rig, w: Path) -> None:
    (w / "old").write_text("x")
    await rig.start(w, batch=True)
    for name in ("a", "b", "c"):
        (w / name).write_text(name)
    (w / "old").write_text("changed")
    (first,) = await batched(rig, 1)
    assert sorted(first) == [("created", "a"), ("created", "b"), ("created", "c"), ("modified", "old")]
    (w / "d").write_text("d")
    assert (await batched(rig, 2))[1] == [("created", "d")]
    assert [made.delivery_id for made in batches(rig)] == ["batch:1", "batch:2"]


async def test_its_number_goes_on_after_a_restart_and_a_new_baseline(rig: Rig, w: Path) -> None:
    for number in range(1, 4):
        await rig.start(w, batch=True)
        (w / f"{number}").write_text("x")
        await batched(rig, number)
        await rig.stop()
        if number == 2:
            rig.bookmarks.baselined.clear()
    assert [made.delivery_id for made in batches(rig)] == ["batch:1", "batch:2", "batch:3"]


async def test_one_that_could_not_be_recorded_is_told_whole_later(rig: Rig, w: Path) -> None:
    source = await rig.start(w, batch=True)
    rig.bookmarks.fail_next = Killed()
    for name in ("a", "b"):
        (w / name).write_text(name)
    await rig.died()
    await rig.run(source)
    (first,) = await batched(rig, 1)
    assert sorted(first) == [("created", "a"), ("created", "b")]


async def test_what_is_not_asked_for_is_remembered_without_an_event(rig: Rig, w: Path) -> None:
    (w / "old").write_text("x")
    await rig.start(w, batch=True, on=["created"])
    (w / "old").write_text("changed")
    (w / "new").write_text("x")
    assert await batched(rig, 1) == [[("created", "new")]]
    assert {mark.size for mark in rig.marks() if mark.path.endswith(b"old")} == {7}


async def test_many_are_several_events(rig: Rig, w: Path) -> None:
    await rig.start(w, batch=True, settle_ms=300)
    for number in range(1001):
        (w / f"{number}").touch()
    names = [name for batch in await batched(rig, 2) for _, name in batch]
    assert len(names) == len(set(names)) == 1001
    assert max(map(len, await batched(rig, 2))) <= 1000


class TestHeld:
    def test_it_is_told_when_all_rests_or_the_wait_is_over(self) -> None:
        batch = Batch(10)
        batch.add([change(b"/a")], [b"/a"], now=5)
        assert batch.take(14.9, resting=False) == []
        assert batch.take(6, resting=True) == [change(b"/a")]
        assert batch.take(15, resting=False) == [change(b"/a")]
        assert batch.deadline == 15

    def test_one_that_came_to_rest_as_it_was_waits_no_more(self) -> None:
        batch = Batch(10)
        batch.add([change(b"/a"), change(b"/b")], [b"/a", b"/b"], now=5)
        batch.add([], [b"/a"], now=6)
        assert list(batch.paths) == [b"/b"]
        batch.add([], [b"/b"], now=6)
        assert (len(batch), batch.deadline) == (0, None)


def change(path: bytes) -> Change:
    mark = FileMark(path=path, generation=1, size=1, mtime_ns=1, inode=1)
    return Change(kind="created", path=path, stamp=Stamp(1, 1, 1), marks=(mark,))
