"""Why nothing is planned, in one line: what `next` and `simulate` say instead of an empty table."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from tocsin.cli.times import until
from tocsin.registration import Registration

ALL: Final = "nothing is planned: `tocsin list` shows which triggers have a schedule and are on"


def nothing(row: Registration | None, moment: datetime, within: str | None) -> str:
    """row: the trigger that was asked about, None for all. within: how far ahead, as it was typed."""
    why = None if row is None else standstill(row, moment)
    if why is not None:
        return why
    if within is not None:
        what = "nothing" if row is None else f"nothing of {row.spec.name}"
        return f"{what} is planned within {within}: a longer time may show more"
    return ALL if row is None else f"nothing is planned: {row.spec.name} has no time left to fire"


def standstill(row: Registration, moment: datetime) -> str | None:
    """What keeps it from being planned at all; None when nothing does."""
    name, off = row.spec.name, row.off_reason(moment)
    if off is not None:
        return f"nothing is planned: {name} is off ({off}); `tocsin enable {name}` turns it on"
    if row.spec.schedule is None and row.next_fire_at is None:
        return f"nothing is planned: {name} has no schedule, its source is {row.spec.component}"
    if row.is_paused(moment):
        end = until(row.paused_until, moment) or f"until `tocsin resume {name}`"
        return f"nothing is planned: {name} is paused {end}"
    if row.held_until_enabled:
        return f'nothing is planned: a run of {name} said "never"; `tocsin enable {name}` arms it again'
    return None if row.drift is None else f"nothing is planned: {name} is {row.drift}"
