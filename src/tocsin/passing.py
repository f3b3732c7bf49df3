"""What a trigger's schedule lets go by, and what it makes up for later. Pure.

Asked by the engine, which acts on it, and by `simulate`, which foretells it.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final

from tocsin.event import Origin
from tocsin.instants import MICROSECOND
from tocsin.registration import Registration
from tocsin.schedule import Decision, PlannedFire, decide
from tocsin.trigger import Misfire, MisfirePolicy

NONE_FIRES: Final = MisfirePolicy(misfire=Misfire.SKIP, grace=timedelta(0) - MICROSECOND)  # even the latest


def passed(registration: Registration, due: datetime, end: datetime) -> Decision:
    """What the schedule says about all instants from `due` to before `end`: none of them fires.

    Raises InvalidSchedule.
    """
    return decide(
        registration.spec.schedule,
        next_fire_at=due,
        now=end - MICROSECOND,
        anchor=registration.armed_at,
        policy=NONE_FIRES,
    )


def put_off(registration: Registration, fire: PlannedFire) -> timedelta:
    """How long a fire waits before it starts: none that is on time and stands for itself alone."""
    made_up_for = fire.origin is Origin.CATCH_UP or fire.missed > 0
    return spread(registration) if made_up_for else timedelta()


def spread(registration: Registration) -> timedelta:
    """How long a trigger's catch-ups wait; its part of the splay is always the same."""
    policy = registration.spec.misfire
    part = int(hashlib.sha256(registration.id.encode()).hexdigest()[:8], 16) / 16**8
    return policy.wake_delay + policy.splay * part
