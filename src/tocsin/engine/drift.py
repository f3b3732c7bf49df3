"""Version drift: a component of another version than its triggers were made for, inside a transaction.

Such a trigger halts: nothing is taken in, what was taken in before runs to its end. Only a person
lets it go on, for what its events mean may have changed.
"""

from __future__ import annotations

from datetime import datetime

from tocsin.components import version_of
from tocsin.engine.planning import next_fire
from tocsin.errors import Refused
from tocsin.registration import DRIFTED, Registration
from tocsin.store import installations, journal, registrations
from tocsin.store.connection import Tx


def sweep(tx: Tx, now: datetime) -> None:
    """Note who has drifted since the last engine, and who has come back (an older tocsin again)."""
    for row in registrations.present(tx):
        if row.drift is not None and row.drifted_at is None:
            registrations.mark_drift(tx, row.id, now)
            journal.write(tx, DRIFTED, registration_id=row.id, reason=row.drift, now=now)
        elif row.drift is None and row.drifted_at is not None:
            go_on(tx, row, now)


def confirm(tx: Tx, row: Registration, now: datetime) -> bool:
    """Bind a trigger to its component as it is now. False when it was bound to that already.

    Raises Refused for a component that this tocsin does not have.
    """
    version = version_of(row.spec.component)
    if version is None:
        raise Refused(f"{row.spec.name} is {row.drift}: `tocsin rm {row.spec.name}`, or another tocsin")
    if version == row.spec.component_version:
        return False
    confirmed(tx, row, version, now)
    return True


def confirmed(tx: Tx, row: Registration, version: int, now: datetime) -> None:
    """A person knows of this version."""
    reason = f"version {row.spec.component_version} to {version} of {row.spec.component}"
    registrations.rebind(tx, row.id, version)
    installations.rebind(tx, row.installation_id, version)
    journal.write(tx, "rebound", registration_id=row.id, reason=reason, now=now)
    go_on(tx, row, now)


def go_on(tx: Tx, row: Registration, now: datetime) -> None:
    """Instants that passed in the meantime are not made up for: what they would say had changed."""
    registrations.mark_drift(tx, row.id, None)
    if row.next_fire_at is not None and row.next_fire_at <= now:
        registrations.plan_next(tx, row.id, next_fire(row, now))
