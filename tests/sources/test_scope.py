"""Which paths a trigger is about."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.engine.sources.files.scope import Scope, is_partial


def scope(
    *roots: str, recursive: bool = True, match: Sequence[str] = (), ignore: Sequence[str] = ()
) -> Scope:
    return Scope(map(str.encode, roots or ("/w",)), recursive=recursive, match=match, ignore=ignore)


@pytest.mark.parametrize(
    ("match", "ignore", "path", "covered"),
    [
        ([], [], "/w/a", True),
        ([], [], "/w/sub/a", True),
        ([], [], "/wide/a", False),
        (["*.mkv"], [], "/w/film.mkv", True),
        (["*.mkv"], [], "/w/film.mkv.part", False),
        (["*.mkv"], [], "/w/FILM.MKV", False),
        (["*.mkv"], [], "/w/.mkv", False),
        (["*.mkv", "/only/*.avi"], [], "/w/only/x.avi", True),
        (["*.mkv", "/only/*.avi"], [], "/w/x.avi", False),
        (["*.pdf", "!draft*"], [], "/w/draft1.pdf", False),
        ([], ["archive/**"], "/w/archive/a", False),
        ([], ["archive/**"], "/w/other/archive/a", True),
        ([], ["node_modules/"], "/w/x/node_modules/y/z", False),
        ([], [], "/w/.env", False),
        ([".env"], [], "/w/.env", True),
        ([".*", "*"], [], "/w/.env", True),
        ([".*", "*"], [], "/w/a", True),
        ([], [], "/w/.git/config", False),
        ([".git/**"], [], "/w/.git/config", True),
        (["*.txt"], [], "/w/a\nb.txt", True),
        (["*.txt"], [], "/w/ lead.txt", True),
    ],
)
def test_patterns(match: list[str], ignore: list[str], path: str, covered: bool) -> None:
    assert scope(match=match, ignore=ignore).covers(path.encode()) is covered


def test_without_recursion_only_the_roots_own_files_are_covered() -> None:
    flat = scope(recursive=False)
    assert flat.covers(b"/w/a")
    assert not flat.covers(b"/w/sub/a")
    assert not flat.enters(b"/w/sub")


def test_a_root_that_is_a_file_always_matches_itself() -> None:
    assert scope("/w/note.tmp", match=["*.pdf"]).covers(b"/w/note.tmp")


def test_the_nearest_root_decides() -> None:
    both = scope("/w", "/w/sub", recursive=False)
    assert both.root_of(b"/w/sub/a") == b"/w/sub"
    assert both.covers(b"/w/sub/a")


def test_a_root_of_everything_works() -> None:
    assert scope("/", match=["*.txt"]).covers(b"/etc/a.txt")


@pytest.mark.parametrize("folder", [b"/w/node_modules", b"/w/.git", b"/w/unpacking.part", b"/elsewhere"])
def test_folders_that_cannot_hold_anything_covered_are_not_entered(folder: bytes) -> None:
    assert not scope(ignore=["node_modules/"]).enters(folder)
    assert scope(ignore=["node_modules/"]).enters(b"/w/src")


@pytest.mark.parametrize(
    "name",
    [
        "a.part", "a.crdownload", "a.tmp", "a.download", "a.partial", "a~", ".a.swp", ".a.swx", ".a.swo",
        ".#a", "#a#", ".~lock.a#", ".DS_Store", "Thumbs.db", ".goutputstream-X", ".syncthing.a.tmp",
        "~syncthing~a.tmp", ".nfs0001", "4913",
    ],
)  # fmt: skip
def test_unfinished_files_are_ignored_whatever_matches(name: str) -> None:
    assert is_partial(name)
    assert not scope(match=["*", ".*"]).covers(f"/w/{name}".encode())


@pytest.mark.parametrize("name", ["part", "a.parts", "a#", "#a", "4913.txt", "~a", "tmp", "a.tmpl"])
def test_similar_names_are_not_taken_for_unfinished(name: str) -> None:
    assert not is_partial(name)


@given(st.binary(min_size=1, max_size=12).filter(lambda name: b"/" not in name and b"\0" not in name))
def test_any_name_can_be_asked_for_and_a_key_gives_the_same_scope(name: bytes) -> None:
    made = Scope([b"/w", b"/" + name], recursive=True, match=["*.txt", ".x"], ignore=["b*"])
    again = Scope.from_key(made.key)
    assert again.key == made.key
    for path in (b"/w/" + name, b"/" + name + b"/a.txt", b"/" + name):
        assert again.covers(path) is made.covers(path)
