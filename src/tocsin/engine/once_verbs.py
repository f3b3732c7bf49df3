"""The verbs of `once` as they come through the socket: ``once`` itself does the work.

Each names who asks: run_id, and the process as pid, started (clock ticks since boot) and boot_id.
"""

from __future__ import annotations

from tocsin.engine.arguments import Arguments, flag, number, optional, text
from tocsin.engine.controls import Controls
from tocsin.runs import ProcessFacts
from tocsin.store.once import Holder
from tocsin.trigger import Json


async def once_begin(controls: Controls, arguments: Arguments) -> Json:
    """A holder, key, done -> first, run_id, result."""
    turn = await controls.once.begin(holder(arguments), text(arguments, "key"), done=flag(arguments, "done"))
    return {"first": turn.first, "run_id": turn.run_id, "result": turn.result}


async def once_end(controls: Controls, arguments: Arguments) -> Json:
    """A holder, key, result (JSON text) -> {}."""
    result = optional(arguments, "result")
    await controls.once.end(holder(arguments), text(arguments, "key"), result=result)
    return {}


async def once_give_up(controls: Controls, arguments: Arguments) -> Json:
    """A holder, key -> {}."""
    await controls.once.give_up(holder(arguments), text(arguments, "key"))
    return {}


def holder(arguments: Arguments) -> Holder:
    """Who asks. Raises BadRequest."""
    process = ProcessFacts(
        pid=number(arguments, "pid"),
        started=number(arguments, "started"),
        boot_id=text(arguments, "boot_id"),
    )
    return Holder(run_id=text(arguments, "run_id"), process=process)
