"""Every clock: aware UTC, and a monotonic side that never goes back."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest

from tests.fakes import FakeClock
from tocsin.clock import SystemClock
from tocsin.seams import Clock


@pytest.fixture(params=[SystemClock, FakeClock])
def clock(request: pytest.FixtureRequest) -> Clock:
    made: Clock = request.param()
    return made


def test_the_wall_clock_is_aware_and_in_utc(clock: Clock) -> None:
    assert clock.now().tzinfo is UTC


def test_the_monotonic_clock_never_goes_back(clock: Clock) -> None:
    times = [clock.monotonic() for _ in range(1000)]
    assert times == sorted(times)


def test_a_clock_that_was_set_moves_alone() -> None:
    clock = FakeClock()
    before = clock.now(), clock.monotonic()
    clock.jump(timedelta(hours=-8))
    assert (clock.now(), clock.monotonic()) == (before[0] - timedelta(hours=8), before[1])
    clock.advance(5)
    assert clock.monotonic() == before[1] + 5
    with pytest.raises(ValueError, match="forwards"):
        clock.advance(-1)


def test_a_suspended_machine_stops_the_monotonic_clock_alone() -> None:
    clock = FakeClock()
    before = clock.now(), clock.monotonic()
    clock.sleep(timedelta(hours=8))
    assert clock.monotonic() == before[1]
    assert (clock.now() - before[0], clock.boottime()) == (timedelta(hours=8), 8 * 3600 + before[1])


def test_the_real_clock_has_no_setters() -> None:
    assert {name for name in vars(SystemClock) if not name.startswith("_")} == {
        "now",
        "monotonic",
        "boottime",
    }
