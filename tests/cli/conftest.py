"""Homes: without anything, with a configuration, with that applied, with an engine up."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.cli.calling import CONFIG, Home
from tocsin.daemon.lock import SIZE, read_holder

ENGINE_S = 120.0  # longer than all tests that share one


@pytest.fixture
def bare(tmp_path: Path) -> Home:
    """No configuration, no database, no directory."""
    return Home(path=tmp_path / "home")


@pytest.fixture
def written(bare: Home) -> Home:
    """A configuration that nobody applied yet."""
    bare.path.mkdir(mode=0o700)
    bare.config.write_text(CONFIG)
    return bare


@pytest.fixture(scope="session")
def applied(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """What `home` is copied from: to apply once is enough."""
    found = Home(path=tmp_path_factory.mktemp("cli") / "home")
    found.path.mkdir(mode=0o700)
    found.config.write_text(CONFIG)
    found.ok("apply")
    return found


@pytest.fixture
def home(bare: Home, applied: Home) -> Home:
    """The configuration applied, no engine."""
    shutil.copytree(applied.path, bare.path)
    return bare


@pytest.fixture
def engine(written: Home) -> Iterator[Home]:
    """The configuration applied by an engine that runs."""
    with running(written) as home:
        yield home


@pytest.fixture(scope="module")
def shared_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One engine for tests that leave it as it was."""
    home = Home(path=tmp_path_factory.mktemp("shared") / "home")
    home.path.mkdir(mode=0o700)
    home.config.write_text(CONFIG)
    with running(home):
        yield home


@contextmanager
def running(home: Home) -> Iterator[Home]:
    """`tocsin up` on it, from its being ready to its end."""
    with home.process("up", seconds=ENGINE_S) as up:
        assert up.stderr is not None
        for line in up.stderr:
            if "ready" in line:
                break
        yield home
        up.terminate()
        up.stderr.read()
    assert read_holder(home.path / "engine.lock") is None


@pytest.fixture
def engine_over_tcp(engine: Home) -> Home:
    """An engine whose lock names no socket, as where there are none."""
    lock = engine.path / "engine.lock"
    holder = read_holder(lock)
    assert holder is not None
    lock.write_bytes(json.dumps(asdict(replace(holder, socket=None))).encode().ljust(SIZE))
    return engine
