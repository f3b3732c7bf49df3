"""The virtual clock: what schedules will do, with sleeps, overlaps and ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tocsin.nights import Nights
from tocsin.registration import DisabledReason, Registration
from tocsin.simulation import Simulation, Step, What
from tocsin.trigger import At, Cron, Every, Kind, Misfire, MisfirePolicy, Overlap, Schedule, TriggerSpec

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
HOUR = timedelta(hours=1)
NIGHT = Nights(start=time(23), end=time(7, 30), tz=ZoneInfo("UTC"))
HOURLY, NINE = Cron(expr="0 * * * *", tz="UTC"), Cron(expr="0 9 * * *", tz="UTC")


def row(
    name: str, schedule: Schedule | None, *, spec: dict[str, Any] | None = None, **more: Any
) -> Registration:
    component = {Cron: "cron", Every: "every", At: "at"}.get(type(schedule), "manual")
    plain = TriggerSpec(name=name, workflow="w", kind=Kind.SCHEDULE, component=component, schedule=schedule)
    made = Registration(
        id=f"trg_{name}",
        spec=replace(plain, **(spec or {})),
        installation_id="ins_1",
        workflow_version=1,
        next_fire_at=NOON,
        armed_at=NOON,
        created_at=NOON,
    )
    return replace(made, **more)


def steps(*rows: Registration, hours: float = 24, **more: Any) -> list[Step]:
    return list(Simulation(start=NOON, until=NOON + hours * HOUR, **more).steps(rows))


def told(found: list[Step]) -> list[tuple[str, str, str]]:
    return [(f"{step.at:%d %H:%M}", step.registration, step.what.value) for step in found]


def test_fires_of_all_triggers_come_in_the_order_of_time() -> None:
    found = steps(row("b", HOURLY), row("a", Every(every=timedelta(minutes=40))), hours=2)
    assert told(found) == [
        ("01 12:00", "a", "fire"),
        ("01 12:00", "b", "fire"),
        ("01 12:40", "a", "fire"),
        ("01 13:00", "b", "fire"),
        ("01 13:20", "a", "fire"),
        ("01 14:00", "a", "fire"),
        ("01 14:00", "b", "fire"),
    ]


def test_a_night_is_one_catch_up_in_the_morning() -> None:
    found = [step for step in steps(row("a", HOURLY), nights=NIGHT) if step.what is What.CATCH_UP]
    assert told(found) == [("02 07:30", "a", "catch_up")]
    assert found[0].note == "planned for 2026-03-02T07:00:00Z; stands for 8 more"


@pytest.mark.parametrize(
    ("misfire", "in_the_morning"),
    [(Misfire.SKIP, ["miss"]), (Misfire.FIRE_ALL, ["catch_up"] * 9), (Misfire.FIRE_ONCE, ["catch_up"])],
)
def test_the_misfire_rule_decides_as_the_engine_does(misfire: Misfire, in_the_morning: list[str]) -> None:
    found = steps(row("a", HOURLY, spec={"misfire": MisfirePolicy(misfire=misfire)}), nights=NIGHT)
    assert [step.what.value for step in found if f"{step.at:%H:%M}" == "07:30"] == in_the_morning


def test_a_sleep_by_day_is_one_too() -> None:
    nights = Nights(start=time(12, 30), end=time(15, 30), tz=ZoneInfo("UTC"))
    assert told(steps(row("a", HOURLY), hours=5, nights=nights)) == [
        ("01 12:00", "a", "fire"),
        ("01 15:30", "a", "catch_up"),
        ("01 16:00", "a", "fire"),
        ("01 17:00", "a", "fire"),
    ]


def test_a_night_follows_its_zones_clock_over_a_change() -> None:
    """Berlin on 29 March 2026: the night is an hour shorter."""
    night = Nights(start=time(23), end=time(7), tz=BERLIN)
    asleep = datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert night.awake(asleep) == datetime(2026, 3, 29, 5, tzinfo=UTC)
    assert night.awake(asleep - timedelta(days=1)) == datetime(2026, 3, 28, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("overlap", "what", "note"),
    [
        (Overlap.SKIP, What.SKIP, "still running until 2026-03-01T13:30:00Z"),
        (Overlap.QUEUE, What.WAIT, "starts at 2026-03-01T13:30:00Z"),
        (Overlap.REPLACE, What.FIRE, "replaces the one that runs"),
        (Overlap.ALLOW, What.FIRE, None),
    ],
)
def test_a_run_as_long_as_lately_stands_in_the_way(overlap: Overlap, what: What, note: str | None) -> None:
    found = steps(
        row("a", HOURLY, spec={"overlap": overlap}), hours=1, lengths={"trg_a": timedelta(minutes=90)}
    )
    assert (found[1].what, found[1].note) == (what, note)


def test_a_shared_key_is_one_lane() -> None:
    keyed = {"serialize_key": "k", "overlap": Overlap.QUEUE}
    found = steps(
        row("a", HOURLY, spec=keyed), row("b", HOURLY, spec=keyed), hours=0, lengths={"trg_a": HOUR / 2}
    )
    assert [(step.registration, step.what) for step in found] == [("a", What.FIRE), ("b", What.WAIT)]


def test_an_end_is_told_and_nothing_comes_after_it() -> None:
    ending = row("a", HOURLY, spec={"expires_at": NOON + 2.5 * HOUR})
    limited = row("b", HOURLY, spec={"max_runs": 2})
    assert told(steps(ending, limited, hours=6)) == [
        ("01 12:00", "a", "fire"),
        ("01 12:00", "b", "fire"),
        ("01 13:00", "a", "fire"),
        ("01 13:00", "b", "fire"),
        ("01 13:00", "b", "end"),
        ("01 14:00", "a", "fire"),
        ("01 14:00", "a", "end"),
    ]
    last = steps(ending, hours=6)[-1]
    assert last.note == "the next fire would be after expires_at"
    once = row("c", At(at=NOON), spec={"expires_at": NOON + HOUR})
    assert told(steps(once, hours=2, is_present=True)) == [("01 12:00", "c", "fire")]
    asleep = Nights(start=time(12, 30), end=time(15, 30), tz=ZoneInfo("UTC"))
    assert told(steps(ending, hours=6, nights=asleep)) == [
        ("01 12:00", "a", "fire"),
        ("01 15:30", "a", "miss"),
        ("01 15:30", "a", "end"),
    ]


def test_what_is_off_held_or_paused_does_nothing_until_it_may() -> None:
    off: dict[str, Any] = {"enabled": False, "disabled_reason": DisabledReason.USER}
    assert steps(row("a", HOURLY, **off), row("b", HOURLY, held_until_enabled=True, next_fire_at=None)) == []
    paused = row("c", HOURLY, paused_at=NOON, paused_until=NOON + 2.5 * HOUR)
    found = steps(paused, hours=3)
    assert told(found) == [("01 14:30", "c", "skip"), ("01 15:00", "c", "fire")]
    assert found[0].note == "paused: 3 skipped"
    assert steps(row("d", HOURLY, paused_at=NOON)) == []


def test_an_instant_that_a_run_named_comes_first() -> None:
    named = row("a", NINE, next_fire_at=NOON + HOUR, next_fire_run="run_1")
    assert told(steps(named)) == [("01 13:00", "a", "fire"), ("02 09:00", "a", "fire")]
    assert told(steps(row("b", None, next_fire_at=NOON + HOUR, next_fire_run="run_1"))) == [
        ("01 13:00", "b", "fire")
    ]


def test_one_instant_is_once() -> None:
    assert told(steps(row("a", At(at=NOON + HOUR)))) == [("01 13:00", "a", "fire")]
    assert steps(row("a", At(at=NOON - HOUR))) == []


def test_a_change_of_the_clock_is_noted() -> None:
    start = datetime(2026, 3, 29, 0, tzinfo=UTC)
    made = row("a", Cron(expr="30 2 * * *", tz="Europe/Berlin"))
    [step] = Simulation(start=start, until=start + 3 * HOUR).steps([made])
    assert step.at == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert step.note is not None
    assert "02:30" in step.note


def test_what_is_overdue_now_is_made_up_for_now() -> None:
    late = row("a", HOURLY, next_fire_at=NOON - 3 * HOUR)
    [first, *_] = steps(late, is_present=True)
    assert (first.at, first.what, first.note) == (
        NOON,
        What.FIRE,
        "stands for 3 more",
    )
    assert told(steps(late, hours=0.5)) == [("01 12:00", "a", "fire")]


LATE = timedelta(minutes=20)


def test_a_catch_up_starts_after_its_delay_and_its_lane_is_busy_until_it_has_run() -> None:
    late: dict[str, Any] = {
        "schedule": Every(every=HOUR / 2),
        "misfire": MisfirePolicy(wake_delay=LATE),
        "overlap": Overlap.SKIP,
    }
    nights = Nights(start=time(12, 10), end=time(15, 10), tz=ZoneInfo("UTC"))
    found = steps(row("a", None, spec=late), hours=4, nights=nights, lengths={"trg_a": LATE})
    assert [(f"{step.at:%H:%M}", step.what.value) for step in found] == [
        ("12:00", "fire"),
        ("15:10", "catch_up"),
        ("15:30", "skip"),
        ("16:00", "fire"),
    ]
    assert found[1].note is not None
    assert found[1].note.endswith("starts at 2026-03-01T15:30:00Z")
    assert found[2].note == "still running until 2026-03-01T15:50:00Z"


def test_what_runs_at_the_start_keeps_its_lane_busy() -> None:
    skips, queues = row("a", HOURLY), row("b", HOURLY, spec={"overlap": Overlap.QUEUE})
    busy = {"trg_a": NOON + 1.5 * HOUR, "trg_b": NOON + HOUR / 2}
    found = steps(skips, queues, hours=2, busy=busy)
    assert told(found) == [
        ("01 12:00", "a", "skip"),
        ("01 12:00", "b", "wait"),
        ("01 13:00", "a", "skip"),
        ("01 13:00", "b", "fire"),
        ("01 14:00", "a", "fire"),
        ("01 14:00", "b", "fire"),
    ]


def test_what_a_run_named_fires_however_late() -> None:
    late = row("a", HOURLY, next_fire_at=NOON - 3 * HOUR, next_fire_run="run_1")
    assert told(steps(late, hours=0.5, is_present=True)) == [("01 12:00", "a", "fire")]
