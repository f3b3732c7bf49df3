"""kill -9 under load: nothing recorded is lost, nothing runs beside its retry."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.crash.rig import Home, until

# Marks its event as running with a file that only one process can hold, waits for the go, marks the end.
WORKER = """
import fcntl, os, pathlib, sys, time
here = pathlib.Path(sys.argv[1])
event = os.environ["TOCSIN_EVENT_ID"]
lock = open(here / (event + ".lock"), "w")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    (here / "overlap").write_text(event)
    sys.exit(1)
with open(here / "started", "a") as log:
    log.write(event + "\\n")
while not (here / "go").exists():
    time.sleep(0.02)
with open(here / "ended", "a") as log:
    log.write(event + "\\n")
"""

CONFIG = """
[engine]
max_concurrent_runs = 4

[workflows.work]
command = ["{python}", "{worker}", "{here}"]

[triggers.job]
workflow = "work"
webhook = {{ auth = "none" }}
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER, "utf-8")
    home = Home(tmp_path / "home", CONFIG.format(python=sys.executable, worker=worker, here=tmp_path))
    yield home
    home.end()


def lines(path: Path) -> Counter[str]:
    return Counter(path.read_text("utf-8").split()) if path.exists() else Counter()


def living(here: Path) -> list[int]:
    """Workers of this test that still run."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        arguments = process.info["cmdline"] or []
        if str(here / "worker.py") in arguments and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


def test_after_kill_9_every_event_succeeds_and_none_runs_beside_its_retry(home: Home, tmp_path: Path) -> None:
    home.up()
    events = [home.json("fire", "job", "--no-wait", "--payload", str(n))["event_id"] for n in range(24)]
    until(lambda: len(lines(tmp_path / "started")) == 4, "four run")
    assert home.states() == {"claimed": 4, "pending": 20}

    home.kill()
    orphans = living(tmp_path)
    assert len(orphans) == 4, "the commands outlive their engine until it is started again"

    home.up()
    until(lambda: sum(lines(tmp_path / "started").values()) == 8, "four run again")
    assert not set(orphans) & set(living(tmp_path)), "orphans were stopped before their retry"
    (tmp_path / "go").touch()
    until(lambda: home.states() == {"succeeded": 24}, "all have succeeded")

    assert not (tmp_path / "overlap").exists()
    assert lines(tmp_path / "ended") == Counter(events), "each ran to its end once"
    runs = Counter(run["state"] for run in home.json("runs", "--limit", "1000"))
    assert runs == {"succeeded": 24, "lost": 4}
    assert home.json("show", "job")["consecutive_failures"] == 0
    assert home.interrupt() == 0
    assert not living(tmp_path)


def test_ctrl_c_gives_attempts_back_and_leaves_no_process(home: Home, tmp_path: Path) -> None:
    home.up()
    home.json("fire", "job", "--no-wait")
    until(lambda: len(lines(tmp_path / "started")) == 1, "it runs")
    done = home.tocsin("down", "--now")
    assert done.returncode == 0, done.stderr
    assert home.engine is not None
    assert home.engine.wait(30) == 0
    assert not living(tmp_path)
    [event] = home.json("events")
    assert (event["state"], event["attempts"]) == ("pending", 0)


def test_a_second_engine_on_one_home_is_refused_with_exit_5(home: Home) -> None:
    home.up()
    second = home.tocsin("up", "--port", "0")
    assert second.returncode == 5
    assert "already running" in second.stderr
