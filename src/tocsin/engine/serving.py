"""Which scopes the engine serves: what it watches for, plans and runs. Inside a transaction.

Triggers of another scope are idle: what is posted to them is recorded and waits, what is planned for
them is missed time once they are served again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from tocsin.errors import Refused
from tocsin.registration import Registration
from tocsin.store import journal, turns
from tocsin.store.connection import Tx
from tocsin.trigger import Scope

UNSERVED: Final = "unserved"  # the fact that `registration_rows` and the queue go by


def serve(tx: Tx, scopes: Collection[Scope]) -> None:
    """From now on only these are served."""
    journal.put_fact(tx, UNSERVED, [scope for scope in Scope if scope not in scopes])
    turns.take_back(tx)


def refuse_idle(registration: Registration) -> None:
    """Raises Refused for a trigger that nobody would run."""
    if registration.idle:
        raise Refused(f"{registration.spec.name} is idle: {registration.idle_reason}")
