"""`[sources]` tables: what triggers that name one share, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.loading import WORKFLOW, complaints, loaded, trigger, warned
from tocsin.trigger import Kind, Overlap, Scope

DOWNLOADS = '[sources.downloads]\nfiles = { path = "in", match = ["*.pdf"] }\n'
NAMED = '[triggers.t]\nworkflow = "w"\nsource = "downloads"\n'


def test_a_trigger_that_names_one_has_its_settings(tmp_path: Path) -> None:
    spec = trigger(tmp_path, 'source = "downloads"', workflow=WORKFLOW + DOWNLOADS)
    assert (spec.source, spec.component, spec.kind) == ("downloads", "files", Kind.FILE)
    assert (spec.scope, spec.overlap) == (Scope.DESKTOP, Overlap.ALLOW)
    assert spec.props["paths"] == [str(tmp_path / "in")]
    assert spec.props["match"] == ["*.pdf"]


def test_one_that_nobody_names_is_allowed(tmp_path: Path) -> None:
    gone = f"sources.downloads.files.path: saw {tmp_path}/in, which is not there now"
    assert warned(tmp_path, WORKFLOW + DOWNLOADS) == [gone]
    assert warned(tmp_path, WORKFLOW + DOWNLOADS + NAMED) == [gone]
    assert set(loaded(tmp_path, WORKFLOW + DOWNLOADS).configuration.sources) == {"downloads"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            DOWNLOADS + NAMED.replace("downloads", "download"),
            "7: triggers.t.source: saw 'download', expected the name of a source (did you mean 'downloads'?)",
        ),
        (NAMED, "5: triggers.t.source: saw 'downloads', expected the name of a source (there is none)"),
        (
            "[sources.x]\n",
            "3: sources.x: saw nothing that happens, expected exactly one of ",
        ),
        (
            '[sources.x]\nfile = { path = "in" }\n',
            "4: sources.x.file: unknown key 'file' (did you mean 'files'?)",
        ),
        ("[sources.x]\nfiles = {}\n", "4: sources.x.files.path: "),
        (
            '[sources.x]\nfiles = { path = "in", match = ["!"] }\n',
            "4: sources.x.files.match[0]: saw '!', expected a pattern as in a .gitignore file",
        ),
        ("[sources]\nx = 1\n", "4: sources.x: saw 1, expected a table [sources.x]"),
    ],
)
def test_one_mistake_is_one_complaint(tmp_path: Path, text: str, complaint: str) -> None:
    [found] = complaints(tmp_path, WORKFLOW + text)
    assert found.startswith(complaint)


def test_a_trigger_of_a_faulty_source_hides_none_of_its_own_faults(tmp_path: Path) -> None:
    text = WORKFLOW + "[sources.downloads]\nfiles = {}\n" + NAMED + "max_attempts = 0\n"
    assert [line.split(":")[1].strip() for line in complaints(tmp_path, text)] == [
        "sources.downloads.files.path",
        "triggers.t.max_attempts",
    ]


def test_keys_that_do_nothing_for_its_kind_are_warned_of(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert warned(tmp_path, WORKFLOW + DOWNLOADS + NAMED + 'misfire = "skip"\n') == [
        "triggers.t.misfire: has no effect on a trigger with files"
    ]
