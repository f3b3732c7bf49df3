"""What each source's table becomes: JSON settings, lanes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.config.loading import WORKFLOW, trigger, warned
from tocsin.trigger import Json, Kind, Overlap

STATEFUL = '[workflows.w]\ncommand = ["echo"]\noutputs = ["state"]\n'


def test_files_are_absolute_and_defaults_are_filled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    spec = trigger(tmp_path, 'files = { path = ["~/Inbox", "in", "./in/", "/srv/x"], match = ["*.pdf"] }')
    assert (spec.kind, spec.component) == (Kind.FILE, "files")
    assert spec.props == {
        "paths": ["/home/ada/Inbox", str(tmp_path / "in"), "/srv/x"],
        "recursive": False,
        "match": ["*.pdf"],
        "ignore": [],
        "on": ["created", "modified", "moved"],
        "debounce_ms": 500,
        "settle_ms": 1000,
        "max_wait_ms": 600_000,
        "at_max_wait": "emit",
        "batch": False,
        "compare": "stat",
        "start": "new-since-stop",
    }


def test_a_webhook_takes_the_engines_limit_and_its_own_dedupe(tmp_path: Path) -> None:
    spec = trigger(
        tmp_path, 'webhook = { body_limit = 100 }\ndedupe = { payload = "id", body_window = "0s" }'
    )
    assert (spec.kind, spec.component) == (Kind.WEBHOOK, "webhook")
    assert spec.props == {
        "auth": "token",
        "body_limit": 100,
        "dedupe": {"header": None, "payload": "id", "body_window_ms": 0},
    }
    plain = trigger(tmp_path, "webhook = {}", workflow='[engine]\nbody_limit = "2MiB"\n' + WORKFLOW)
    assert plain.props["body_limit"] == 2 * 1024 * 1024


@pytest.mark.parametrize(
    ("keys", "strategy"),
    [
        ("strategy = 'unique'", {}),
        ("strategy = 'last'", {"strategy": "last", "n": 100}),
        ("strategy = 'last', n = 7", {"strategy": "last", "n": 7}),
        ("strategy = 'greatest', order = 'time'", {"strategy": "greatest", "order": "time"}),
    ],
)
def test_a_strategy_is_written_beside_the_place_of_the_id(
    tmp_path: Path, keys: str, strategy: dict[str, Json]
) -> None:
    spec = trigger(tmp_path, f"webhook = {{}}\ndedupe = {{ header = 'X-Id', {keys} }}")
    place = {"header": "X-Id", "payload": None, "body_window_ms": 10_000}
    assert spec.props["dedupe"] == place | strategy


def test_a_body_window_beside_greatest_is_idle(tmp_path: Path) -> None:
    keys = "header = 'X-Id', strategy = 'greatest', order = 'text', body_window = '1s'"
    text = f"{WORKFLOW}[triggers.t]\nworkflow = 'w'\nwebhook = {{}}\ndedupe = {{ {keys} }}\n"
    (warning,) = warned(tmp_path, text)
    assert warning.startswith('triggers.t.dedupe.body_window: has no effect beside "greatest"')


@pytest.mark.parametrize(
    ("keys", "props"),
    [
        ('after = { workflow = "v" }', {"workflow": "v", "on": "success"}),
        ('after = { trigger = "u", on = "any" }', {"trigger": "u", "on": "any"}),
    ],
)
def test_chains(tmp_path: Path, keys: str, props: dict[str, str]) -> None:
    other = WORKFLOW + '[triggers.u]\nworkflow = "v"\nmanual = true\n'
    spec = trigger(tmp_path, keys, workflow=other)
    assert (spec.kind, spec.component, spec.props) == (Kind.RUN, "after", props)


@pytest.mark.parametrize(
    ("keys", "workflow", "overlap"),
    [
        ('every = "1m"', WORKFLOW, Overlap.SKIP),
        ('every = "1m"\nserialize_key = "k"', WORKFLOW, Overlap.QUEUE),
        ('every = "1m"', STATEFUL, Overlap.QUEUE),
        ("manual = true", WORKFLOW, Overlap.QUEUE),
        ('after = { workflow = "v" }', WORKFLOW, Overlap.QUEUE),
        ("webhook = {}", WORKFLOW, Overlap.ALLOW),
        ('files = { path = "x" }', WORKFLOW, Overlap.ALLOW),
        ("webhook = {}", STATEFUL, Overlap.QUEUE),
        ('webhook = {}\nserialize_key = "k"', WORKFLOW, Overlap.QUEUE),
        ('webhook = {}\noverlap = "allow"', STATEFUL, Overlap.ALLOW),
        ("webhook = {}", '[defaults]\noverlap = "skip"\n' + WORKFLOW, Overlap.SKIP),
    ],
)
def test_overlap_unless_told(tmp_path: Path, keys: str, workflow: str, overlap: Overlap) -> None:
    assert trigger(tmp_path, keys, workflow=workflow).overlap is overlap
