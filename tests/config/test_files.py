"""Files as files: several of them, their encoding, who may write them."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.config.loading import NOW, WORKFLOW, complaints, loaded, written
from tocsin.config.load import Loaded, load
from tocsin.config.reading import writable_by
from tocsin.errors import ConfigInvalid

TRIGGER = '[triggers.t]\nworkflow = "w"\nmanual = true\n'


def both(folder: Path, main: str, **parts: str) -> Loaded:
    for name, text in parts.items():
        written(folder, text, f"conf.d/{name}.toml")
    return loaded(folder, main)


def refused(folder: Path, main: str, **parts: str) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        both(folder, main, **parts)
    return str(caught.value).replace(f"{folder}/", "").split("\n")


def test_conf_d_is_merged_in_the_order_of_names(tmp_path: Path) -> None:
    found = both(
        tmp_path,
        '[engine]\nport = 1\n[workflows.a]\nshell = "a"\n',
        b='[engine]\nhost = "::1"\n[workflows.c]\nshell = "c"\n',
        a='[workflows.b]\nshell = "b"\ncwd = "x"\n[defaults]\nmax_attempts = 9\n'
        + TRIGGER.replace('"w"', '"c"'),
    )
    configuration = found.configuration
    assert list(configuration.workflows) == ["a", "b", "c"]
    assert (configuration.engine.port, configuration.engine.host) == (1, "::1")
    assert configuration.triggers["t"].max_attempts == 9
    assert [path.name for path in found.files] == ["tocsin.toml", "a.toml", "b.toml"]


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    part = '[defaults]\ncwd = "d"\n[workflows.b]\nshell = "b"\n[workflows.c]\nshell = "b"\ncwd = "x"\n'
    workflows = both(tmp_path, '[workflows.a]\nshell = "a"\n', p=part).configuration.workflows
    assert workflows["a"].cwd == tmp_path / "conf.d/d"
    assert workflows["b"].cwd == tmp_path / "conf.d/d"
    assert workflows["c"].cwd == tmp_path / "conf.d/x"


def test_what_two_files_say_is_an_error_that_names_both(tmp_path: Path) -> None:
    main = "[engine]\nport = 1\n" + WORKFLOW + TRIGGER
    assert refused(tmp_path, main, x="\n" + TRIGGER, y="engine.port = 2\n") == [
        "conf.d/x.toml:2: triggers.t: already set at tocsin.toml:5, expected it in one file only",
        "conf.d/y.toml:1: engine.port: already set at tocsin.toml:2, expected it in one file only",
    ]


def test_problems_of_several_files_come_in_file_order(tmp_path: Path) -> None:
    assert [line.split(" ")[0] for line in refused(tmp_path, "x = 1\ny = 1\n", b="z = 1\n", a="w = 1\n")] == [
        "tocsin.toml:1:",
        "tocsin.toml:2:",
        "conf.d/a.toml:1:",
        "conf.d/b.toml:1:",
    ]


def test_a_broken_part_hides_no_problem_of_the_others(tmp_path: Path) -> None:
    lines = refused(tmp_path, "x = 1\n", a="not toml\n", b="y = 1\n")
    assert [line.split(" ")[0] for line in lines] == [
        "conf.d/a.toml:1:",
        "tocsin.toml:1:",
        "conf.d/b.toml:1:",
    ]


def test_hidden_and_other_files_of_conf_d_are_not_read(tmp_path: Path) -> None:
    written(tmp_path, "not toml", "conf.d/.tocsin.toml")
    written(tmp_path, "not toml", "conf.d/x.toml~")
    written(tmp_path, "not toml", "conf.d/README.md")
    assert loaded(tmp_path, "").files == (tmp_path / "tocsin.toml",)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert loaded(tmp_path, "\ufeff[engine]\nport = 1\n").configuration.engine.port == 1


def test_windows_line_ends_count_as_one(tmp_path: Path) -> None:
    assert complaints(tmp_path, "[engine]\r\nport = 1\r\nprot = 2\r\n")[0].startswith("3: engine.prot")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a = 1\nb = \n", "2: not TOML: Invalid value at column 5"),
        ("a = 1\na = 2\n", "2: not TOML: Cannot overwrite a value at column 6"),
        ("a = '\n", '2: not TOML: Expected "\'" at the end of the file'),
        ("a = " + "[" * 9000 + "]" * 9000, "nested too deeply, expected a configuration"),
        ("a = " + "9" * 9000, "not TOML"),
    ],
)
def test_bad_toml_is_told_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    [found] = complaints(tmp_path, text)
    assert found.startswith(complaint)


def test_other_encodings_are_told_with_their_line(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    path.write_bytes("a = 1\nb = 'é'\n".encode("latin-1"))
    with pytest.raises(ConfigInvalid, match=r"tocsin\.toml:2: saw the byte 0xe9, expected text in UTF-8"):
        load(path, now=NOW, system_tz="UTC")


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match=r"no such file.*tocsin init"):
        load(tmp_path / "none.toml", now=NOW, system_tz="UTC")


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigInvalid, match="not a file, expected a configuration"):
        load(tmp_path, now=NOW, system_tz="UTC")


def test_a_file_that_everyone_may_write_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "")
    path.chmod(0o602)
    with pytest.raises(
        ConfigInvalid, match=r"may be written by everyone, expected only its owner \(chmod go-w"
    ):
        load(path, now=NOW, system_tz="UTC")


def test_a_conf_d_that_everyone_may_write_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "", "conf.d/a.toml")
    (tmp_path / "conf.d").chmod(0o777)
    with pytest.raises(ConfigInvalid, match=r"conf\.d: may be written by everyone"):
        loaded(tmp_path, "")


def facts(mode: int, uid: int, gid: int) -> os.stat_result:
    return os.stat_result((stat.S_IFREG | mode, 0, 0, 1, uid, gid, 0, 0, 0, 0))


@pytest.mark.parametrize(
    ("mode", "uid", "gid", "who"),
    [
        (0o644, 0, 12345, None),
        (0o664, 0, 0, None),
        (0o664, 54321, 54321, None),  # a user's own group, even if this machine knows neither
        (0o664, 54321, 54322, "the group 54322"),
        (0o666, 54321, 54321, "everyone"),
        (0o642, 0, 0, "everyone"),
    ],
)
def test_who_else_may_write(mode: int, uid: int, gid: int, who: str | None) -> None:
    assert writable_by(facts(mode, uid, gid)) == who
