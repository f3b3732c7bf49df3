"""`events`, `event`: what came about, and why it stands where it stands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli import documents, render
from tocsin.cli.behind import ahead_of, told
from tocsin.cli.following import Follower, follow
from tocsin.cli.options import JsonFlag, Limit, OptionalName, Since, bad, one_of
from tocsin.cli.options import since as since_
from tocsin.cli.reading import event_called, id_of, read, read_if_any
from tocsin.cli.session import Session, now, session_of
from tocsin.cli.times import both, local, relative
from tocsin.event import Event, Origin, State
from tocsin.instants import rfc3339
from tocsin.runs import Run
from tocsin.trigger import Json

if TYPE_CHECKING:
    from tocsin.store.connection import Tx
    from tocsin.store.journal import Entry
    from tocsin.store.ledger import Delivered

LIMIT = 20  # rows unless told: one screen


def events(
    context: typer.Context,
    name: OptionalName = None,
    state: Annotated[
        str | None, typer.Option(metavar="S", help=f"Only in this state: {', '.join(State)}.")
    ] = None,
    since: Since = None,
    limit: Limit = LIMIT,
    follow_: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on: a line for each new event and each change of one.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """List events, newest first.

    Example: tocsin events brief --state failed --since 7d
    """
    session, moment = session_of(context), now()
    wanted = None if state is None else State(one_of("--state", state, State))
    cutoff = since_(since, moment)
    if follow_ and since is not None:
        bad("--since", "has no place beside --follow, which begins with the last --limit events")
    if follow_:
        watch(session, name, wanted, limit, as_json=as_json)
        return
    rows = read_if_any(session, lambda tx: listed(tx, name, wanted, cutoff, limit)) or []
    if as_json:
        render.document([documents.event(row) for row in rows])
    elif rows:
        event_table(rows, moment)
    else:
        render.say("no events" + (" fit" if name or state or since else " yet: `tocsin fire NAME` makes one"))


def listed(tx: Tx, name: str | None, state: State | None, since: datetime | None, limit: int) -> list[Event]:
    from tocsin.store import events as table

    id_ = id_of(tx, name)
    return table.listed(tx, registration_id=id_, state=state, since=since, limit=limit)


def event_table(rows: Sequence[Event], moment: datetime) -> None:
    """Events as rows, for `events` and `show`."""
    headers = ("WHEN", "EVENT", "TRIGGER", "KIND", "STATE", "ATTEMPTS", "REASON")
    render.table(headers, [list(event_cells(row, moment)) for row in rows])


def event_cells(row: Event, moment: datetime) -> Iterator[str]:
    yield relative(row.created_at, moment)
    yield row.id
    yield row.registration
    yield sort(row)
    yield row.state
    yield str(row.attempts)
    yield f"{row.reason or ''}{f' x{row.count}' if row.count > 1 else ''}" or "-"


def sort(row: Event) -> str:
    """The kind, and how it came about where that is not plain from it."""
    return row.kind if row.origin in (Origin.LIVE, str(row.kind)) else f"{row.kind}, {row.origin}"


def watch(session: Session, name: str | None, state: State | None, limit: int, *, as_json: bool) -> None:
    """Tell of events until interrupted."""
    follower = Follower(registration_id=read(session, lambda tx: id_of(tx, name)), state=state)

    def tell(event: Event) -> None:
        if as_json:
            render.json_line(documents.event(event))
        else:
            reason = f" ({event.reason})" if event.reason else ""
            render.line(f"{local(event.created_at)}  {event.id}  {event.registration}  {event.state}{reason}")

    asyncio.run(follow(session, follower, limit=limit, tell=tell))


def event(
    context: typer.Context,
    id_: Annotated[str, typer.Argument(metavar="ID", help="An event, or a beginning of its id.")],
    as_json: JsonFlag = False,
) -> None:
    """Show one event: what arrived, its runs, and what was decided when.

    Example: tocsin event evt_0198c2
    """
    row, arrived, runs, entries, head = read(session_of(context), lambda tx: story(tx, id_))
    trace, moment = trace_of(row, arrived, runs, entries), now()
    if head is not None:
        trace.append({"at": rfc3339(moment), "what": "waits behind", "reason": told(head, moment)})
    if as_json:
        more: dict[str, Json] = {
            "envelope": arrived.envelope if arrived.pruned_at is None else None,
            "runs": [documents.run(run) for run in runs],
            "trace": trace,
        }
        render.document(documents.event(row) | more)
    else:
        show_event(row, arrived, trace, head, moment)


def story(tx: Tx, text: str) -> tuple[Event, Delivered, list[Run], list[Entry], Event | None]:
    """Everything that is known of an event, and the one that it waits behind."""
    from tocsin.store import journal, ledger, runs

    row = event_called(tx, text)
    entries, head = journal.of_event(tx, row.id), ahead_of(tx, row)
    return row, ledger.delivery_of(tx, row.id), runs.of_event(tx, row.id), entries, head


def trace_of(
    row: Event, arrived: Delivered, runs: Sequence[Run], entries: Sequence[Entry]
) -> list[dict[str, Json]]:
    """What happened, in the order of time: recorded, runs begun and ended, whatever was noted, the end."""
    steps = [(row.created_at, "recorded", sort(row))]
    for run in runs:
        steps.append((run.started_at, f"attempt {run.attempt} started", run.id))
        if run.finished_at is not None:
            steps.append((run.finished_at, f"attempt {run.attempt} {run.state}", run.error or run.id))
    steps += [(entry.at, entry.what, entry.reason or "") for entry in entries]
    if row.settled_at is not None:
        steps.append((row.settled_at, str(row.state), row.reason or ""))
    if arrived.envelope.get("schema_status") == "valid":
        steps.append((row.created_at, "fits its schema", ""))
    if arrived.pruned_at is not None:
        steps.append((arrived.pruned_at, "payload given up", "retention.payloads"))
    steps.sort(key=lambda step: step[0])
    return [{"at": rfc3339(at), "what": what, "reason": reason or None} for at, what, reason in steps]


def show_event(
    row: Event, arrived: Delivered, trace: list[dict[str, Json]], head: Event | None, moment: datetime
) -> None:
    render.facts([*event_facts(row, moment), ("behind", None if head is None else told(head, moment))])
    render.line("\ntrace")
    for step in trace:
        reason = f": {step['reason']}" if step["reason"] else ""
        render.line(f"  {step['at']}  {step['what']}{reason}")
    render.line("\nenvelope")
    if arrived.pruned_at is None:
        render.document(arrived.envelope)
    else:
        render.line(f"  given up on {rfc3339(arrived.pruned_at)} (retention.payloads)")


def event_facts(row: Event, moment: datetime) -> Iterator[tuple[str, str | None]]:
    yield "event", row.id
    yield "trigger", row.registration
    yield "kind", sort(row)
    yield "state", row.state
    yield "reason", row.reason
    yield "occurred", both(row.occurred_at, moment)
    yield "planned", both(row.planned_at, moment)
    yield "due", both(row.next_fire_at, moment)
    yield "settled", both(row.settled_at, moment)
    yield "attempts", str(row.attempts)
    yield "stands for", f"{row.missed} more" if row.missed else None
    yield "replay of", row.replay_of
    yield "caused by", None if row.cause is None else row.cause.run_id
    yield "last run", row.run_id
