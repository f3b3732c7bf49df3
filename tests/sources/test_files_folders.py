"""Folders that come, go, move and are replaced under a watch."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.sources.rig import Rig

EVERY = ["created", "modified", "moved", "deleted"]


@pytest.mark.case("FS-13")
async def test_files_in_folders_made_at_once_fire_exactly_once(rig: Rig, w: Path) -> None:
    src = w.parent / "src"
    src.mkdir()
    for number in range(1, 11):
        (src / f"file{number}").write_text("x")
    await rig.start(w, recursive=True)
    for repetition in range(30):
        (w / f"r{repetition}/a/b/c").mkdir(parents=True)
        (w / f"r{repetition}/a/b/c/f.txt").write_text("x")
        shutil.copytree(src, w / f"r{repetition}/src")
    await rig.events(30 * 11)
    assert len(await rig.quiet(w)) == 30 * 11
    paths = Counter(made["path"] for made in rig.made())
    assert set(paths.values()) == {1}


@pytest.mark.case("FS-15")
async def test_a_folder_moved_in_is_walked_and_watched(rig: Rig, w: Path) -> None:
    out = w.parent / "out"
    (out / "d").mkdir(parents=True)
    (out / "d/in.txt").write_text("1")
    await rig.start(w, recursive=True)
    (out / "d").rename(w / "d")
    assert await rig.events(1) == [("created", "in.txt")]
    assert rig.made()[0]["path"] == str(w / "d/in.txt")
    (w / "d/later.txt").write_text("1")
    await rig.events(2)
    (w / "d/in.txt").unlink()
    (w / "d/in.txt").write_text("2")
    await rig.events(3)
    assert [name for _, name in await rig.quiet(w)] == ["in.txt", "later.txt", "in.txt"]


@pytest.mark.case("FS-17")
async def test_events_in_a_renamed_folder_carry_its_new_name(rig: Rig, w: Path) -> None:
    (w / "first").mkdir()
    (w / "first/file").write_text("1")
    await rig.start(w, recursive=True, on=EVERY)
    (w / "first").rename(w / "second")
    with (w / "second/file").open("a") as file:
        file.write("2")
    await rig.events(1)
    assert await rig.quiet(w) == [("moved", "file")]
    assert rig.made()[0]["path"] == str(w / "second/file")
    assert rig.made()[0]["src_path"] == str(w / "first/file")
    with (w / "second/file").open("a") as file:
        file.write("3")
    await rig.events(2)
    assert rig.made()[1]["path"] == str(w / "second/file")


@pytest.mark.case("FS-19")
async def test_a_replaced_root_is_watched_anew(rig: Rig, w: Path) -> None:
    await rig.start(w)
    old = w.rename(w.parent / "w_old")
    w.mkdir()
    (w / "new.txt").write_text("x")
    (old / "old.txt").write_text("x")
    await rig.events(1)
    (w / "newer.txt").write_text("x")
    await rig.events(2)
    assert await rig.quiet(w) == [("created", "new.txt"), ("created", "newer.txt")]


@pytest.mark.case("FS-31")
async def test_two_triggers_on_one_folder_do_not_disturb_each_other(rig: Rig, w: Path) -> None:
    (w / "sub").mkdir()
    await rig.start(w, name="one", recursive=True)
    await rig.start(w, name="two", recursive=False)
    await rig.start(w, name="three", recursive=False)
    (w / "x.txt").write_text("x")
    (w / "sub/y.txt").write_text("y")
    await rig.events(2, "one")
    assert await rig.events(1, "two") == [("created", "x.txt")]
    await rig.stop("one")
    await rig.stop("three")
    (w / "z.txt").write_text("z")
    await rig.events(2, "two")
    assert await rig.quiet(w, name="two") == [("created", "x.txt"), ("created", "z.txt")]
    assert sorted(rig.told("one")) == [("created", "x.txt"), ("created", "y.txt")]


async def test_a_renamed_file_is_one_move(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("x")
    await rig.start(w, on=EVERY)
    (w / "a.txt").rename(w / "b.txt")
    await rig.events(1)
    assert await rig.quiet(w) == [("moved", "b.txt")]
    assert rig.made()[0]["src_path"] == str(w / "a.txt")


async def test_a_chain_of_renames_names_where_it_began(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("x")
    await rig.start(w, on=EVERY, match=["*.txt"])
    (w / "a.txt").rename(w / "b.other")
    (w / "b.other").rename(w / "c.txt")
    await rig.events(1)
    assert await rig.quiet(w, ".txt") == [("moved", "c.txt")]
    assert rig.made()[0]["src_path"] == str(w / "a.txt")


async def test_a_file_moved_in_is_created_and_moved_out_deleted(rig: Rig, w: Path) -> None:
    outside = w.parent / "a.txt"
    outside.write_text("x")
    await rig.start(w, on=EVERY)
    outside.rename(w / "a.txt")
    await rig.events(1)
    (w / "a.txt").rename(outside)
    await rig.events(2)
    outside.rename(w / "a.txt")
    await rig.events(3)
    assert await rig.quiet(w) == [("created", "a.txt"), ("deleted", "a.txt"), ("created", "a.txt")]
    assert [made.delivery_id[-2:] for made in rig.bookmarks.occurrences[:3]] == [":1", ":2", ":3"]


async def test_deletions_are_told_only_when_asked_for_but_always_remembered(rig: Rig, w: Path) -> None:
    (w / "a.txt").write_text("x")
    await rig.start(w)
    (w / "a.txt").unlink()
    assert await rig.quiet(w) == []
    assert rig.bookmarks.marks["ins_t"][os.fsencode(w / "a.txt")].gone


async def test_a_single_file_survives_being_replaced_and_removed(rig: Rig, w: Path) -> None:
    one = w / "one.tmp"
    one.write_text("1")
    (w / "other").write_text("1")
    await rig.start(one, on=EVERY)
    beside = w / "beside"
    beside.write_text("22")
    beside.rename(one)
    assert await rig.events(1) == [("modified", "one.tmp")]
    (w / "other").write_text("22")
    one.unlink()
    await rig.events(2)
    one.write_text("333")
    assert await rig.events(3) == [("modified", "one.tmp"), ("deleted", "one.tmp"), ("created", "one.tmp")]
    assert rig.notices == []


async def test_a_root_behind_a_symbolic_link_is_named_as_configured(rig: Rig, w: Path) -> None:
    link = w.parent / "link"
    link.symlink_to(w)
    await rig.start(link)
    (w / "a.txt").write_text("x")
    await rig.events(1)
    assert rig.made()[0]["path"] == str(link / "a.txt")


async def test_links_pipes_and_sockets_do_not_fire(rig: Rig, w: Path) -> None:
    outside = w.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    await rig.start(w, recursive=True)
    (w / "to_file").symlink_to(outside / "secret")
    (w / "to_folder").symlink_to(outside)
    os.mkfifo(w / "pipe")
    (w / "folder").mkdir()
    assert await rig.quiet(w) == []
