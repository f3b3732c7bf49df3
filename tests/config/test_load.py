"""From a file to records: defaults, paths, times, sizes, lanes."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.config.loading import WORKFLOW, loaded, trigger
from tocsin.config.engine_table import EngineTable
from tocsin.config.tables import TriggerTable
from tocsin.config.workflow_table import WorkflowTable
from tocsin.settings import EngineSettings, Workflow
from tocsin.trigger import At, Cron, Every, Kind, Misfire, MisfirePolicy, Overlap, Schedule, TriggerSpec


def test_an_empty_file_is_the_defaults_in_the_systems_zone(tmp_path: Path) -> None:
    configuration = loaded(tmp_path, "").configuration
    assert configuration.engine == EngineSettings(tz="Europe/Berlin")
    assert not configuration.workflows
    assert not configuration.triggers
    assert configuration.path == tmp_path / "tocsin.toml"


def test_the_engine_table(tmp_path: Path) -> None:
    text = """
        [engine]
        host = "::1"
        port = 0
        max_concurrent_runs = 8
        max_concurrent_runs_per_workflow = 2
        tz = "Asia/Tokyo"
        body_limit = "64KiB"
        shutdown_grace = "1m30s"
        public_url = "https://hooks.example.org/"
    """
    assert loaded(tmp_path, text).configuration.engine == EngineSettings(
        host="::1",
        port=0,
        max_concurrent_runs=8,
        max_concurrent_runs_per_workflow=2,
        tz="Asia/Tokyo",
        body_limit=64 * 1024,
        shutdown_grace=timedelta(seconds=90),
        public_url="https://hooks.example.org",
    )


def test_a_workflow_with_every_key(tmp_path: Path) -> None:
    text = """
        [workflows.w]
        command = ["./run.sh", "{event.raw_payload.path}", "{as} is"]
        cwd = "jobs/../work"
        env = { LANG = "C.UTF-8" }
        timeout = "10m"
        kill_grace = "0s"
        max_concurrent = 1
        inputs = ["state"]
        outputs = ["state", "cost_usd"]
        permanent_exit_codes = [65, 66]
    """
    assert loaded(tmp_path, text).configuration.workflows["w"] == Workflow(
        name="w",
        command=("./run.sh", "{event.raw_payload.path}", "{as} is"),
        cwd=tmp_path / "work",
        env={"LANG": "C.UTF-8"},
        timeout=timedelta(minutes=10),
        kill_grace=timedelta(),
        max_concurrent=1,
        inputs=("state",),
        outputs=("state", "cost_usd"),
        permanent_exit_codes=(65, 66),
    )


def test_a_trigger_with_every_key_that_any_may_have(tmp_path: Path) -> None:
    spec = trigger(
        tmp_path,
        """
        every = "10m"
        misfire = "fire_all"
        misfire_grace = "5m"
        misfire_limit = 3
        overlap = "queue"
        serialize_key = "k"
        config = { out = "/srv", since = 2026-01-01T00:00:00Z, day = 2026-01-01, n = [1, 2.5, true] }
        tags = ["a", "b"]
        max_attempts = 2
        disable_after = 9
        max_runs = 10
        expires_at = "2027-01-01T01:00:00+01:00"
        enabled = false
        """,
    )
    assert spec == TriggerSpec(
        name="t",
        workflow="w",
        kind=Kind.SCHEDULE,
        component="every",
        schedule=Every(every=timedelta(minutes=10)),
        misfire=MisfirePolicy(misfire=Misfire.FIRE_ALL, grace=timedelta(minutes=5), limit=3),
        overlap=Overlap.QUEUE,
        serialize_key="k",
        tags=("a", "b"),
        config={"out": "/srv", "since": "2026-01-01T00:00:00Z", "day": "2026-01-01", "n": [1, 2.5, True]},
        max_attempts=2,
        disable_after=9,
        max_runs=10,
        expires_at=datetime(2027, 1, 1, tzinfo=UTC),
        enabled=False,
    )


@pytest.mark.parametrize(
    ("keys", "schedule"),
    [
        ('cron = "0 8 * * *"', Cron(expr="0 8 * * *", tz="Europe/Berlin")),
        ('cron = "@daily"\ntz = "Asia/Tokyo"', Cron(expr="@daily", tz="Asia/Tokyo")),
        (
            'every = "1h30m"\nanchor = 2026-01-01T01:00:00+01:00',
            Every(every=timedelta(minutes=90), anchor=datetime(2026, 1, 1, tzinfo=UTC)),
        ),
        ("at = 2026-12-24T18:00:00+01:00", At(at=datetime(2026, 12, 24, 17, tzinfo=UTC))),
        ('at = "2026-12-24t17:00:00.5z"', At(at=datetime(2026, 12, 24, 17, 0, 0, 500_000, tzinfo=UTC))),
        ("manual = true", None),
        ("webhook = {}", None),
    ],
)
def test_schedules(tmp_path: Path, keys: str, schedule: Schedule | None) -> None:
    assert trigger(tmp_path, keys).schedule == schedule


def test_defaults_apply_where_a_key_is_not_set(tmp_path: Path) -> None:
    text = """
        [defaults]
        workflow = "w"
        timeout = "5m"
        cwd = "jobs"
        max_attempts = 7
        tz = "Asia/Tokyo"
        dedupe = { header = "X-Id" }
        [workflows.w]
        command = ["echo"]
        [workflows.v]
        command = ["echo"]
        timeout = "1m"
        cwd = "/"
        [triggers.a]
        cron = "@daily"
        [triggers.b]
        workflow = "v"
        webhook = {}
        max_attempts = 1
    """
    configuration = loaded(tmp_path, text).configuration
    w, v = configuration.workflows.values()
    a, b = configuration.triggers.values()
    assert (w.timeout, w.cwd) == (timedelta(minutes=5), tmp_path / "jobs")
    assert (v.timeout, v.cwd) == (timedelta(minutes=1), Path("/"))
    assert (a.workflow, a.max_attempts, a.schedule) == ("w", 7, Cron(expr="@daily", tz="Asia/Tokyo"))
    assert (b.workflow, b.max_attempts) == ("v", 1)
    assert b.props["dedupe"] == {"header": "X-Id", "payload": None, "body_window_ms": 10_000}


def test_the_tables_and_the_records_have_the_same_defaults() -> None:
    engine, workflow = EngineTable(), WorkflowTable(command=["x"])
    for record, table in ((EngineSettings, engine), (Workflow, workflow), (TriggerSpec, TriggerTable())):
        for name, parameter in inspect.signature(record).parameters.items():
            told = getattr(table, name, None)
            if (
                told is not None
                and isinstance(parameter.default, int | str | timedelta | bool)
                and name != "tz"
            ):
                assert told == parameter.default, name
    trigger_table, policy = TriggerTable(), MisfirePolicy()
    assert (trigger_table.misfire, trigger_table.misfire_grace, trigger_table.misfire_limit) == (
        policy.misfire.value,
        policy.grace,
        policy.limit,
    )


def test_records_keep_the_order_of_the_file(tmp_path: Path) -> None:
    names = ["z", "a", "m.x", "1"]
    text = WORKFLOW + "".join(f'[triggers."{name}"]\nworkflow = "w"\nmanual = true\n' for name in names)
    assert list(loaded(tmp_path, text).configuration.triggers) == names


def test_a_loaded_file_tells_where_a_key_stands(tmp_path: Path) -> None:
    found = loaded(tmp_path, WORKFLOW + '\n[triggers.t]\nworkflow = "w"\nmanual = true\n')
    assert found.place("triggers", "t") == (str(tmp_path / "tocsin.toml"), 4)
    assert found.place("triggers", "t", "manual") == (str(tmp_path / "tocsin.toml"), 6)
