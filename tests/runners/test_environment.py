"""The environment of a run, and the cause that travels through it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.runners.workbench import Workbench
from tocsin.engine.runners.environment import decode_cause, encode_cause, own_cause, run_environment
from tocsin.event import Cause

BASE = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/home/u",
    "USER": "u",
    "SHELL": "/bin/zsh",
    "LANG": "de_DE.UTF-8",
    "LC_TIME": "C",
    "TZ": "Europe/Berlin",
    "TMPDIR": "/t",
    "AWS_SECRET_ACCESS_KEY": "s3cret",
    "LD_PRELOAD": "x.so",
    "PYTHONPATH": "/x",
    "TOCSIN_API_TOKEN": "t",
    "LCX": "no",
}


def test_only_the_allow_list_and_tocsins_own_are_there(bench: Workbench) -> None:
    env = run_environment(bench.request("true"), BASE)
    assert {name for name in env if not name.startswith("TOCSIN_")} == {
        "PATH",
        "HOME",
        "USER",
        "SHELL",
        "LANG",
        "LC_TIME",
        "TZ",
        "TMPDIR",
    }
    assert "TOCSIN_API_TOKEN" not in env


def test_the_facts_of_the_run(bench: Workbench) -> None:
    planned = datetime(2026, 5, 1, 7, 30, tzinfo=UTC)
    request = bench.request("true", facts={"planned_at": planned, "allow_destructive": True})
    env = run_environment(request, BASE)
    assert {name: value for name, value in env.items() if name.startswith("TOCSIN_")} == {
        "TOCSIN_HOME": str(bench.home),
        "TOCSIN_RUN_ID": request.run_id,
        "TOCSIN_EVENT_ID": "evt_1",
        "TOCSIN_REGISTRATION": "inbox",
        "TOCSIN_WORKFLOW": "ocr",
        "TOCSIN_ATTEMPT": "2",
        "TOCSIN_IDEMPOTENCY_KEY": "trigger:abc",
        "TOCSIN_PLANNED_AT": "2026-05-01T07:30:00Z",
        "TOCSIN_OUTPUT": str(request.run_dir / "output.jsonl"),
        "TOCSIN_PARAMS": str(request.run_dir / "params.json"),
        "TOCSIN_ALLOW_DESTRUCTIVE": "1",
        "TOCSIN_CAUSE": encode_cause(own_cause(request)),
    }


def test_no_planned_instant_no_variable(bench: Workbench) -> None:
    env = run_environment(bench.request("true", env={"TOCSIN_PLANNED_AT": "then"}), BASE)
    assert "TOCSIN_PLANNED_AT" not in env
    assert env["TOCSIN_ALLOW_DESTRUCTIVE"] == "0"


def test_a_workflow_sets_its_own_but_never_tocsins(bench: Workbench) -> None:
    request = bench.request(
        "true", env={"LANG": "C", "MODE": "fast", "TOCSIN_RUN_ID": "x", "TOCSIN_OTHER": "y"}
    )
    env = run_environment(request, BASE)
    assert (env["LANG"], env["MODE"], env["TOCSIN_RUN_ID"]) == ("C", "fast", request.run_id)
    assert "TOCSIN_OTHER" not in env


def test_tocsin_is_found_last_on_the_path(bench: Workbench) -> None:
    scripts = str(Path(sys.executable).parent)
    request = bench.request("true")
    assert run_environment(request, BASE)["PATH"] == f"/usr/bin:/bin:{scripts}"
    assert run_environment(request, {"PATH": f"{scripts}:/bin"})["PATH"] == f"{scripts}:/bin"
    assert run_environment(request, {})["PATH"] == f"{os.defpath}:{scripts}"
    assert run_environment(bench.request("true", env={"PATH": "/opt"}), BASE)["PATH"] == f"/opt:{scripts}"


def test_the_cause_names_this_run_and_the_whole_chain(bench: Workbench) -> None:
    before = Cause(run_id="run_0", lineage=("trg_8", "trg_9"))
    request = bench.request("true", facts={"cause": before})
    text = run_environment(request, BASE)["TOCSIN_CAUSE"]
    assert json.loads(text) == {"run_id": request.run_id, "lineage": ["trg_8", "trg_9", "trg_1"]}
    assert decode_cause(text) == Cause(run_id=request.run_id, lineage=("trg_8", "trg_9", "trg_1"))


@pytest.mark.parametrize(
    "text",
    [None, "", "{", "[]", "7", '{"run_id":1,"lineage":[]}', '{"run_id":"r","lineage":[1]}', "[" * 9999],
)
def test_what_is_no_cause_is_none(text: str | None) -> None:
    assert decode_cause(text) is None


@pytest.mark.parametrize("module", ["logfile", "environment"])
def test_the_faces_load_neither_asyncio_nor_psutil(module: str) -> None:
    code = f"import sys, tocsin.engine.runners.{module}; print({{'asyncio', 'psutil'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
