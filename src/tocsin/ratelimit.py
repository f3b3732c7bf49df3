"""How often a source may tell of something: the generic cell rate algorithm (GCRA), as in ITU-T I.371.

One instant is kept per source, the theoretical arrival time: when the last delivery would have come
if all had kept their distance. Pure; ``engine.accept`` keeps it, in the accepting transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from tocsin.trigger import Json, Rate

KEY = "rate"  # of an installation's props


def of_props(props: Mapping[str, Json]) -> Rate | None:
    """The rate in an installation's props, `{"rate": {"count": n, "per_ms": ms}}`; None without one."""
    written = props.get(KEY)
    if not isinstance(written, Mapping):
        return None
    count, per_ms = written.get("count"), written.get("per_ms")
    if not isinstance(count, int) or not isinstance(per_ms, int) or count < 1 or per_ms < 1:
        return None
    return Rate(count=count, per=timedelta(milliseconds=per_ms))


def step(rate: Rate, tat: datetime | None, now: datetime) -> tuple[datetime | None, timedelta]:
    """Whether one more may pass now: the instant to keep, and no wait; or None, and how long to wait.

    tat: the instant that was kept, None the first time. No true clock keeps one that lies farther ahead
    than a whole burst: the clock was set back since. This one passes then, as the last of a burst, so
    that nobody is locked out until the clock has caught up.
    """
    distance = rate.distance
    burst = distance * rate.count
    expected = now if tat is None else max(tat, now)
    if expected > now + burst:
        expected = now + burst - distance
    wait = expected + distance - (now + burst)
    return (None, wait) if wait > timedelta() else (expected + distance, timedelta())
