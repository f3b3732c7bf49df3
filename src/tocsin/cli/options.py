"""Options that several commands share, and the reading of values that typer cannot read itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, TypeAlias

import typer

from tocsin.cli.session import session_from
from tocsin.trigger import Json

JsonFlag: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask (only a terminal is asked).")]
Since: TypeAlias = Annotated[
    str | None, typer.Option(metavar="D", help="No older than this, like 30m, 12h or 7d.")
]
Limit: TypeAlias = Annotated[int, typer.Option(min=1, metavar="N", help="At most so many.")]
Payload: TypeAlias = Annotated[
    str | None,
    typer.Option("--payload", metavar="JSON|@FILE|-", help="What the command is given; - reads stdin."),
]


def complete_name(context: typer.Context, incomplete: str) -> list[str]:
    """Names of triggers, for the shell; none when the database cannot be asked."""
    from tocsin.cli.reading import read_if_any, triggers
    from tocsin.errors import TocsinError

    given = context.find_root().params
    try:
        rows = read_if_any(session_from(given.get("home"), given.get("config")), triggers) or []
    except TocsinError:  # a completion has no place for an error
        return []
    return [row.spec.name for row in rows if row.spec.name.startswith(incomplete)]


Name: TypeAlias = Annotated[
    str, typer.Argument(metavar="NAME", help="The trigger.", autocompletion=complete_name)
]
OptionalName: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="Only of this trigger.", autocompletion=complete_name),
]
Names: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME…", help="The triggers.", autocompletion=complete_name),
]
Tag: TypeAlias = Annotated[str | None, typer.Option(metavar="T", help="All triggers with this tag.")]

STDIN: Final = "-"


def bad(option: str, message: str) -> NoReturn:
    """A usage error about one option."""
    raise typer.BadParameter(message, param_hint=option)


def duration(option: str, text: str) -> timedelta:
    """A length like 30s."""
    from tocsin.duration import parse_duration
    from tocsin.errors import InvalidSchedule

    try:
        return parse_duration(text)
    except InvalidSchedule as error:
        bad(option, str(error))


def since(text: str | None, now: datetime, *, option: str = "--since") -> datetime | None:
    """The instant that `--since D` means; None without it."""
    if text is None:
        return None
    try:
        return now - duration(option, text)
    except OverflowError:
        bad(option, f"{text!r} reaches back before the calendar begins")


def one_of(option: str, text: str, choices: Iterable[str]) -> str:
    """One of these words."""
    known = [str(choice) for choice in choices]
    if text in known:
        return text
    near = get_close_matches(text, known, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    bad(option, f"{text!r} is none of {', '.join(known)}{hint}")


def instant(option: str, text: str) -> datetime:
    """An RFC 3339 time with an offset."""
    try:
        found = datetime.fromisoformat(text.upper())
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        bad(option, f"{text!r} is no time with an offset, like 2026-01-31T09:00:00Z")
    return found


def payload(text: str | None) -> Json:
    """The JSON of `--payload`; None without it. `@FILE` and `-` are read, as UTF-8."""
    if text is None:
        return None
    source = content(text) if text == STDIN or text.startswith("@") else text
    given: Json = parsed("--payload", source)
    return given


def content(text: str) -> str:
    """What `@FILE` or `-` names."""
    try:
        data = sys.stdin.buffer.read() if text == STDIN else Path(text[1:]).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        bad("--payload", f"{text[1:]!r} cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        bad("--payload", f"not UTF-8: {error.reason} at byte {error.start}")


def parsed(option: str, text: str) -> Any:
    """JSON as RFC 8259 has it: no NaN, no infinity."""
    try:
        return json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        bad(option, f"not JSON: {error}")


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def names_or_tag(names: list[str] | None, tag: str | None) -> list[str]:
    """The names given. Exactly one of names and tag has to be."""
    if bool(names) == (tag is not None):
        raise typer.BadParameter("give either names or --tag", param_hint="NAME")
    return list(dict.fromkeys(names or ()))


def names_tag_or_all(names: list[str] | None, tag: str | None, everything: bool) -> list[str]:
    """The names given. Exactly one of names, tag and `--all` has to be."""
    if bool(names) + (tag is not None) + everything != 1:
        raise typer.BadParameter("give names, --tag or --all", param_hint="NAME")
    return list(dict.fromkeys(names or ()))
