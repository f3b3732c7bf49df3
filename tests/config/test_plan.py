"""What applying would change: a pure comparison of rows and a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.config.loading import NOW
from tocsin.config.differences import Difference, differences, document
from tocsin.config.plan import Addition, Plan, plan
from tocsin.registration import DisabledReason, Registration, RowOrigin
from tocsin.settings import Configuration, EngineSettings, Workflow
from tocsin.trigger import At, Budget, BudgetPeriod, Cron, Every, Kind, Overlap, Schedule, Scope, TriggerSpec

HOURLY = Every(every=timedelta(hours=1))
SOON = NOW + timedelta(minutes=20)


def spec(name: str = "t", schedule: Schedule | None = HOURLY) -> TriggerSpec:
    return TriggerSpec(name=name, workflow="w", kind=Kind.SCHEDULE, component="every", schedule=schedule)


def row(of: TriggerSpec, next_fire_at: datetime | None = SOON) -> Registration:
    return Registration(
        id=f"trg_{of.name}",
        spec=of,
        installation_id="ins_1",
        workflow_version=1,
        next_fire_at=next_fire_at,
        armed_at=NOW - timedelta(days=1),
        created_at=NOW - timedelta(days=1),
    )


def off(of: TriggerSpec, reason: DisabledReason) -> Registration:
    return replace(row(of), enabled=False, disabled_reason=reason)


def wanted(*specs: TriggerSpec, workflows: Mapping[str, Workflow] | None = None) -> Configuration:
    return Configuration(
        path=Path("tocsin.toml"),
        engine=EngineSettings(),
        workflows=workflows or {},
        triggers={one.name: one for one in specs},
    )


def planned(rows: list[Registration], *specs: TriggerSpec) -> Plan:
    return plan(rows, {}, wanted(*specs), NOW)


def test_nothing_to_do() -> None:
    found = planned([row(spec("a")), row(spec("b"))], spec("a"), spec("b"))
    assert found.empty
    assert found.unchanged == 2


def test_added_in_file_order_with_their_first_fire() -> None:
    found = planned(
        [], spec("b"), spec("a", Cron(expr="0 8 * * *", tz="UTC")), replace(spec("c"), enabled=False)
    )
    assert found.added == (
        Addition(name="b", first=NOW + timedelta(hours=1)),
        Addition(name="a", first=NOW + timedelta(hours=20)),
        Addition(name="c", first=None),
    )
    assert not found.empty


def test_a_change_that_leaves_the_schedule_keeps_the_next_fire() -> None:
    [change] = planned([row(spec())], replace(spec(), max_attempts=9, tags=("x",))).changed
    assert change.what == (
        Difference(key="tags", before=[], after=["x"]),
        Difference(key="max_attempts", before=3, after=9),
    )
    assert not change.schedule_changed
    assert change.first_before == change.first_after == SOON


def test_another_schedule_starts_anew_from_now() -> None:
    [change] = planned([row(spec())], spec(schedule=Every(every=timedelta(hours=2)))).changed
    assert change.what == (Difference(key="schedule.every_ms", before=3_600_000, after=7_200_000),)
    assert change.schedule_changed
    assert (change.first_before, change.first_after) == (SOON, NOW + timedelta(hours=2))


def test_a_zone_is_part_of_the_schedule() -> None:
    before, after = (spec(schedule=Cron(expr="0 8 * * *", tz=tz)) for tz in ("UTC", "Asia/Tokyo"))
    [change] = planned([row(before)], after).changed
    assert change.schedule_changed
    assert change.what == (Difference(key="schedule.tz", before="UTC", after="Asia/Tokyo"),)


def test_rows_that_left_the_file_are_removed_but_only_those_of_the_file() -> None:
    by_hand = replace(row(spec("by-hand")), origin=RowOrigin.CLI)
    before = replace(row(spec("before")), removed_at=NOW)
    found = planned([row(spec("left")), by_hand, before, off(spec("failing"), DisabledReason.FAILURES)])
    assert found.removed == ("left",)
    assert found.gone == ("left", "failing")


def test_a_row_disabled_by_leaving_is_not_removed_again() -> None:
    found = planned([off(spec(), DisabledReason.CONFIG)])
    assert found.empty
    assert found.gone == ("t",)


def test_a_row_that_is_in_the_file_again_returns_and_may_have_changed() -> None:
    found = planned([off(spec(), DisabledReason.CONFIG)], replace(spec(), max_attempts=9))
    assert found.returned == (Addition(name="t", first=NOW + timedelta(hours=1)),)
    assert [change.name for change in found.changed] == ["t"]
    assert found.changed[0].first_after == NOW + timedelta(hours=1)
    assert found.unchanged == 0


@pytest.mark.parametrize("reason", [DisabledReason.USER, DisabledReason.FAILURES, DisabledReason.MAX_RUNS])
def test_no_other_disarm_is_lifted(reason: DisabledReason) -> None:
    found = planned([off(spec(), reason)], spec(schedule=At(at=NOW + timedelta(days=1))))
    assert found.returned == ()
    assert found.changed[0].first_after is None


def test_a_trigger_switched_off_in_the_file_does_not_return() -> None:
    written_off = replace(spec(), enabled=False)
    assert planned([off(written_off, DisabledReason.CONFIG)], written_off).empty
    [change] = planned([row(spec())], written_off).changed
    assert (change.what[0].key, change.first_after) == ("enabled", None)


def test_a_removed_rows_name_is_free_again() -> None:
    assert [one.name for one in planned([replace(row(spec()), removed_at=NOW)], spec()).added] == ["t"]


def test_a_name_that_is_not_the_files_is_a_conflict_and_stays_untouched() -> None:
    by_hand = replace(row(spec()), origin=RowOrigin.CLI)
    found = plan([by_hand], {}, wanted(replace(spec(), max_attempts=9)), NOW, place=lambda *_: ("f.toml", 7))
    assert [str(problem) for problem in found.conflicts] == [
        (
            "f.toml:7: triggers.t: a trigger of this name was made by cli, expected another name, "
            "or `tocsin rm t` first"
        )
    ]
    assert found.empty
    assert found.unchanged == 0


def test_workflows_are_compared_by_their_definition() -> None:
    present = {name: Workflow(name=name, command=("x",)) for name in ("same", "other", "gone")}
    now = {name: Workflow(name=name, command=("x",)) for name in ("same", "new")}
    now["other"] = Workflow(name="other", command=("y",))
    found = plan([], present, wanted(workflows=now), NOW)
    assert found.workflows_added == ("new",)
    assert found.workflows_changed == ("other",)
    assert not found.empty


def test_a_document_tells_every_field_of_a_trigger_but_its_name() -> None:
    one = spec()
    others: dict[str, object] = {
        "workflow": "v",
        "component": "cron",
        "component_version": 2,
        "source": "downloads",
        "props": {"x": 1},
        "scope": Scope.DESKTOP,
        "schedule": None,
        "misfire": replace(one.misfire, limit=1),
        "overlap": Overlap.ALLOW,
        "serialize_key": "k",
        "serialize_by": "payload:id",
        "tags": ("x",),
        "config": {"x": [1]},
        "filter": "true",
        "schema": {"type": "object"},
        "max_attempts": 1,
        "disable_after": 1,
        "max_runs": 1,
        "max_runs_per_hour": 1,
        "budget": Budget(max_nanos=1, period=BudgetPeriod.DAY, tz="UTC"),
        "expires_at": NOW,
        "enabled": False,
    }
    assert {*others, "name", "kind"} == set(TriggerSpec.__dataclass_fields__)
    assert "name" not in document(one)
    assert list(differences(one, one)) == []
    for field, value in others.items():
        assert list(differences(one, replace(one, **{field: value}))), field  # type: ignore[arg-type]
