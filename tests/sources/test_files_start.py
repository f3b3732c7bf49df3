"""What fires when a source starts: first, after downtime, with other settings, after a crash."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.sources.rig import DEADLINE, Killed, Rig
from tocsin.notices import SourceRecovered

EVERY = ["created", "modified", "moved", "deleted"]


async def test_the_first_start_takes_what_is_there_as_known(rig: Rig, w: Path) -> None:
    (w / "old.txt").write_text("x")
    await rig.start(w)
    assert await rig.quiet(w) == []
    (w / "old.txt").write_text("changed")
    assert await rig.events(1) == [("modified", "old.txt")]


async def test_all_fires_what_is_there_at_the_first_start_only(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("x")
    (w / "b.txt").write_text("x")
    await rig.start(w, start="all")
    await rig.events(2)
    await rig.stop()
    await rig.start(w, start="all")
    assert len(await rig.quiet(w)) == 2


async def test_all_is_silent_when_the_trigger_is_enabled_again(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("x")
    await rig.start(w, start="all")
    await rig.events(1)
    await rig.stop()
    rig.bookmarks.baselined.clear()
    (w / "b.txt").write_text("x")
    await rig.start(w, start="all")
    await rig.quiet(w)
    assert await rig.events(1) == [("created", "a.txt")]
    (w / "a.txt").write_text("changed")
    await rig.events(2)


async def test_what_landed_while_off_is_picked_up_once(rig: Rig, w: Path) -> None:
    for name in ("changed", "removed", "renamed", "same"):
        (w / name).write_text(name)
    await rig.start(w, on=EVERY)
    await rig.stop()
    (w / "new").write_text("x")
    (w / "changed").write_text("something else")
    (w / "removed").unlink()
    (w / "renamed").rename(w / "renamed2")
    for _ in range(2):
        await rig.start(w, on=EVERY)
        await rig.quiet(w)
        await rig.stop()
    expected = [("created", "new"), ("deleted", "removed"), ("modified", "changed"), ("moved", "renamed2")]
    assert sorted(rig.told()) == expected


async def test_ignore_forgets_what_happened_while_off(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("x")
    (w / "b.txt").write_text("x")
    await rig.start(w, start="ignore", on=EVERY)
    await rig.stop()
    (w / "a.txt").write_text("changed")
    (w / "b.txt").unlink()
    (w / "new").write_text("x")
    await rig.start(w, start="ignore", on=EVERY)
    assert await rig.quiet(w) == []
    (w / "new").write_text("changed")
    assert await rig.events(1) == [("modified", "new")]


async def test_widening_the_patterns_fires_nothing_old(rig: Rig, w: Path) -> None:
    (w / "old.txt").write_text("x")
    (w / "sub").mkdir()
    (w / "sub/deep.pdf").write_text("x")
    await rig.start(w, match=["*.pdf"])
    await rig.stop()
    (w / "new.pdf").write_text("x")
    await rig.start(w, recursive=True)
    assert await rig.quiet(w) == [("created", "new.pdf")]
    (w / "old.txt").write_text("changed")
    await rig.events(2)
    await rig.stop()
    (w / "sub/later.txt").write_text("x")
    await rig.start(w, recursive=True)
    assert await rig.events(3) == [("created", "new.pdf"), ("modified", "old.txt"), ("created", "later.txt")]


async def test_a_second_root_added_later_starts_silently(rig: Rig, w: Path) -> None:
    other = w.parent / "other"
    other.mkdir()
    (other / "old.txt").write_text("x")
    await rig.start(w)
    await rig.stop()
    (w / "missed.txt").write_text("x")
    await rig.start(w, other)
    await rig.quiet(other)
    assert await rig.quiet(w) == [("created", "missed.txt")]


@pytest.mark.case("FS-23")
async def test_a_failed_recording_loses_nothing_and_doubles_nothing(rig: Rig, w: Path) -> None:
    await rig.start(w)
    rig.bookmarks.fail_next = RuntimeError("database is locked")
    (w / "a.txt").write_text("x")
    await rig.signal.until(lambda: rig.failures)
    (w / "b.txt").write_text("x")
    await rig.events(2)
    assert sorted(await rig.quiet(w)) == [("created", "a.txt"), ("created", "b.txt")]
    assert str(rig.failures) == "[RuntimeError('database is locked')]"
    await rig.notice(SourceRecovered)


async def test_ignore_does_not_forget_what_a_failed_recording_left(rig: Rig, w: Path) -> None:
    await rig.start(w, start="ignore")
    rig.bookmarks.fail_next = RuntimeError("disk is full")
    (w / "a.txt").write_text("x")
    await rig.events(1)
    assert await rig.quiet(w) == [("created", "a.txt")]


async def test_a_crash_between_settling_and_recording_loses_nothing(rig: Rig, w: Path) -> None:
    await rig.start(w)
    rig.bookmarks.fail_next = Killed()  # the process dies; another one starts
    (w / "a.txt").write_text("x")
    await rig.died()
    await rig.start(w)
    assert await rig.events(1) == [("created", "a.txt")]
    assert await rig.quiet(w) == [("created", "a.txt")]


async def test_a_crash_before_anything_settled_loses_nothing(rig: Rig, w: Path) -> None:
    await rig.start(w, settle_ms=60_000)
    (w / "a.txt").write_text("x")
    await rig.stop()
    await rig.start(w)
    assert await rig.events(1) == [("created", "a.txt")]


async def test_what_an_inactive_registration_missed_does_not_fire_later(rig: Rig, w: Path) -> None:
    await rig.start(w)
    rig.bookmarks.inactive.add("trg_t")
    (w / "a.txt").write_text("x")
    await rig.signal.until(lambda: any(mark.path.endswith(b"a.txt") for mark in rig.marks()))
    rig.bookmarks.inactive.clear()
    await rig.stop()
    await rig.start(w)
    assert await rig.quiet(w) == []


async def test_at_rest_means_nothing_noticed_is_still_to_be_told(rig: Rig, w: Path) -> None:
    source = await rig.start(w)
    await rig.stop()
    (w / "a.txt").write_text("x")
    source = await rig.start(w)
    assert not source.at_rest
    await rig.events(1)
    async with asyncio.timeout(DEADLINE):
        while not source.at_rest:
            await asyncio.to_thread(bool)
    assert rig.told() == [("created", "a.txt")]
