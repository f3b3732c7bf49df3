"""Verbs of the `registrations` table. Each runs inside a transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tocsin.instants import instant, microseconds
from tocsin.registration import DisabledReason, Mark, Registration, RowOrigin
from tocsin.store.columns import at_us, dump
from tocsin.store.connection import Tx
from tocsin.store.rows import registration_of
from tocsin.store.spec_rows import spec_columns
from tocsin.trigger import Json, TriggerSpec


def insert(
    tx: Tx,
    spec: TriggerSpec,
    *,
    id_: str,
    installation_id: str,
    workflow_version: int,
    next_fire_at: datetime | None,
    disabled_reason: DisabledReason | None,
    origin: RowOrigin,
    now: datetime,
) -> None:
    """A new row, armed now, off when a reason is given."""
    tx.run(
        "registrations.insert",
        **spec_columns(spec),
        id=id_,
        installation_id=installation_id,
        workflow_version=workflow_version,
        next_fire_at=at_us(next_fire_at),
        armed_at=microseconds(now),
        enabled=int(disabled_reason is None),
        disabled_reason=disabled_reason,
        origin=origin,
        created_at=microseconds(now),
    )


def update_spec(tx: Tx, id_: str, spec: TriggerSpec, *, installation_id: str, workflow_version: int) -> None:
    """Another wording; state, counters and enablement stay."""
    columns = spec_columns(spec)
    del columns["name"]
    tx.run(
        "registrations.update_spec",
        **columns,
        id=id_,
        installation_id=installation_id,
        workflow_version=workflow_version,
    )


def follow_workflow(tx: Tx, workflow: str, version: int) -> None:
    """Every present row of a workflow runs this version from now on."""
    tx.run("registrations.follow_workflow", workflow=workflow, version=version)


def reschedule(tx: Tx, id_: str, *, next_fire_at: datetime | None, now: datetime) -> None:
    """A new schedule revision, armed now."""
    tx.run("registrations.reschedule", id=id_, next_fire_at=at_us(next_fire_at), now=microseconds(now))


def by_id(tx: Tx, id_: str) -> Registration | None:
    """The row, also a removed one."""
    row = tx.one("registrations.by_id", id=id_)
    return None if row is None else registration_of(row)


def by_name(tx: Tx, name: str) -> Registration | None:
    """The present bearer of a name."""
    row = tx.one("registrations.by_name", name=name)
    return None if row is None else registration_of(row)


def by_token(tx: Tx, hash_: str) -> Registration | None:
    """The row behind a webhook token's hash, also a removed one."""
    row = tx.one("registrations.by_token", hash=hash_)
    return None if row is None else registration_of(row)


def present(tx: Tx) -> list[Registration]:
    """All that were not removed, by name."""
    return [registration_of(row) for row in tx.all("registrations.present")]


def of_installation(tx: Tx, installation_id: str) -> list[Registration]:
    """Every present row that an installation feeds, by name."""
    rows = tx.all("registrations.of_installation", installation_id=installation_id)
    return [registration_of(row) for row in rows]


def active(tx: Tx, component: str) -> list[Registration]:
    """Active rows of one component, by name."""
    return [
        registration_of(row) for row in tx.all("registrations.active_with_component", component=component)
    ]


def due(tx: Tx, now: datetime, *, limit: int) -> Sequence[Registration]:
    """Active rows whose planned instant has come, the longest waiting first."""
    return [registration_of(row) for row in tx.all("registrations.due", now=microseconds(now), limit=limit)]


def passed(tx: Tx, until: datetime) -> list[Registration]:
    """Active rows with a planned instant up to then, by name; none whose pause goes on then."""
    return [registration_of(row) for row in tx.all("registrations.passed", until=microseconds(until))]


def next_due(tx: Tx) -> datetime | None:
    """The earliest planned instant of all active rows."""
    row = tx.one("registrations.next_due")
    return None if row is None or row["next_fire_at"] is None else instant(row["next_fire_at"])


def next_expiry(tx: Tx) -> datetime | None:
    """The earliest end of all active rows."""
    row = tx.one("registrations.next_expiry")
    return None if row is None or row["expires_at"] is None else instant(row["expires_at"])


def expired(tx: Tx, now: datetime) -> Sequence[Registration]:
    """Active rows past their `expires_at`."""
    return [registration_of(row) for row in tx.all("registrations.expired", now=microseconds(now))]


def plan_next(tx: Tx, id_: str, next_fire_at: datetime | None) -> None:
    """Move the next planned instant."""
    tx.run("registrations.plan_next", id=id_, next_fire_at=at_us(next_fire_at))


def hold(tx: Tx, id_: str) -> None:
    """Plan nothing until it is armed again or a run names a time."""
    tx.run("registrations.hold", id=id_)


def plan_by_run(tx: Tx, id_: str, next_fire_at: datetime, *, run_id: str) -> None:
    """A run named its next instant, whatever was planned or held."""
    tx.run("registrations.plan_by_run", id=id_, next_fire_at=microseconds(next_fire_at), run_id=run_id)


def disable(tx: Tx, id_: str, reason: DisabledReason) -> bool:
    """Turn off; False when it was off already (its reason stays)."""
    return tx.run("registrations.disable", id=id_, reason=reason) == 1


def enable(tx: Tx, id_: str, *, next_fire_at: datetime | None, now: datetime) -> None:
    """Arm anew: reason, streak and runs since armed are cleared, the success count is not.

    Turned off by its budget, it may spend that once more.
    """
    tx.run("registrations.enable", id=id_, next_fire_at=at_us(next_fire_at), now=microseconds(now))


def remove(tx: Tx, id_: str, now: datetime) -> None:
    """Hide; history stays, the name is free."""
    tx.run("registrations.remove", id=id_, now=microseconds(now))


def mark_drift(tx: Tx, id_: str, at: datetime | None) -> None:
    """Since when its component is not what it was made for; None when it is."""
    tx.run("registrations.mark_drift", id=id_, at=at_us(at))


def rebind(tx: Tx, id_: str, version: int) -> None:
    """The row is made for this version of its component."""
    tx.run("registrations.rebind", id=id_, version=version)


def move_mark(tx: Tx, id_: str, mark: Mark | None) -> None:
    """How far `greatest` has come; None starts afresh."""
    id_of, event_id = (None, None) if mark is None else (mark.delivery_id, mark.event_id)
    tx.run("registrations.move_mark", id=id_, mark=id_of, event_id=event_id)


def write_state(tx: Tx, id_: str, state: Json) -> None:
    """Keep this for the next run; None clears it."""
    tx.run("registrations.write_state", id=id_, state=None if state is None else dump(state))


def succeeded(tx: Tx, id_: str, claimed_at: datetime) -> None:
    """Count a success; the streak of failures ends."""
    tx.run("registrations.succeeded", id=id_, claimed_at=microseconds(claimed_at))


def failed(tx: Tx, id_: str, error: str) -> None:
    """Count a failed attempt."""
    tx.run("registrations.failed", id=id_, error=error)


def tell_loop(tx: Tx, id_: str, detail: str) -> None:
    """Its last error is that it started itself; no run's end hides that, `enable` takes it away."""
    tx.run("registrations.tell_loop", id=id_, error=detail)
