"""Which triggers or events a verb is about, and whether it may be, inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches

from tocsin.errors import NotFound, Refused
from tocsin.event import Event
from tocsin.instants import rfc3339
from tocsin.registration import DRIFTED, PAUSED, DisabledReason, Registration
from tocsin.store import events, ledger, registrations
from tocsin.store.connection import Tx


def named(tx: Tx, name: str) -> Registration:
    """The present bearer of a name. Raises NotFound with the nearest names."""
    row = registrations.by_name(tx, name)
    if row is None:
        names = [row.spec.name for row in registrations.present(tx)]
        raise NotFound(thing="trigger", name=name, nearest=get_close_matches(name, names, n=2))
    return row


def selected(tx: Tx, names: Sequence[str], tag: str | None) -> list[Registration]:
    """Rows by name, or all with a tag. Raises NotFound when a name or the tag fits none."""
    if tag is None:
        return [named(tx, name) for name in names]
    rows = [row for row in registrations.present(tx) if tag in row.spec.tags]
    if not rows:
        raise NotFound(thing="tag", name=tag)
    return rows


def refuse_expired(row: Registration, now: datetime) -> None:
    """Raises Refused for a trigger past its end: it could only be disarmed again."""
    if row.spec.expires_at is not None and row.spec.expires_at <= now:
        raise Refused(f"{row.spec.name} has expired: set a later expires_at and apply it")


def off(name: str, reason: str) -> Refused:
    """The refusal for a trigger that is not active, with the way out."""
    if reason == "removed":
        return Refused(f"{name} was removed: nothing of it runs any more")
    if reason == "expired":
        return Refused(f"{name} has expired: set a later expires_at and apply it")
    if reason == DisabledReason.CONFIG:
        return Refused(f"{name} is off: it is not in the configuration, or says enabled = false there")
    if reason == DisabledReason.BUDGET:
        return Refused(
            f"{name} is off: its budget is used up; `tocsin enable {name}` lets it spend that once more"
        )
    if reason == PAUSED:
        return Refused(f"{name} is paused: `tocsin resume {name}` lets it go on")
    if reason == DRIFTED:
        return Refused(
            f"{name} was made for another version of its source: `tocsin rebind {name}` confirms it"
        )
    return Refused(f"{name} is off ({reason}): `tocsin enable {name}` arms it again")


def refuse_off(row: Registration, now: datetime) -> None:
    """Raises Refused, with the way out, for a trigger that is not active: nothing of it may run."""
    reason = row.off_reason(now) or row.halt(now)
    if reason is not None:
        raise off(row.spec.name, reason)


def event_with_id(tx: Tx, id_: str) -> Event:
    """The event of exactly this id. Raises NotFound."""
    event = events.by_id(tx, id_)
    if event is None:
        raise NotFound(thing="event", name=id_)
    return event


def payload_of(tx: Tx, event_id: str) -> ledger.Delivered:
    """What an event was made from. Raises Refused when that was given up for its age."""
    found = ledger.delivery_of(tx, event_id)
    if found.pruned_at is not None:
        when = rfc3339(found.pruned_at)
        raise Refused(f"{event_id} has no payload any more: it was given up on {when} (retention.payloads)")
    return found
