"""Reads the database beside whoever writes it, and finds rows by what people type.

Names are exact; an id may be cut short to any beginning that only one row has, with or without its
`evt_` or `run_`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from tocsin.cli.session import Session
from tocsin.errors import Ambiguous, NotFound, TocsinError
from tocsin.event import Event
from tocsin.identity import EVENT, QUARANTINE, RUN
from tocsin.quarantine import Kept
from tocsin.registration import Registration
from tocsin.runs import Run

if TYPE_CHECKING:
    from tocsin.store.connection import Tx

T = TypeVar("T")
Row = TypeVar("Row", Event, Run, Kept)


class NothingYet(TocsinError):
    """The home has no database: no engine ran on it and nothing was applied."""

    def __init__(self, session: Session) -> None:
        super().__init__(
            f"nothing is recorded in {session.paths.home} yet: `tocsin up` starts the engine, "
            "`tocsin apply` takes the configuration over without one"
        )


def read(session: Session, step: Callable[[Tx], T]) -> T:
    """What one step sees in one snapshot. Raises NothingYet, StoreUnusable."""
    if not has_database(session):
        raise NothingYet(session)
    return asyncio.run(in_snapshot(session, step))


def read_if_any(session: Session, step: Callable[[Tx], T]) -> T | None:
    """The same for what may be empty: None when the home has no database yet."""
    return asyncio.run(in_snapshot(session, step)) if has_database(session) else None


def has_database(session: Session) -> bool:
    """Whether anything was ever recorded."""
    return session.paths.database.exists()


async def in_snapshot(session: Session, step: Callable[[Tx], T]) -> T:
    from tocsin.store.connection import open_reader

    async with open_reader(session.paths.database) as store:
        return await store.read(step)


def triggers(tx: Tx) -> list[Registration]:
    """All triggers that were not removed, by name."""
    from tocsin.store import registrations

    return registrations.present(tx)


def trigger_called(tx: Tx, name: str) -> Registration:
    """The trigger of that name. Raises NotFound with the nearest names."""
    from tocsin.engine.choosing import named

    return named(tx, name)


def id_of(tx: Tx, name: str | None) -> str | None:
    """The id of the trigger that a list is narrowed to; None for all. Raises NotFound."""
    return None if name is None else trigger_called(tx, name).id


def event_called(tx: Tx, text: str) -> Event:
    """The one event of that id or beginning of one. Raises NotFound, Ambiguous."""
    from tocsin.store import events

    return only(events.by_prefix(tx, whole(text, EVENT)), "event", text)


def quarantined_called(tx: Tx, text: str) -> Kept:
    """The one quarantined delivery of that id or beginning of one. Raises NotFound, Ambiguous."""
    from tocsin.store import quarantine

    return only(quarantine.by_prefix(tx, whole(text, QUARANTINE)), "quarantined delivery", text)


def run_called(tx: Tx, text: str) -> Run:
    """The one run of that id or beginning of one, or the last run of such an event.

    Raises NotFound, Ambiguous.
    """
    from tocsin.store import runs

    if not text.startswith(f"{EVENT}_"):
        found = runs.by_prefix(tx, whole(text, RUN))
        if found or text.startswith(f"{RUN}_"):
            return only(found, "run", text)
    of_event = runs.of_event(tx, event_or_missing_run(tx, text).id)
    return only(of_event[-1:], "run of event", text)


def event_or_missing_run(tx: Tx, text: str) -> Event:
    """The event, or the complaint that no run is called so."""
    try:
        return event_called(tx, text)
    except NotFound:
        raise NotFound(thing="run", name=text) from None


def whole(text: str, prefix: str) -> str:
    """With the prefix that a copied id may have lost."""
    return text if text.startswith(f"{prefix}_") else f"{prefix}_{text}"


def only(rows: Sequence[Row], thing: str, text: str) -> Row:
    """The single row. Raises NotFound, Ambiguous; nothing typed is nothing found."""
    if not rows or not text:
        raise NotFound(thing=thing, name=text)
    if len(rows) > 1:
        raise Ambiguous(thing=thing, prefix=text, count=len(rows))
    return rows[0]
