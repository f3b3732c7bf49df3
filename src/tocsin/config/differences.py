"""A trigger as a document of JSON values, and what two versions of one do not have in common. Pure.

Used by ``plan``; fit for whoever shows or compares triggers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from tocsin.instants import rfc3339
from tocsin.trigger import NANOS, At, Budget, Cron, Every, Json, Schedule, TriggerSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing of a trigger that changes. key: as in `document`, dotted once (``files.match``)."""

    key: str
    before: Json
    after: Json


def document(spec: TriggerSpec) -> dict[str, Json]:
    """A trigger as JSON values, without its name: lengths in ms, times in RFC 3339.

    The source's settings stand under the component's key, a schedule's under ``schedule``.
    """
    return {
        "workflow": spec.workflow,
        "component": spec.component,
        "component_version": spec.component_version,
        "source": spec.source,
        spec.component: dict(spec.props),
        "scope": spec.scope.value,
        "schedule": _schedule(spec.schedule),
        "misfire": {
            "policy": spec.misfire.misfire.value,
            "grace_ms": _ms(spec.misfire.grace),
            "limit": spec.misfire.limit,
            "wake_delay_ms": _ms(spec.misfire.wake_delay),
            "splay_ms": _ms(spec.misfire.splay),
        },
        "overlap": spec.overlap.value,
        "serialize_key": spec.serialize_key,
        "serialize_by": spec.serialize_by,
        "tags": list(spec.tags),
        "config": dict(spec.config),
        "filter": spec.filter,
        "schema": None if spec.schema is None else dict(spec.schema),
        "max_attempts": spec.max_attempts,
        "disable_after": spec.disable_after,
        "max_runs": spec.max_runs,
        "max_runs_per_hour": spec.max_runs_per_hour,
        "budget": _budget(spec.budget),
        "expires_at": _time(spec.expires_at),
        "enabled": spec.enabled,
    }


def differences(before: TriggerSpec, after: TriggerSpec) -> Iterator[Difference]:
    """What two versions of a trigger do not have in common, in the order of `document`."""
    old, new = _flat(document(before)), _flat(document(after))
    for key in dict.fromkeys((*old, *new)):
        if old.get(key) != new.get(key):
            yield Difference(key=key, before=old.get(key), after=new.get(key))


def _flat(nested: Mapping[str, Json]) -> dict[str, Json]:
    flat: dict[str, Json] = {}
    for key, value in nested.items():
        flat |= (
            {f"{key}.{inner}": v for inner, v in value.items()} if isinstance(value, dict) else {key: value}
        )
    return flat


def _schedule(schedule: Schedule | None) -> Json:
    match schedule:
        case Cron(expr=expr, tz=tz):
            return {"cron": expr, "tz": tz}
        case Every(every=every, anchor=anchor):
            return {"every_ms": _ms(every), "anchor": _time(anchor)}
        case At(at=at):
            return {"at": _time(at)}
    return None


def _budget(budget: Budget | None) -> Json:
    if budget is None:
        return None
    return {"max_usd": budget.max_nanos / NANOS, "period": budget.period.value, "tz": budget.tz}


def _ms(length: timedelta) -> int:
    return length // timedelta(milliseconds=1)


def _time(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at)
