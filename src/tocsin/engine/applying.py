"""Makes rows say what a configuration says: adds, changes, disables and removes registrations.

One transaction for a whole configuration, so that an engine never sees half of one. A disarm is
never lifted here, except one whose reason is that the row had left the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from tocsin.config.load import Loaded
from tocsin.config.plan import Plan, plan
from tocsin.engine import drift
from tocsin.engine.deferring import let_go
from tocsin.engine.disarming import disarm, drop_all, requeue
from tocsin.engine.recognition import carry_over
from tocsin.identity import INSTALLATION, REGISTRATION, new_id, new_token, token_hash
from tocsin.notices import ConfigApplied
from tocsin.registration import DisabledReason, Registration, RowOrigin
from tocsin.schedule import next_after
from tocsin.seams import Announce, SecretStore
from tocsin.settings import Configuration
from tocsin.store import installations, journal, registrations, workflows
from tocsin.store.connection import Tx
from tocsin.trigger import Kind, TriggerSpec


class Applier:
    """Steps that change registrations, for use inside a transaction."""

    def __init__(self, *, announce: Announce, secrets: SecretStore) -> None:
        self._announce = announce
        self._secrets = secrets

    def apply(self, tx: Tx, wanted: Configuration, plan: Plan, *, prune: bool, now: datetime) -> None:
        """Do what the plan says. `plan` was made from the rows as this transaction sees them."""
        versions = {name: workflows.put(tx, workflow, now) for name, workflow in wanted.workflows.items()}
        for name in plan.workflows_changed:
            registrations.follow_workflow(tx, name, versions[name])
        for addition in plan.added:
            self.add(tx, wanted.triggers[addition.name], versions, origin=RowOrigin.FILE, now=now)
        for change in plan.changed:
            self._change(tx, wanted.triggers[change.name], versions, now)
        for addition in plan.returned:
            self._return(tx, addition.name, now)
        for name in plan.gone if prune else plan.removed:
            self._leave(tx, name, prune=prune, now=now)

    def add(
        self, tx: Tx, spec: TriggerSpec, versions: Mapping[str, int], *, origin: RowOrigin, now: datetime
    ) -> str:
        """A new registration with its installation (and token). Returns its id."""
        id_, installation_id = new_id(REGISTRATION, now), self._install(tx, spec, now)
        registrations.insert(
            tx,
            spec,
            id_=id_,
            installation_id=installation_id,
            workflow_version=versions[spec.workflow],
            next_fire_at=first_fire(spec, now) if spec.enabled else None,
            disabled_reason=None if spec.enabled else DisabledReason.CONFIG,
            origin=origin,
            now=now,
        )
        journal.write(tx, "added", registration_id=id_, reason=origin, now=now)
        if needs_token(spec):
            self.issue_token(tx, id_, now)
        return id_

    def issue_token(self, tx: Tx, id_: str, now: datetime) -> str:
        """A fresh token; an earlier one is void. The secret is on disk before its hash is committed."""
        token = new_token()
        self._secrets.put(secret_name(id_), token)
        journal.put_token(tx, token_hash(token), registration_id=id_, now=now)
        return token

    def enable(self, tx: Tx, registration: Registration, now: datetime) -> None:
        """Arm anew; a file source that was off starts from what is there then."""
        registrations.enable(tx, registration.id, next_fire_at=first_fire(registration.spec, now), now=now)
        installations.trouble(tx, registration.installation_id, None)
        if not registration.enabled and registration.spec.kind is Kind.FILE:
            self._start_afresh(tx, registration)
        journal.write(tx, "enabled", registration_id=registration.id, now=now)

    def remove(self, tx: Tx, registration: Registration, now: datetime) -> None:
        """Hide the row and drop what waits; its history stays."""
        registrations.remove(tx, registration.id, now)
        tx.after_commit(partial(self._secrets.delete, secret_name(registration.id)))
        journal.write(tx, "removed", registration_id=registration.id, now=now)
        drop_all(tx, registration, "removed", now=now, announce=self._announce)

    def _change(self, tx: Tx, spec: TriggerSpec, versions: Mapping[str, int], now: datetime) -> None:
        row = present(tx, spec.name)
        installation_id = self._refit(tx, row, spec, now)
        registrations.update_spec(
            tx, row.id, spec, installation_id=installation_id, workflow_version=versions[spec.workflow]
        )
        carry_over(tx, row, spec)
        if row.drifted_at is not None and row.spec.component_version != spec.component_version:
            drift.confirmed(tx, row, spec.component_version, now)
        let_go(tx, row, spec.max_runs_per_hour, now)
        if row.spec.schedule != spec.schedule:
            upcoming = first_fire(spec, now) if row.enabled else None
            registrations.reschedule(tx, row.id, next_fire_at=upcoming, now=now)
            installations.trouble(tx, installation_id, None)
        if needs_token(spec) and not needs_token(row.spec):
            self.issue_token(tx, row.id, now)
        if row.enabled and not spec.enabled:
            detail = "enabled = false in the configuration"
            disarm(tx, row, DisabledReason.CONFIG, detail, now=now, announce=self._announce)
        journal.write(tx, "changed", registration_id=row.id, now=now)

    def _refit(self, tx: Tx, row: Registration, spec: TriggerSpec, now: datetime) -> str:
        """The same installation with other props, or another one for another component or source."""
        if (row.spec.component, row.spec.source) != (spec.component, spec.source):
            return self._install(tx, spec, now)
        installations.update_props(tx, row.installation_id, spec.props)
        return row.installation_id

    def _install(self, tx: Tx, spec: TriggerSpec, now: datetime) -> str:
        """The installation for a trigger: a new one of its own, or that of the source that it names."""
        found = None if spec.source is None else installations.shared(tx, spec.source, spec.component)
        if found is None:
            found = new_id(INSTALLATION, now)
            installations.insert(tx, found, spec, now)
        else:
            installations.update_props(tx, found, spec.props)
            if not installations.feeding(tx, found):  # nobody watched: what is there counts as known
                installations.move_cursor(tx, found, None)
        return found

    def _start_afresh(self, tx: Tx, registration: Registration) -> None:
        """What is there when it watches again counts as known, unless the source watched for others."""
        if installations.feeding(tx, registration.installation_id) == 1:  # this one
            installations.move_cursor(tx, registration.installation_id, None)

    def _return(self, tx: Tx, name: str, now: datetime) -> None:
        """Back in the file: what its leaving had dropped waits again."""
        row = present(tx, name)
        self.enable(tx, row, now)
        requeue(tx, row, now)

    def _leave(self, tx: Tx, name: str, *, prune: bool, now: datetime) -> None:
        row = present(tx, name)
        if prune:
            self.remove(tx, row, now)
        else:
            disarm(tx, row, DisabledReason.CONFIG, "left the configuration", now=now, announce=self._announce)


def needs_token(spec: TriggerSpec) -> bool:
    """Whether it has an address of its own."""
    return spec.component == "webhook" and spec.source is None


def present(tx: Tx, name: str) -> Registration:
    """The row of a name that the plan has seen in this transaction."""
    row = registrations.by_name(tx, name)
    if row is None:
        raise LookupError(name)
    return row


def first_fire(spec: TriggerSpec, now: datetime) -> datetime | None:
    """The first planned instant of a trigger armed now."""
    return None if spec.schedule is None else next_after(spec.schedule, after=now, anchor=now)


def secret_name(registration_id: str) -> str:
    """Under which name a webhook's token is kept."""
    return f"token/{registration_id}"


def make_plan(tx: Tx, loaded: Loaded, now: datetime, *, by_hand: bool) -> Plan:
    """Rows against file, as this transaction sees them.

    by_hand: a person applies it, which confirms what has drifted; nothing else does.
    """
    known = {name: workflow for name, (workflow, _) in workflows.all_(tx).items()}
    rows = registrations.present(tx)
    return plan(rows, known, wanted(tx, loaded, by_hand=by_hand), now, place=loaded.place)


def wanted(tx: Tx, loaded: Loaded, *, by_hand: bool) -> Configuration:
    """What the file asks for; not by hand, each trigger stays with the version that its row was made for."""
    if by_hand:
        return loaded.configuration
    triggers = dict(loaded.configuration.triggers)
    for row in registrations.present(tx):
        spec = triggers.get(row.spec.name)
        if spec is not None and spec.component == row.spec.component:
            triggers[row.spec.name] = replace(spec, component_version=row.spec.component_version)
    return replace(loaded.configuration, triggers=triggers)


def applied(path: Path, made: Plan) -> ConfigApplied:
    """The notice of a configuration that took effect."""
    return ConfigApplied(
        path=str(path),
        added=len(made.added),
        changed=len(made.changed),
        disabled=len(made.removed),
        workflows=len(made.workflows_changed),
    )
