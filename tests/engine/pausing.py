"""Pauses as the tests of several files ask for them."""

from __future__ import annotations

from datetime import datetime

from tests.engine.rig import Rig
from tocsin.registration import Registration


async def pause(rig: Rig, *rows: Registration, until: datetime | None = None) -> list[str]:
    """By hand; every trigger when none is named."""
    names = [row.spec.name for row in rows]
    return await rig.controls.pauses.pause(names, tag=None, everything=not rows, until=until)


async def resume(rig: Rig, *rows: Registration) -> list[str]:
    """By hand; every trigger when none is named."""
    names = [row.spec.name for row in rows]
    return await rig.controls.pauses.resume(names, tag=None, everything=not rows)


async def states(rig: Rig, row: Registration | None = None) -> list[tuple[str, str | None]]:
    """(state, reason) of events, in accept order."""
    return [(event.state.value, event.reason) for event in await rig.events(row)]
