"""Warnings: what is allowed and probably not meant. A configuration with warnings runs.

Called by ``load`` on sound records. Looks at the file system (is the program there, may the folder
be read) and changes nothing.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from tocsin import cron
from tocsin.config.loops import looping
from tocsin.config.problems import Fault, seen
from tocsin.config.secret_lint import secret_warnings
from tocsin.settings import Configuration, EngineSettings, Workflow
from tocsin.trigger import At, Cron, Json, Overlap, TriggerSpec

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")

_AHEAD: Final = 366  # days; a year holds every change a zone makes by rule
_DAY: Final = timedelta(days=1)
_FOLD: Final = timedelta(hours=3)  # a repeated time is shown before the change and after it
_TEMPFAIL: Final = 75  # sysexits(3) EX_TEMPFAIL: retried whatever a workflow says
_PLACEHOLDER: Final = re.compile(r"\{(event|config|state)[.}]")
_CONFIG_KEY: Final = re.compile(r"\{config\.([A-Za-z0-9_-]+)")


def warnings(configuration: Configuration, *, now: datetime, home: Path) -> list[Fault]:
    """Everything odd, in the order of the configuration. home: where commands without `cwd` start."""
    found = list(_engine(configuration.engine))
    for name, workflow in configuration.workflows.items():
        found += [fault.under("workflows", name) for fault in _workflow(workflow, home)]
    for name, source in configuration.sources.items():
        found += [fault.under("sources", name) for fault in _source(source.component, source.props)]
    for name, spec in configuration.triggers.items():
        workflow = configuration.workflows[spec.workflow]
        found += [fault.under("triggers", name) for fault in of_trigger(spec, workflow, now)]
    found += _held_up(configuration.triggers)
    for name in looping(configuration.triggers.values()):
        message = "its runs lead back to itself through other triggers; the chain is cut where it comes back"
        found.append(_warning("triggers", name, "after", message=message))
    return found


def _held_up(triggers: Mapping[str, TriggerSpec]) -> Iterator[Fault]:
    """Limits of one trigger that others wait for, since the order inside a lane is strict."""
    for name, spec in triggers.items():
        key = spec.serialize_key
        if key is None or spec.max_runs_per_hour is None:
            continue
        others = [other for other, its in triggers.items() if its.serialize_key == key and other != name]
        if others:
            message = (
                f"while it waits for this, {', '.join(others)} wait too: they share serialize_key {key!r}"
            )
            yield _warning("triggers", name, "max_runs_per_hour", message=message)


def _engine(engine: EngineSettings) -> Iterator[Fault]:
    if engine.host not in LOOPBACK:
        message = f"saw {engine.host}: whoever reaches this machine may post to it"
        yield _warning("engine", "host", message=message)


def _warning(*keys: str, message: str) -> Fault:
    return Fault(keys=keys, message=message, severity="warning")


def _workflow(workflow: Workflow, home: Path) -> Iterator[Fault]:
    cwd = workflow.cwd or home
    if workflow.cwd is not None and not cwd.is_dir():
        yield _warning("cwd", message=f"saw {cwd}, which is not a folder now")
    if workflow.command:
        yield from _program(workflow, cwd)
    if _PLACEHOLDER.search(workflow.shell or ""):
        message = "saw a placeholder, which is not filled into a script: read the event from stdin"
        yield _warning("shell", message=message)
    if _TEMPFAIL in workflow.permanent_exit_codes:
        yield _warning("permanent_exit_codes", message="75 (EX_TEMPFAIL) is retried all the same")


def _program(workflow: Workflow, cwd: Path) -> Iterator[Fault]:
    """A program that the command runner would not find."""
    program = workflow.command[0]
    if _PLACEHOLDER.search(program):
        return
    if os.sep in program:
        path = cwd / program
        if not (path.is_file() and os.access(path, os.X_OK)):
            yield _warning("command", message=f"saw {path}, which is not a program that can be run now")
    elif shutil.which(program, path=workflow.env.get("PATH")) is None:
        yield _warning("command", message=f"saw {seen(program)}, which is not on the PATH now")


def of_trigger(spec: TriggerSpec, workflow: Workflow, now: datetime) -> Iterator[Fault]:
    """Everything odd about one trigger, keys from its own table on."""
    yield from _limits(spec, now)
    yield from _spending(spec, workflow)
    yield from _schedule(spec, now)
    if spec.source is None:
        yield from _source(spec.component, spec.props)
    yield from _state(spec, workflow)
    yield from _placeholders(spec, workflow)


def _limits(spec: TriggerSpec, now: datetime) -> Iterator[Fault]:
    if spec.disable_after <= spec.max_attempts:
        yield _warning(
            "disable_after",
            message=f"saw {spec.disable_after}, not above max_attempts ({spec.max_attempts}): "
            "the retries of one event can switch the trigger off",
        )
    if spec.expires_at is not None and spec.expires_at <= now:
        yield _warning("expires_at", message=f"saw {spec.expires_at.isoformat()}, which has passed")


def _spending(spec: TriggerSpec, workflow: Workflow) -> Iterator[Fault]:
    """A budget that nothing is ever counted against."""
    if spec.budget is not None and workflow.outputs and "cost_usd" not in workflow.outputs:
        message = f"workflow {workflow.name} declares outputs without cost_usd: nothing is counted"
        yield _warning("max_usd", message=message)


def _schedule(spec: TriggerSpec, now: datetime) -> Iterator[Fault]:
    if isinstance(spec.schedule, At) and spec.schedule.at <= now:
        yield _warning("at", message=f"saw {spec.schedule.at.isoformat()}, which has passed: never fires")
    if isinstance(spec.schedule, Cron):
        yield from _cron(spec.schedule, now)


def _cron(schedule: Cron, now: datetime) -> Iterator[Fault]:
    expr, tz = cron.parse(schedule.expr), cron.zone(schedule.tz)
    fields = schedule.expr.split()
    if not expr.both:
        message = (
            f"day of month {fields[2]!r} and day of week {fields[4]!r}: fires when either of them matches"
        )
        yield _warning("cron", message=message)
    notes = list(_clock_changes(expr, tz, now)) if expr.fixed else []
    if notes:
        yield _warning("cron", message="where the clock changes: " + "; ".join(dict.fromkeys(notes)))


def _clock_changes(expr: cron.CronExpr, tz: ZoneInfo, now: datetime) -> Iterator[str]:
    """What the zone's changes of the coming year do to a time of day, with the day."""
    days = (now + timedelta(days=n) for n in range(_AHEAD))
    changes = (day for day in days if _offset(tz, day) != _offset(tz, day + _DAY))
    for at in (at for day in changes for at in _fires(expr, tz, day - _FOLD, day + _DAY + _FOLD)):
        note = cron.dst_note(expr, tz, at)
        if note is not None:
            yield f"on {at.astimezone(tz):%Y-%m-%d} {note}"


def _fires(expr: cron.CronExpr, tz: ZoneInfo, after: datetime, until: datetime) -> Iterator[datetime]:
    return takewhile(lambda at: at <= until, cron.fires(expr, tz, after))


def _offset(tz: ZoneInfo, at: datetime) -> timedelta | None:
    return at.astimezone(tz).utcoffset()


def _source(component: str, props: Mapping[str, Json]) -> Iterator[Fault]:
    if component == "webhook" and props.get("auth") == "none":
        message = 'saw "none": anyone who learns the address can fire it'
        yield _warning("webhook", "auth", message=message)
    if component == "webhook":
        yield from secret_warnings(props)
    if component == "files":
        yield from _folders(props.get("paths"))


def _folders(paths: Json) -> Iterator[Fault]:
    for path in map(str, paths if isinstance(paths, list) else ()):
        if not os.path.lexists(path):
            yield _warning("files", "path", message=f"saw {path}, which is not there now")
        elif not os.access(path, os.R_OK | (os.X_OK if Path(path).is_dir() else 0)):
            yield _warning("files", "path", message=f"saw {path}, which may not be read")


def _state(spec: TriggerSpec, workflow: Workflow) -> Iterator[Fault]:
    if spec.overlap is Overlap.ALLOW and "state" in workflow.outputs:
        message = f'saw "allow", but workflow {workflow.name} writes a state: the last run to end wins'
        yield _warning("overlap", message=message)


def _placeholders(spec: TriggerSpec, workflow: Workflow) -> Iterator[Fault]:
    """Keys of `config` that the command asks for and the trigger does not have."""
    asked = {key for part in workflow.command for key in _CONFIG_KEY.findall(part)}
    for key in sorted(asked - spec.config.keys()):
        message = f"saw no {key}, which workflow {workflow.name} asks for: its runs cannot start"
        yield _warning("config", message=message)
