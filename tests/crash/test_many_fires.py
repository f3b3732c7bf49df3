"""Many programs fire at once: a key is one event and one run, whoever runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import is_thorough
from tests.crash.rig import DEADLINE_S, ROOT, Home, until

PROGRAMS = 8
KEYS = [f"k{n}" for n in range(50)]

CONFIG = """
[engine]
max_concurrent_runs = 8
max_concurrent_runs_per_workflow = 8

[workflows.note]
command = ["sh", "-c", 'echo "$TOCSIN_EVENT_ID" >>"$0"', "{ran}"]

[triggers.hand]
workflow = "note"
manual = true
overlap = "allow"
"""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path / "home", CONFIG.format(ran=tmp_path / "ran"))
    yield home
    home.end()


def ran(home: Home) -> Counter[str]:
    path = home.path.parent / "ran"
    return Counter(path.read_text("utf-8").split()) if path.exists() else Counter()


def firing(home: Home, flag: str, keys: list[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.crash.firing", "hand", flag, *keys]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=home.environ(), cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("engine", [True, False], ids=["with-engine", "without"])
def test_eight_programs_with_the_same_keys_make_one_event_and_one_run_of_each(
    home: Home, *, engine: bool
) -> None:
    if engine:
        home.up()
    keys = KEYS if is_thorough() else KEYS[:10]
    each = [firing(home, "--wait", keys[n:] + keys[:n]) for n in range(PROGRAMS)]
    said = [(*program.communicate(timeout=4 * DEADLINE_S), program.returncode) for program in each]
    assert [code for _, _, code in said] == [0] * PROGRAMS, [err for _, err, _ in said if err]

    told: dict[str, set[str]] = {key: set() for key in keys}
    first = 0
    for n, (out, _, _) in enumerate(said):
        documents = documents_of(out)
        assert len(documents) == len(keys)
        for key, document in zip(keys[n:] + keys[:n], documents, strict=True):
            told[key].add(document["event_id"])
            first += not document["duplicate"]
            assert document["state"] == "succeeded"
    assert {len(ids) for ids in told.values()} == {1}, "everybody was told the same"
    assert first == len(keys), "each key was somebody's first"
    assert ran(home) == Counter(id_ for ids in told.values() for id_ in ids), "and ran once"
    runs = home.json("runs", "--limit", "1000")
    assert Counter(run["state"] for run in runs) == {"succeeded": len(keys)}
    assert home.states() == {"succeeded": len(keys)}


def documents_of(text: str) -> list[dict[str, Any]]:
    """JSON documents one after the other."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while at < len(text.rstrip()):
        document, at = decoder.raw_decode(text, at)
        found.append(document)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def test_two_engines_on_one_home_run_each_of_200_once(home: Home) -> None:
    """QU-02: the second one is refused, whenever it comes; the queue is settled once, row by row."""
    events = 200 if is_thorough() else 40
    queued = firing(home, "--no-wait", [f"q{n}" for n in range(events)])
    assert queued.communicate(timeout=DEADLINE_S) is not None
    assert queued.returncode == 0
    assert home.states() == {"pending": events}
    home.up()
    assert [home.tocsin("up", "--port", "0").returncode for _ in range(2)] == [5, 5]
    until(lambda: ran(home).total() >= events, "all have run")
    until(lambda: home.states() == {"succeeded": events}, "all are settled")
    assert len(ran(home)) == ran(home).total() == events
    assert len(home.json("runs", "--limit", "1000")) == events
    assert home.interrupt() == 0
