"""`writes`: which files a pattern means, and what is no pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.loading import complaints, loaded
from tocsin.engine.own_writes import is_own


def configured(writes: str, cwd: str | None) -> str:
    return f'[workflows.w]\nshell = "w"\nwrites = [{writes}]\n' + (f'cwd = "{cwd}"\n' if cwd else "")


@pytest.mark.parametrize(
    ("writes", "cwd", "own", "other"),
    [
        ("'/srv/scans/**'", None, "/srv/scans/a/b", "/srv/a"),
        ("'done.pdf'", "/in", "/in/done.pdf", "/in/sub/done.pdf"),
        ("'./out/'", "/in", "/in/out/x/y", "/in/x"),
        ("'../out/*'", "/in", "/out/x", "/in/x"),
        ("'~/o/**'", "/in", "{home}/o/x", "/in/o/x"),
        ("'/a/**', '!/a/b'", None, "/a/c", "/a/b"),
        ("'*.pdf', '!in*.pdf'", "/in", "/in/done.pdf", "/in/in1.pdf"),
        ("'*.pdf'", "/in [1]", "/in [1]/x.pdf", "/in 1/x.pdf"),
        ("'*.pdf'", "/in*", "/in*/x.pdf", "/inn/x.pdf"),
        ("'~$*.docx'", "/in", "/in/~$a.docx", "/in/a.docx"),
        ("'#*'", "/in", "/in/#x", "/in/x"),
    ],
)
def test_a_pattern_means_files_from_cwd_or_from_the_root_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: str, cwd: str | None, own: str, other: str
) -> None:
    home = tmp_path / "home[1]"
    monkeypatch.setenv("HOME", str(home))
    found = loaded(tmp_path, configured(writes, cwd)).configuration.workflows["w"].writes
    assert is_own({"path": own.format(home=home)}, found)
    assert not is_own({"path": other}, found)


@pytest.mark.parametrize(
    ("writes", "cwd", "message"),
    [
        ("'''/a\\'''", None, "expected a pattern as in a .gitignore file"),
        ("'!'", "/in", "saw '!', expected a pattern as in a .gitignore file"),
        ("'/'", "/in", "saw '/', expected a pattern as in a .gitignore file"),
        ("'out/**'", None, 'expected one that begins with "/" or "~/", or a cwd that it starts from'),
    ],
)
def test_what_is_no_pattern_is_told(tmp_path: Path, writes: str, cwd: str | None, message: str) -> None:
    (found,) = complaints(tmp_path, configured(f"'/ok', {writes}", cwd))
    assert "workflows.w.writes[1]: saw" in found
    assert found.endswith(message)
