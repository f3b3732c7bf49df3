"""`gc`, `audit`: what is old goes, what is there is whole."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

from tocsin.cli import exits, render
from tocsin.cli.link import call
from tocsin.cli.options import JsonFlag
from tocsin.cli.reading import NothingYet, has_database, read
from tocsin.cli.session import Session, session_of

if TYPE_CHECKING:
    from tocsin.store.audit import Audit


def gc(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Give up now what is older than [engine.retention] says, and give the disk back what that frees.

    An engine does this by itself every hour. What has not ended is never given up.

    Example: tocsin gc --json
    """
    session = session_of(context)
    if not has_database(session):
        raise NothingYet(session)
    done = collected(session)
    if as_json:
        render.document(dict(done))
        return
    for name, count in done.items():
        render.line(f"{name:<10}  {count}")


def collected(session: Session) -> dict[str, int]:
    """Everything that went, however many calls it took: each is short, so that others have their turn."""
    total: Counter[str] = Counter()
    while True:
        answer: dict[str, Any] = call(session, "gc", {})
        more = answer.pop("more")
        for name, count in answer.items():
            total[name] += count
        if not more:
            return dict(total)


def audit(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Prove that the database is whole: each event has its delivery, its place, its runs and one end.

    Only reads, also beside a running engine. Exits 1 when something is amiss.

    Example: tocsin audit --json
    """
    from tocsin.store.audit import audited

    found = read(session_of(context), audited)
    if as_json:
        render.document(document(found))
    else:
        show(found)
    raise typer.Exit(exits.OK if found.ok else exits.FAILED)


def document(found: Audit) -> dict[str, Any]:
    """INTERFACE section 4."""
    problems = [{"check": one.check, "id": one.id, "detail": one.detail} for one in found.problems]
    return {
        "ok": found.ok,
        "deliveries": found.deliveries,
        "events": found.events,
        "runs": found.runs,
        "problems": problems,
    }


def show(found: Audit) -> None:
    """What was counted, a line for each check, then `ok` or every problem."""
    sizes = (("deliveries", found.deliveries), ("events", found.events), ("runs", found.runs))
    render.facts((name, str(count)) for name, count in sizes)
    render.table(("CHECK", "PROBLEMS"), [(name, str(count)) for name, count in found.counts().items()])
    for one in found.problems:
        render.line(f"{one.check}: {one.id}: {one.detail}")
    if found.ok:
        render.line("ok")
