"""Verbs of the `workflows` table. Each runs inside a transaction."""

from __future__ import annotations

from datetime import datetime

from tocsin.identity import document_hash
from tocsin.instants import microseconds
from tocsin.settings import Workflow
from tocsin.store.columns import dump
from tocsin.store.connection import Tx
from tocsin.store.rows import workflow_of


def put(tx: Tx, workflow: Workflow, now: datetime) -> int:
    """Write the definition; returns its version, one higher when the definition changed."""
    document = workflow.document()
    row = tx.one(
        "workflows.upsert",
        name=workflow.name,
        hash=document_hash(document),
        runner="command",
        spec=dump(document),
        max_concurrent=workflow.max_concurrent,
        now=microseconds(now),
    )
    return 0 if row is None else int(row["version"])


def by_name(tx: Tx, name: str) -> tuple[Workflow, int] | None:
    """The present definition and its version."""
    row = tx.one("workflows.by_name", name=name)
    return None if row is None else (workflow_of(row), int(row["version"]))


def all_(tx: Tx) -> dict[str, tuple[Workflow, int]]:
    """Every definition and its version, by name."""
    return {row["name"]: (workflow_of(row), int(row["version"])) for row in tx.all("workflows.all")}
