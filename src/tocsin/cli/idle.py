"""Why nothing is planned, in one line: what `next` and `simulate` say instead of an empty table."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tocsin.cli.times import until
from tocsin.registration import Registration

LIST: Final = "`tocsin list` shows which triggers have a schedule and are on"


def nothing(row: Registration | None, moment: datetime, within: str | None, *, is_bare: bool = False) -> str:
    """row: the trigger that was asked about, None for all. within: how far ahead, as it was typed.

    is_bare: an expression was asked about, no trigger.
    """
    why = None if row is None else standstill(row, moment)
    if why is not None:
        return why
    within = "" if within is None else f" within {within}"
    if row is None:
        return f"nothing is planned{within}: {'a longer time may show more' if is_bare else LIST}"
    if within:
        return f"nothing of {row.spec.name} is planned{within}: a longer time may show more"
    return f"nothing is planned: {row.spec.name} has no time left to fire"


def standstill(row: Registration, moment: datetime) -> str | None:
    """What keeps it from being planned at all; None when nothing does."""
    name, off = row.spec.name, row.off_reason(moment)
    if off is not None:
        return f"nothing is planned: {name} is off ({off}); `tocsin enable {name}` turns it on"
    if row.spec.schedule is None and row.next_fire_at is None:
        return f"nothing is planned: {name} has no schedule, its source is {row.spec.component}"
    if row.idle:
        return f"nothing is planned: {name} is idle: {row.idle_reason}"
    if row.is_paused(moment):
        end = until(row.paused_until, moment) or f"until `tocsin resume {name}`"
        return f"nothing is planned: {name} is paused {end}"
    if row.held_until_enabled:
        return f'nothing is planned: a run of {name} said "never"; `tocsin enable {name}` arms it again'
    return None if row.drift is None else f"nothing is planned: {name} is {row.drift}"
