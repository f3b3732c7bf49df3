"""Names as they are: shell-like, with newlines, not UTF-8, and what does not count as a change."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

import pytest

from tests.sources.rig import Rig

NASTY = [
    "$(touch PWNED).txt",
    "`touch PWNED2`.txt",
    "a;touch PWNED3;.txt",
    '"; touch PWNED4; ".txt',
    "-rf.txt",
    "a\nb.txt",
    " lead and trail .txt",
    "tab\t.txt",
    "back\\slash.txt",
    "%FF.txt",
    "{event.x}.txt",
]


@pytest.mark.case("FS-27")
async def test_nasty_names_come_through_exactly(rig: Rig, w: Path) -> None:
    await rig.start(w, match=["*.txt"])
    for name in NASTY:
        (w / name).write_text("x")
    await rig.events(len(NASTY))
    assert sorted(made["path"] for made in rig.made()) == sorted(str(w / name) for name in NASTY)
    assert {str(w / name) + ":1" for name in NASTY} == {
        made.delivery_id for made in rig.bookmarks.occurrences
    }


async def test_a_name_that_is_not_utf8_comes_through_in_base64(rig: Rig, w: Path) -> None:
    exact = os.fsencode(w) + b"/caf\xe9 \xff.txt"
    await rig.start(w, match=["*.txt"], on=["created", "moved"])
    Path(os.fsdecode(exact)).write_text("x")
    await rig.events(1)
    (made,) = rig.made()
    assert made["name"] == "caf\ufffd \ufffd.txt"
    assert base64.b64decode(made["path_base64"]) == exact
    assert base64.b64decode(made["name_base64"]) == exact.rpartition(b"/")[2]
    assert rig.bookmarks.occurrences[0].delivery_id == f"bytes:{w}/caf%E9%20%FF.txt:1"
    assert rig.bookmarks.occurrences[0].delivery_id.isascii()
    Path(os.fsdecode(exact)).rename(w / "plain.txt")
    await rig.events(2)
    assert base64.b64decode(rig.made()[1]["src_path_base64"]) == exact


@pytest.mark.case("FS-29")
async def test_a_rename_in_case_only_is_one_move(rig: Rig, w: Path) -> None:
    (w / "index.js").write_text("x")
    await rig.start(w)
    (w / "index.js").rename(w / "Index.js")
    await rig.events(1)
    assert await rig.quiet(w) == [("moved", "Index.js")]


@pytest.mark.case("FS-29")
async def test_normal_forms_are_not_merged(rig: Rig, w: Path) -> None:
    await rig.start(w)
    composed, decomposed = "\u00e9.txt", "e\u0301.txt"
    (w / composed).write_text("x")
    (w / decomposed).write_text("x")
    await rig.events(2)
    assert sorted(name for _, name in await rig.quiet(w)) == sorted([composed, decomposed])


@pytest.mark.case("FS-25")
async def test_metadata_is_no_change_but_a_new_mtime_is(rig: Rig, w: Path) -> None:
    note = w / "a.txt"
    note.write_text("x")
    await rig.start(w)
    note.chmod(0o600)
    try:
        os.setxattr(note, "user.tocsin", b"1")
    except OSError:
        pytest.skip("no extended attributes here")
    before = note.stat()
    os.utime(note, ns=(before.st_atime_ns + 10**9, before.st_mtime_ns))
    note.read_text()
    assert await rig.quiet(w) == []
    subprocess.run(["touch", str(note)], check=True)  # noqa: ASYNC221 - another program, at once
    await rig.events(1)
    assert await rig.quiet(w) == [("modified", "a.txt")]


async def test_the_payload_is_complete(rig: Rig, w: Path) -> None:
    await rig.start(w)
    (w / "a.txt").write_text("four")
    os.utime(w / "a.txt", ns=(0, 1_700_000_000_123_456_789))
    await rig.events(1)
    assert rig.made()[0] == {
        "event": "created",
        "path": str(w / "a.txt"),
        "name": "a.txt",
        "src_path": None,
        "size": 4,
        "mtime": "2023-11-14T22:13:20.123456Z",
        "is_dir": False,
    }
    (occurrence,) = rig.bookmarks.occurrences
    assert (occurrence.component, occurrence.component_version, occurrence.event_type) == (
        "files",
        1,
        "created",
    )
    assert occurrence.occurred_at.tzinfo is not None
