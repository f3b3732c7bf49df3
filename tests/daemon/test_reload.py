"""The files are followed: applied when sound, told of when not, tried again when it cannot be."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.engine.rig import Rig, open_rig
from tests.store.raw import on_writer
from tocsin.daemon.reload import Reload
from tocsin.errors import StoreUnusable
from tocsin.notices import ConfigRejected, ZoneChanged
from tocsin.trigger import Cron

ONE = '[workflows.w]\ncommand = ["true"]\n[triggers.one]\nworkflow = "w"\nmanual = true\n'
TWO = ONE + '[triggers.two]\nworkflow = "w"\nmanual = true\n'


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_rig(tmp_path) as opened:
        await opened.apply(ONE)
        yield opened


def following(rig: Rig) -> Reload:
    return Reload(configuring=rig.controls.configuring, announce=rig.notices, paths=rig.paths)


async def look(reload: Reload, rig: Rig, times: int = 2) -> None:
    """A change has to rest for one look."""
    for _ in range(times):
        await reload.once(rig.clock.now())


async def names(rig: Rig) -> list[str]:
    planned = await rig.controls.configuring.plan(by_hand=False)
    return [addition.name for addition in planned.plan.added]


async def test_a_change_is_applied_once_it_rests(rig: Rig) -> None:
    reload = following(rig)
    rig.configure(TWO)
    await look(reload, rig, times=1)
    assert await names(rig) == ["two"], "not at the first look"
    await look(reload, rig, times=1)
    assert await names(rig) == []


async def test_a_change_that_could_not_be_written_is_tried_again(rig: Rig) -> None:
    reload = following(rig)
    rig.configure(TWO)
    await on_writer(rig.store, "PRAGMA query_only = ON")
    with pytest.raises(StoreUnusable):
        await look(reload, rig)
    await on_writer(rig.store, "PRAGMA query_only = OFF")
    await look(reload, rig, times=1)
    assert await names(rig) == []


async def test_a_file_with_a_mistake_is_told_of_once_and_the_last_good_one_stays(rig: Rig) -> None:
    reload = following(rig)
    rig.configure("[nonsense]\n")
    await look(reload, rig, times=5)
    assert len(rig.notices.of(ConfigRejected)) == 1
    assert (await rig.named("one")).enabled


async def test_an_emptied_file_disables_nothing(rig: Rig) -> None:
    reload = following(rig)
    rig.configure("")
    await look(reload, rig)
    (told,) = rig.notices.of(ConfigRejected)
    assert "no trigger any more" in told.problems[0]
    assert (await rig.named("one")).enabled


async def test_what_a_left_trigger_had_waiting_comes_back_with_it(rig: Rig) -> None:
    await rig.apply(TWO)
    await rig.accept(await rig.named("two"))
    await rig.apply(ONE)
    assert await rig.states() == ["dropped"]
    await rig.apply(TWO)
    assert await rig.states() == ["pending"]


DAILY = """
[workflows.w]
command = ["true"]
[triggers.mine]
workflow = "w"
cron = "0 9 * * *"
[triggers.fixed]
workflow = "w"
cron = "0 9 * * *"
tz = "Europe/Berlin"
"""


async def test_a_zone_that_changes_moves_the_schedules_that_name_none(rig: Rig) -> None:
    """CR-47: the machine travels from Berlin to New York."""
    rig.zone = "Europe/Berlin"
    await rig.apply(DAILY)
    reload = following(rig)
    before = {name: (await rig.named(name)).next_fire_at for name in ("mine", "fixed")}
    assert before["mine"] == before["fixed"] == datetime(2026, 1, 2, 8, tzinfo=UTC)
    rig.zone = "America/New_York"
    await look(reload, rig)
    mine, fixed = await rig.named("mine"), await rig.named("fixed")
    assert mine.spec.schedule == Cron(expr="0 9 * * *", tz="America/New_York")
    assert (mine.next_fire_at, mine.schedule_revision) == (datetime(2026, 1, 1, 14, tzinfo=UTC), 2)
    assert (fixed.next_fire_at, fixed.schedule_revision) == (before["fixed"], 1)
    assert rig.notices.of(ZoneChanged) == [ZoneChanged(before="Europe/Berlin", after="America/New_York")]
    await look(reload, rig)
    assert len(rig.notices.of(ZoneChanged)) == 1
