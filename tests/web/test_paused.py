"""A delivery for a trigger that takes nothing for a time: 503, and the same delivery is new afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from tests.store.raw import on_writer
from tests.web.rig import JSON, Rig, open_rig
from tocsin.engine.accept import Acceptor
from tocsin.engine.claims import Claims
from tocsin.event import Answer, Limited, Occurrence
from tocsin.settings import EngineSettings
from tocsin.trigger import Rate

LATER = timedelta(minutes=5)


async def pause(rig: Rig, length: timedelta | None = None) -> None:
    until = None if length is None else rig.clock.now() + length
    await rig.controls.pauses.pause(["hook"], tag=None, everything=False, until=until)


@pytest.mark.parametrize(
    ("length", "retry_after"),
    [
        (None, 3600),
        (timedelta(days=2), 3600),
        (LATER, 300),
        (timedelta(seconds=1.2), 2),
        (timedelta(milliseconds=1), 1),
    ],
)
async def test_a_paused_trigger_is_503_and_says_when_to_come_again(
    rig: Rig, length: timedelta | None, retry_after: int
) -> None:
    path = await rig.hook()
    await pause(rig, length)
    reply = await rig.post(path, b"{}", JSON)
    assert reply.error == (503, "paused")
    assert reply.headers["retry-after"] == str(retry_after)
    assert await rig.events() == []


async def test_it_leaves_no_trace_and_the_same_delivery_is_accepted_afterwards(rig: Rig) -> None:
    path, headers = await rig.hook(dedupe={"header": "X-Delivery"}), {**JSON, "X-Delivery": "d-1"}
    await pause(rig, LATER)
    assert (await rig.post(path, b"{}", headers)).status == 503
    rig.clock.advance(LATER)
    assert (await rig.post(path, b"{}", headers)).status == 202


async def test_off_comes_before_paused_and_paused_before_a_body_that_is_none(rig: Rig) -> None:
    path = await rig.hook()
    await pause(rig)
    assert (await rig.post(path, b"{no", JSON)).error == (503, "paused")
    rig.is_accepting = False
    assert (await rig.post(path, b"{}", JSON)).error == (503, "paused")
    await rig.controls.disable(["hook"], tag=None)
    assert (await rig.post(path, b"{}", JSON)).error == (410, "gone")


async def test_one_that_drifted_is_503(rig: Rig) -> None:
    path = await rig.hook()
    await on_writer(rig.store, "UPDATE registrations SET drifted_at = 1, component_version = 0")
    reply = await rig.post(path, b"{}", JSON)
    assert reply.error == (503, "unavailable")
    assert reply.headers["retry-after"] == "3600"


class TooLate:
    """The real door, behind which something happens to the trigger just before."""

    def __init__(self, *, off: bool) -> None:
        self.rig: Rig | None = None
        self._off = off

    async def accept(self, occurrence: Occurrence) -> Answer:
        raise NotImplementedError

    async def accept_all(
        self, occurrences: Sequence[Occurrence], *, rate: Rate | None = None
    ) -> Sequence[Answer] | Limited:
        assert self.rig is not None
        rig = self.rig
        await pause(rig)
        if self._off:
            await rig.controls.disable(["hook"], tag=None)
        claims = Claims(owner="own_x", settings=EngineSettings(), logs=rig.home, announce=rig.notices)
        door = Acceptor(store=rig.store, clock=rig.clock, announce=rig.notices, claims=claims)
        return await door.accept_all(occurrences, rate=rate)


@pytest.mark.parametrize(("off", "error"), [(False, (503, "paused")), (True, (410, "gone"))])
async def test_a_pause_between_check_and_door_is_answered_the_same(
    tmp_path: Path, *, off: bool, error: tuple[int, str]
) -> None:
    door = TooLate(off=off)
    async with open_rig(tmp_path, accept=door) as rig:
        door.rig = rig
        assert (await rig.post(await rig.hook(), b"{}", JSON)).error == error
