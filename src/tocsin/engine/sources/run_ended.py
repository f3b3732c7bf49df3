"""The `after` component: another run's end as an occurrence.

Pure; ``engine.settling`` accepts what it returns in the transaction that ends the event, so a chain
fires once, also across a crash.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tocsin.components import VERSIONS
from tocsin.event import Cause, Occurrence, State
from tocsin.registration import Registration
from tocsin.runs import Outcome, RunState
from tocsin.trigger import Json, Kind

COMPONENT: Final = "after"
WANTED: Final = {State.SUCCEEDED: ("success", "any"), State.FAILED: ("failure", "any")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An event that has just ended, and the run that ended it."""

    event_id: str
    event_state: State
    registration: Registration
    run_id: str
    run_state: RunState
    outcome: Outcome
    lineage: tuple[str, ...]
    at: datetime


def occurrences(ended: Ended, followers: Iterable[Registration]) -> list[Occurrence]:
    """One occurrence for each follower that waits for this end, in the order given.

    The delivery id is the ended event's id: one end is one delivery.
    """
    return [occurrence(ended, follower) for follower in followers if waits_for(follower, ended)]


def waits_for(follower: Registration, ended: Ended) -> bool:
    """Whether a follower's props name this workflow or trigger and this kind of end."""
    props = follower.spec.props
    names = (props.get("workflow"), props.get("trigger"))
    named = names[0] == ended.registration.spec.workflow or names[1] == ended.registration.spec.name
    return named and props.get("on") in WANTED.get(ended.event_state, ())


def occurrence(ended: Ended, follower: Registration) -> Occurrence:
    return Occurrence(
        registration_id=follower.id,
        component=COMPONENT,
        component_version=VERSIONS[COMPONENT],
        kind=Kind.RUN,
        delivery_id=ended.event_id,
        occurred_at=ended.at,
        payload=payload(ended),
        event_type=ended.event_state,
        cause=Cause(run_id=ended.run_id, lineage=(*ended.lineage, ended.registration.id)),
    )


def payload(ended: Ended) -> Json:
    """The run payload of INTERFACE section 5."""
    return {
        "workflow": ended.registration.spec.workflow,
        "registration": ended.registration.spec.name,
        "run_id": ended.run_id,
        "state": ended.run_state,
        "exit_code": ended.outcome.exit_code,
        "error": ended.outcome.error,
        "result": dict(ended.outcome.outputs.result),
    }
