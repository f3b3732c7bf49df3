"""Whether the triggers of a delivery take anything in now: asked once it is known who sent it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tocsin.registration import Registration
from tocsin.web.proving import Proof
from tocsin.web.refusals import DRAINING_RETRY_S, LONGEST_RETRY_S, gone, left_of, paused, unavailable


def refuse_off(proof: Proof, now: datetime, *, is_accepting: bool) -> None:
    """Raises a Refusal: 410 when all are off, 503 when nothing can be taken for a time.

    One that is paused beside others that are not is no reason: what is for it is kept for its end. One
    that waits for its owner is: only the sender can keep what is for it.
    """
    on = active(proof, now)
    if not on:
        raise gone()
    awake = [row for row in on if not row.is_paused(now)]
    if not awake:
        raise paused(retry_after_s=min(left_of(row.paused_until, now) for row in on))
    if not is_accepting:
        raise unavailable("the engine is about to stop; send it again", retry_after_s=DRAINING_RETRY_S)
    if any(row.halt(now) is not None for row in awake):
        message = "this trigger waits for its owner; send it again later"
        raise unavailable(message, retry_after_s=LONGEST_RETRY_S)


def active(proof: Proof, now: datetime) -> Sequence[Registration]:
    """The triggers that are on, paused ones included."""
    return [row for source in proof.sources for row in source.rows if row.off_reason(now) is None]
