"""The verbs of ``controls`` by name, with JSON arguments and JSON results.

One table for both ways in: the engine's socket calls it for a client, and the CLI calls it itself
when no engine is up. So the answer is the same either way.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeAlias

from tocsin.engine.arguments import Arguments, event_ids, flag, instant, names, optional, text
from tocsin.engine.configuring import Applied
from tocsin.engine.controls import Controls
from tocsin.engine.once_verbs import once_begin, once_end, once_give_up
from tocsin.engine.quarantine_verbs import quarantine_drop, quarantine_rehearse, quarantine_replay
from tocsin.errors import BadRequest, ConfigInvalid, Problem, Refused, TocsinError
from tocsin.event import Cause, Event
from tocsin.settings import MIB
from tocsin.trigger import Json

PAYLOAD_CAP: Final = 4 * MIB  # as for webhooks: every run of the event is handed it

Verb: TypeAlias = Callable[[Controls, Arguments], Awaitable[Json]]


async def fire(controls: Controls, arguments: Arguments) -> Json:
    """name, payload, key, cause {run_id, lineage} -> event_id, run_id, state, duplicate."""
    size = len(json.dumps(arguments.get("payload")))
    if size > PAYLOAD_CAP:
        raise Refused(f"the payload is {size} bytes, over the cap of 4 MiB: pass a file's path instead")
    fired = await controls.fire(
        text(arguments, "name"),
        payload=arguments.get("payload"),
        key=optional(arguments, "key"),
        cause=cause_of(arguments.get("cause")),
    )
    return {
        "event_id": fired.event_id,
        "run_id": fired.run_id,
        "state": fired.state,
        "duplicate": fired.duplicate,
    }


async def plan(controls: Controls, _arguments: Arguments) -> Json:
    """-> the document of `tocsin plan`."""
    return plan_document(await controls.configuring.plan(by_hand=True))


async def apply(controls: Controls, arguments: Arguments) -> Json:
    """prune -> the document of `tocsin apply`."""
    prune = flag(arguments, "prune")
    return plan_document(await controls.configuring.apply(prune=prune, by_hand=True), prune=prune)


async def add(controls: Controls, arguments: Arguments) -> Json:
    """name, table, base -> name, warnings."""
    table = arguments.get("table")
    if not isinstance(table, Mapping):
        raise BadRequest("table: expected an object, as a [triggers.NAME] table would be")
    name, base = text(arguments, "name"), Path(text(arguments, "base"))
    row = await controls.configuring.add(name, table, base=base)
    return {"name": row.spec.name, "warnings": await controls.configuring.advice(name, table, base=base)}


async def remove(controls: Controls, arguments: Arguments) -> Json:
    """names, tag -> names."""
    return await controls.remove(names(arguments), tag=optional(arguments, "tag"))


async def enable(controls: Controls, arguments: Arguments) -> Json:
    """names, tag, requeue -> {name: how many events came back}."""
    requeue = flag(arguments, "requeue")
    tag = optional(arguments, "tag")
    return dict(await controls.enable(names(arguments), tag=tag, requeue_dropped=requeue))


async def disable(controls: Controls, arguments: Arguments) -> Json:
    """names, tag -> names."""
    return await controls.disable(names(arguments), tag=optional(arguments, "tag"))


async def pause(controls: Controls, arguments: Arguments) -> Json:
    """names, tag, all, until -> names."""
    tag, until = optional(arguments, "tag"), instant(arguments, "until")
    return await controls.pauses.pause(
        names(arguments), tag=tag, everything=flag(arguments, "all"), until=until
    )


async def resume(controls: Controls, arguments: Arguments) -> Json:
    """names, tag, all -> names of those that were paused."""
    tag, everything = optional(arguments, "tag"), flag(arguments, "all")
    return await controls.pauses.resume(names(arguments), tag=tag, everything=everything)


async def panic(controls: Controls, _arguments: Arguments) -> Json:
    """-> paused, stopping (event ids)."""
    done = await controls.pauses.panic()
    return {"paused": done.paused, "stopping": list(done.stopping)}


async def token(controls: Controls, arguments: Arguments) -> Json:
    """name, rotate -> token."""
    return {"token": await controls.token(text(arguments, "name"), rotate=flag(arguments, "rotate"))}


async def set_state(controls: Controls, arguments: Arguments) -> Json:
    """name, text (JSON) -> state, under_way."""
    done = await controls.states.put(text(arguments, "name"), text(arguments, "text"))
    return {"state": done.state, "under_way": done.under_way}


async def rebind(controls: Controls, arguments: Arguments) -> Json:
    """names, tag -> names of those that had drifted."""
    return await controls.rebinding.rebind(names(arguments), tag=optional(arguments, "tag"))


async def cancel(controls: Controls, arguments: Arguments) -> Json:
    """events -> [{event_id, state}]; `claimed` while its run is being stopped."""
    return standings(await controls.second_thoughts.cancel(event_ids(arguments)))


async def retry(controls: Controls, arguments: Arguments) -> Json:
    """events -> [{event_id, state}]."""
    return standings(await controls.second_thoughts.retry(event_ids(arguments)))


async def replay(controls: Controls, arguments: Arguments) -> Json:
    """events, cause {run_id, lineage} -> [{event_id, replay_of}]."""
    ids, cause = event_ids(arguments), cause_of(arguments.get("cause"))
    made = await controls.second_thoughts.replay(ids, cause=cause)
    return [{"event_id": event.id, "replay_of": event.replay_of} for event in made]


async def gc(controls: Controls, _arguments: Arguments) -> Json:
    """-> payloads, runs, logs, events, deliveries, hashes, quarantined, journal, bytes; more: ask again?"""
    loaded = controls.configuring.load()  # a file with mistakes says nothing about it
    kept = loaded.configuration.engine.retention
    report, more = await controls.keeper.collect_some(kept)
    return {**asdict(report), "more": more}


VERBS: Final[Mapping[str, Verb]] = {
    "fire": fire,
    "plan": plan,
    "apply": apply,
    "add": add,
    "remove": remove,
    "enable": enable,
    "disable": disable,
    "pause": pause,
    "resume": resume,
    "panic": panic,
    "token": token,
    "set_state": set_state,
    "rebind": rebind,
    "cancel": cancel,
    "retry": retry,
    "replay": replay,
    "once_begin": once_begin,
    "once_end": once_end,
    "once_give_up": once_give_up,
    "quarantine_replay": quarantine_replay,
    "quarantine_rehearse": quarantine_rehearse,
    "quarantine_drop": quarantine_drop,
    "gc": gc,
}


def standings(found: Sequence[Event]) -> Json:
    """Events as `cancel` and `retry` answer."""
    return [{"event_id": event.id, "state": event.state} for event in found]


def cause_of(value: Any) -> Cause | None:
    """A cause as JSON: {"run_id": …, "lineage": [registration ids]}."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not isinstance(value.get("run_id"), str):
        raise BadRequest("cause: expected an object with run_id and lineage")
    return Cause(run_id=value["run_id"], lineage=tuple(str(one) for one in value.get("lineage", ())))


def plan_document(applied: Applied, *, prune: bool = False) -> dict[str, Json]:
    """INTERFACE section 4: added, changed, removed, unchanged; with what the file is warned for."""
    made = applied.plan
    return {
        "added": [addition.name for addition in (*made.added, *made.returned)],
        "changed": [change.name for change in made.changed],
        "removed": list(made.gone if prune else made.removed),
        "unchanged": made.unchanged,
        "workflows": [*made.workflows_added, *made.workflows_changed],
        "warnings": [problem_document(problem) for problem in (*applied.loaded.warnings, *made.broken)],
        "conflicts": [problem_document(problem) for problem in made.conflicts],
    }


def problem_document(problem: Problem) -> dict[str, Json]:
    """A problem as `check --json` prints it."""
    return {
        "path": problem.path,
        "line": problem.line,
        "key": problem.key,
        "message": problem.message,
        "severity": problem.severity,
    }


def error_document(error: TocsinError) -> dict[str, Json]:
    """An error on its way through the socket."""
    problems: Sequence[Problem] = error.problems if isinstance(error, ConfigInvalid) else ()
    return {
        "error": type(error).__name__,
        "message": str(error),
        "problems": [problem_document(problem) for problem in problems],
    }


class Remote(TocsinError):
    """An error that the engine raised, as its client sees it; `kind` is the class's name."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def error_of(document: Mapping[str, Any]) -> TocsinError:
    """The error that `error_document` wrote, fit to be raised again."""
    kind, message = str(document.get("error")), str(document.get("message"))
    if kind == ConfigInvalid.__name__:
        return ConfigInvalid([Problem(**problem) for problem in document.get("problems", ())])
    return Remote(kind, message)
