"""`list`, `show`: triggers as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli import documents, render
from tocsin.cli.history import event_table
from tocsin.cli.options import JsonFlag, Name, Tag, one_of
from tocsin.cli.reading import read, read_if_any, trigger_called
from tocsin.cli.reading import triggers as present
from tocsin.cli.session import Session, now, session_of
from tocsin.cli.times import both, relative, until
from tocsin.components import VERSIONS
from tocsin.dedupe import Greatest, strategy_of
from tocsin.event import Event
from tocsin.registration import Registration
from tocsin.trigger import Json, Kind

if TYPE_CHECKING:
    from tocsin.store.connection import Tx
    from tocsin.store.journal import Entry

RECENT = 5  # events that `show` adds: enough to see a pattern, few enough for one screen
KINDS = tuple(dict.fromkeys((*map(str, Kind), *VERSIONS)))

KindOption = Annotated[str | None, typer.Option(metavar="K", help=f"Only this kind: {', '.join(KINDS)}.")]


def list_(
    context: typer.Context,
    tag: Tag = None,
    kind: KindOption = None,
    failing: Annotated[bool, typer.Option("--failing", help="Only those in trouble.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """List triggers with their next fire and how they are.

    Example: tocsin list --failing
    """
    session, moment = session_of(context), now()
    wanted = None if kind is None else one_of("--kind", kind, KINDS)
    rows = [
        row
        for row in read_if_any(session, present) or []
        if (tag is None or tag in row.spec.tags)
        and wanted in (None, row.spec.kind, row.spec.component)
        and (not failing or documents.failing(row, moment))
    ]
    if as_json:
        render.document([documents.registration(row, moment) for row in rows])
    elif rows:
        show_table(rows, moment)
    else:
        say_empty(session, filtered=bool(tag or kind or failing))


def say_empty(session: Session, *, filtered: bool) -> None:
    """What would stand here, and how to make it."""
    if filtered:
        render.say("no trigger fits; `tocsin list` shows all")
    elif session.paths.config.exists():
        render.say(
            f"no triggers yet: `tocsin up` or `tocsin apply` takes over those of {session.paths.config}"
        )
    else:
        render.say(f"no triggers yet: `tocsin init` writes {session.paths.config} to start from")


def show_table(rows: Sequence[Registration], moment: datetime) -> None:
    headers = ("NAME", "KIND", "SOURCE", "NEXT", "LAST SUCCESS", "STATUS", "STREAK")
    render.table(headers, [list(cells(row, moment)) for row in rows])


def cells(row: Registration, moment: datetime) -> Iterator[str]:
    yield row.spec.name
    yield row.spec.kind
    yield source(row)
    yield upcoming(row, moment) or "-"
    yield "never" if row.last_fired_at is None else relative(row.last_fired_at, moment)
    yield standing(row, moment)
    yield f"{row.consecutive_failures} failed" if row.consecutive_failures else "-"


def standing(row: Registration, moment: datetime) -> str:
    """The status; of a pause also when it ends, of an idle one also why."""
    status = row.status(moment)
    if status == "idle":
        return f"idle ({row.spec.scope} not served)"
    if status != "paused" or row.paused_until is None:
        return status
    return f"paused, ends {relative(row.paused_until, moment)}"


def upcoming(row: Registration, moment: datetime) -> str | None:
    """When it fires next, on its own clock; a planned instant may have passed while no engine ran."""
    at = documents.next_fire(row, moment)
    text = both(at, moment, documents.zone_of(row.spec.schedule))
    return f"overdue, {text}" if text and at and at < moment else text


def source(row: Registration) -> str:
    """What makes it fire, in a few words."""
    schedule, props = documents.schedule(row.spec.schedule), row.spec.props
    match row.spec.component:
        case "cron":
            return f"{schedule} {documents.zone_of(row.spec.schedule)}"
        case "files":
            return ", ".join(map(str, as_list(props.get("paths"))))
        case "after":
            followed = " ".join(f"{key} {props[key]}" for key in ("workflow", "trigger") if props.get(key))
            return f"after {followed} ({props.get('on')})"
    return f"{row.spec.component} {schedule}" if schedule else row.spec.component


def as_list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else []


def show(context: typer.Context, name: Name, as_json: JsonFlag = False) -> None:
    """Show one trigger and its last events.

    Example: tocsin show brief
    """
    session, moment = session_of(context), now()
    row, recent, spent, why = read(session, lambda tx: with_recent(tx, name, moment))
    if as_json:
        render.document(documents.registration(row, moment))
        return
    render.facts([*details(row, moment, why), *spending(row, spent, moment)])
    if recent:
        render.write("\n")
        event_table(recent, moment)
    else:
        render.say(f"no events yet: `tocsin fire {name}` makes one")


def with_recent(tx: Tx, name: str, moment: datetime) -> tuple[Registration, list[Event], int, str | None]:
    """The trigger, its last events, what counts against its budget, and why it is off in more words."""
    from tocsin.store import costs, events, journal

    row = trigger_called(tx, name)
    recent = events.listed(tx, registration_id=row.id, state=None, since=None, limit=RECENT)
    return row, recent, costs.spent(tx, row, moment), disarmed_for(row, journal.last_disarmed(tx, row.id))


def disarmed_for(row: Registration, last: Entry | None) -> str | None:
    """What was found when it was turned off; None while it is on, or when it is off for another reason."""
    if last is None or last.reason != row.disabled_reason or not isinstance(last.detail, dict):
        return None
    return str(last.detail["detail"])


def spending(row: Registration, spent: int, moment: datetime) -> Iterator[tuple[str, str | None]]:
    """How far the budget is used up, and when it begins again."""
    budget = row.spec.budget
    if budget is None:
        return
    from tocsin.budget import begins_again, spent_of

    yield "spent", spent_of(spent, budget)
    yield "counted from", both(row.budget_from, moment, budget.tz)
    yield "next period", both(begins_again(budget, moment), moment, budget.tz)


def greatest_id(row: Registration) -> str | None:
    """What a delivery has to be above; None when the trigger keeps no order."""
    is_ordered = isinstance(strategy_of(row.spec.props), Greatest)
    return row.mark.delivery_id if is_ordered and row.mark is not None else None


def paused(row: Registration, moment: datetime) -> str | None:
    """Until when; None when it is not."""
    if not row.is_paused(moment):
        return None
    return until(row.paused_until, moment) or "until it is resumed"


def details(row: Registration, moment: datetime, why: str | None = None) -> Iterator[tuple[str, str | None]]:
    """What is worth a line; what has no value has none."""
    spec, tz = row.spec, documents.zone_of(row.spec.schedule)
    yield "name", spec.name
    yield "status", row.status(moment)
    yield "idle", row.idle_reason
    yield "disabled", f"{row.disabled_reason}: {why}" if why else row.disabled_reason
    yield "paused", paused(row, moment)
    yield "source", source(row)
    yield "workflow", f"{spec.workflow} (version {row.workflow_version})"
    yield "next", upcoming(row, moment)
    yield "last success", both(row.last_fired_at, moment, tz)
    yield "last error", row.last_error
    yield "streak", f"{row.consecutive_failures} failed, off at {spec.disable_after}"
    yield "successes", f"{row.run_count}{'' if spec.max_runs is None else f', off at {spec.max_runs}'}"
    yield "attempts", f"{spec.max_attempts} for each event"
    yield "rate", None if spec.max_runs_per_hour is None else f"{spec.max_runs_per_hour} runs an hour"
    yield "expires", both(spec.expires_at, moment, tz)
    yield "overlap", spec.overlap
    yield "serialize", spec.serialize_key
    yield "filter", spec.filter
    yield "schema", None if spec.schema is None else "a JSON Schema (kept with the trigger)"
    yield "tags", ", ".join(spec.tags) or None
    yield "config", render.json_text(dict(spec.config), indent=None) if spec.config else None
    yield "greatest id", greatest_id(row)
    yield "state", None if row.state is None else render.json_text(row.state, indent=None)
    yield "made by", row.origin
    yield "id", row.id
