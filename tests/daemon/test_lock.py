"""One engine to a home, and who it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.rig import until
from tocsin.daemon.lock import hold, new_holder, read_holder
from tocsin.errors import LockHeld

HOLD = """
import sys, threading
from pathlib import Path
from tocsin.daemon.lock import hold, new_holder
with hold(Path(sys.argv[1]), new_holder("engine")):
    print("held", flush=True)
    threading.Event().wait()
"""


def test_nobody_holds_a_lock_that_is_free_or_was_never_made(tmp_path: Path) -> None:
    path = tmp_path / "engine.lock"
    assert read_holder(path) is None
    with hold(path, new_holder("engine")):
        assert read_holder(path) is not None
    assert read_holder(path) is None


def test_the_holder_tells_where_it_is_reached(tmp_path: Path) -> None:
    path = tmp_path / "engine.lock"
    with hold(path, new_holder("engine")) as lock:
        lock.tell(url="http://127.0.0.1:1", socket="/s")
        found = read_holder(path)
        assert found is not None
        assert (found.url, found.socket, found.role) == ("http://127.0.0.1:1", "/s", "engine")


def test_a_second_one_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "engine.lock"
    with (
        hold(path, new_holder("engine")) as first,
        pytest.raises(LockHeld) as refusal,
        hold(path, new_holder("engine")),
    ):
        raise AssertionError("both hold it")
    assert refusal.value.pid == first.holder.pid
    assert "tocsin down" in str(refusal.value)


def test_garbage_from_an_earlier_life_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / "engine.lock"
    path.write_bytes(b"\xff{" * 10_000)
    assert read_holder(path) is None
    with hold(path, new_holder("engine")) as lock:
        assert read_holder(path) == lock.holder


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "engine.lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    found = read_holder(path)
    assert found is not None
    assert found.pid == holder.pid
    holder.kill()
    holder.wait()
    holder.stdout.close()
    until(lambda: read_holder(path) is None, "the lock is free")
