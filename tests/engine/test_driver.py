"""The thin loop around `once`: no wait is longer than a second, and a sick store ends nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import pytest

from tests.fakes import DEADLINE_S, FakeClock, Notices
from tocsin.engine import driver as driving
from tocsin.engine.driver import Driver, pause
from tocsin.errors import StoreUnusable
from tocsin.notices import Trouble

Script = list[float | Exception]


class Rounds:
    """A scripted `once`; `over` is set when the script has come to its end."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.times: list[datetime] = []
        self.over = asyncio.Event()

    async def once(self, now: datetime) -> float:
        self.times.append(now)
        if not self.script:
            self.over.set()
            return 3600.0
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        return said


async def drive(
    rounds: Rounds, notices: Notices, then: Callable[[Driver], Awaitable[None]] | None = None
) -> None:
    """Drive until the script is over."""
    driver = Driver("loop", rounds.once, clock=FakeClock(), announce=notices)
    task = asyncio.create_task(driver.run())
    try:
        async with asyncio.timeout(DEADLINE_S):
            await rounds.over.wait()
            if then is not None:
                await then(driver)
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


async def test_it_calls_again_at_once_when_told_nought() -> None:
    rounds = Rounds([0.0] * 50)
    await drive(rounds, Notices())
    assert len(rounds.times) == 51


async def test_a_wake_up_cuts_the_wait_short() -> None:
    rounds = Rounds([])

    async def wake(driver: Driver) -> None:
        rounds.over.clear()
        driver.wake()
        await rounds.over.wait()

    await drive(rounds, Notices(), wake)
    assert len(rounds.times) >= 2


async def test_a_wake_up_during_a_round_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driving, "TICK_S", DEADLINE_S)  # only the wake-up can bring the second round
    drivers: list[Driver] = []
    twice = asyncio.Event()
    calls = 0

    async def once(_now: datetime) -> float:
        nonlocal calls
        calls += 1
        if calls == 1:
            drivers[0].wake()
        else:
            twice.set()
        return DEADLINE_S

    drivers.append(Driver("loop", once, clock=FakeClock(), announce=Notices()))
    task = asyncio.create_task(drivers[0].run())
    async with asyncio.timeout(DEADLINE_S / 2):
        await twice.wait()
    task.cancel()
    await asyncio.wait([task])


async def test_a_store_that_cannot_be_written_is_told_once_and_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(driving, "TICK_S", 0.001)
    notices = Notices()
    sick = StoreUnusable("the disk is full")
    await drive(Rounds([sick, sick, sick, 0.0, sick, sick]), notices)
    assert notices.all == [Trouble(where="loop", error="the disk is full")] * 2  # once for each illness


async def test_any_other_fault_ends_the_loop() -> None:
    driver = Driver("loop", Rounds([ValueError("a fault")]).once, clock=FakeClock(), announce=Notices())
    with pytest.raises(ValueError, match="a fault"):
        await driver.run()


@pytest.mark.parametrize("seconds", [3600.0, 1.5, 0.0, -5.0])
async def test_no_pause_is_longer_than_a_tick(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    monkeypatch.setattr(driving, "TICK_S", 0.01)
    async with asyncio.timeout(DEADLINE_S):
        await pause(asyncio.Event(), seconds)


async def test_a_pause_ends_with_its_event() -> None:
    woken = asyncio.Event()
    woken.set()
    await pause(woken, 3600.0)
