"""The verbs about single events as tests say them, and the triggers that follow one."""

from __future__ import annotations

from tests.engine.rig import Rig, spec
from tocsin.event import Cause, Event
from tocsin.store import journal
from tocsin.trigger import Kind, TriggerSpec


def follower(name: str, *, on: str) -> TriggerSpec:
    """One that is chained to `t`."""
    return spec(name, kind=Kind.RUN, component="after", props={"trigger": "t", "on": on})


async def cancel(rig: Rig, *ids: str) -> list[Event]:
    return await rig.controls.second_thoughts.cancel(ids)


async def retry(rig: Rig, *ids: str) -> list[Event]:
    return await rig.controls.second_thoughts.retry(ids)


async def replay(rig: Rig, *ids: str, cause: Cause | None = None) -> list[Event]:
    return await rig.controls.second_thoughts.replay(ids, cause=cause)


async def noted(rig: Rig, event: Event) -> list[tuple[str, str | None]]:
    """What the journal says of an event."""
    entries = await rig.read(lambda tx: journal.of_event(tx, event.id))
    return [(entry.what, entry.reason) for entry in entries]


async def waiting(rig: Rig, count: int) -> list[str]:
    """A lane with so many events, the first of them pending; their ids."""
    row = await rig.add()
    return [(await rig.accepted(row, f"d{n}")).event_id for n in range(count)]
