"""Planned instants of a registration: its schedule's next one, and one as an occurrence.

Asked by ``clockwork``, which fires them, and by ``pausing``, which lets them go.
"""

from __future__ import annotations

from datetime import datetime

from tocsin.components import version_of
from tocsin.event import Occurrence, Origin
from tocsin.instants import rfc3339
from tocsin.registration import Registration
from tocsin.schedule import delivery_id, next_after


def next_fire(registration: Registration, after: datetime) -> datetime | None:
    """The schedule's own next instant; None without a schedule or when there is none left."""
    schedule = registration.spec.schedule
    if schedule is None:
        return None
    return next_after(schedule, after=after, anchor=registration.armed_at)


def planned(registration: Registration, at: datetime, origin: Origin, *, missed: int = 0) -> Occurrence:
    """A planned instant as an occurrence of its registration's own kind.

    origin: `self` for the instant that a run named, whose delivery id is the run's.
    """
    is_own = origin is Origin.SELF
    delivery = (
        f"self:{registration.next_fire_run}" if is_own else delivery_id(registration.schedule_revision, at)
    )
    return Occurrence(
        registration_id=registration.id,
        component=registration.spec.component,
        component_version=version_of(registration.spec.component) or 0,
        kind=registration.spec.kind,
        delivery_id=delivery,
        occurred_at=at,
        payload={"planned_at": rfc3339(at), "missed": missed},
        event_type="planned",
        origin=origin,
        planned_at=at,
        missed=missed,
    )
