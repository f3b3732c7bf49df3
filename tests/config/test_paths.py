"""Where a home keeps its things."""

from __future__ import annotations

import stat
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from tocsin.config.paths import make_private, resolve_paths
from tocsin.settings import Paths

NAMES = {
    "config": "tocsin.toml",
    "conf_d": "conf.d",
    "database": "tocsin.db",
    "secrets": "secrets.toml",
    "api_token": "api-token",
    "logs": "logs",
    "runs": "runs",
    "lock": "engine.lock",
    "socket": "tocsin.sock",
    "home": "",
}


def everything(paths: Paths) -> dict[str, Path]:
    return {field.name: getattr(paths, field.name) for field in fields(Paths)}


@pytest.mark.parametrize("by", ["flag", "variable"])
def test_a_home_holds_everything(tmp_path: Path, by: str) -> None:
    flag, environ = (tmp_path, {}) if by == "flag" else (None, {"TOCSIN_HOME": str(tmp_path)})
    paths = resolve_paths(home=flag, config=None, environ=environ)
    assert everything(paths) == {field: tmp_path / name for field, name in NAMES.items()}


def test_a_flag_outranks_its_variable(tmp_path: Path) -> None:
    environ = {"TOCSIN_HOME": "/elsewhere", "TOCSIN_CONFIG": "/elsewhere/x.toml"}
    paths = resolve_paths(home=tmp_path, config=tmp_path / "my.toml", environ=environ)
    assert paths.config == tmp_path / "my.toml"
    assert paths.home == tmp_path


@pytest.mark.parametrize("by", ["flag", "variable"])
def test_a_config_moves_the_file_and_its_conf_d_alone(tmp_path: Path, by: str) -> None:
    file = tmp_path / "etc/my.toml"
    flag, environ = (file, {}) if by == "flag" else (None, {"TOCSIN_CONFIG": str(file)})
    paths = resolve_paths(home=tmp_path / "home", config=flag, environ=environ)
    assert (paths.config, paths.conf_d) == (file, tmp_path / "etc/conf.d")
    assert paths.database == tmp_path / "home/tocsin.db"


def test_paths_are_absolute_wherever_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ada")
    paths = resolve_paths(home=Path("h"), config=Path("~/c.toml"), environ={})
    assert paths.home == tmp_path / "h"
    assert paths.config == Path("/home/ada/c.toml")


@pytest.mark.skipif(sys.platform != "linux", reason="XDG is Linux's habit")
@pytest.mark.parametrize("runtime", [None, "/run/user/4711"])
def test_without_a_home_the_platform_decides(monkeypatch: pytest.MonkeyPatch, runtime: str | None) -> None:
    for name, folder in (("CONFIG", "c"), ("DATA", "d"), ("STATE", "s")):
        monkeypatch.setenv(f"XDG_{name}_HOME", f"/{folder}")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    if runtime is not None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    paths = resolve_paths(home=None, config=None, environ={"TOCSIN_HOME": ""})
    assert everything(paths) == {
        "config": Path("/c/tocsin/tocsin.toml"),
        "conf_d": Path("/c/tocsin/conf.d"),
        "database": Path("/d/tocsin/tocsin.db"),
        "secrets": Path("/d/tocsin/secrets.toml"),
        "api_token": Path("/d/tocsin/api-token"),
        "logs": Path("/s/tocsin/logs"),
        "runs": Path("/s/tocsin/runs"),
        "lock": Path("/s/tocsin/engine.lock"),
        "socket": Path("/s/tocsin/tocsin.sock"),
        "home": Path("/d/tocsin"),
    }


def test_directories_are_made_private_and_existing_ones_left_alone(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir(mode=0o755)
    paths = resolve_paths(home=tmp_path / "old/new/home", config=None, environ={})
    make_private(paths)
    make_private(paths)
    for path in (paths.home, paths.home.parent, paths.logs, paths.runs):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o755


def test_asking_for_paths_does_not_load_pydantic() -> None:
    code = "import sys, tocsin.config.paths; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
