"""The application: every command in its place, the global options, and the last line of defence."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tocsin import __version__
from tocsin.cli import (
    address,
    changes,
    configuration,
    costs,
    engine,
    exits,
    firing,
    forecast,
    gaps,
    history,
    keeping,
    once,
    pausing,
    quarantine,
    render,
    runs,
    second_thoughts,
    secret,
    sending,
    simulate,
    start,
    state,
    triggers,
)
from tocsin.cli.configuration import problem_line
from tocsin.cli.session import session_from
from tocsin.errors import ConfigInvalid, TocsinError

Command = Callable[..., None]

GROUPS: Final[Mapping[str, Mapping[str, Command | typer.Typer]]] = {
    "Configuration": {
        "init": start.init,
        "check": configuration.check,
        "plan": configuration.plan,
        "apply": configuration.apply,
    },
    "Engine": {"up": engine.up, "down": engine.down, "status": engine.status, "panic": pausing.panic},
    "Triggers": {
        "list": triggers.list_,
        "show": triggers.show,
        "add": changes.add,
        "rm": changes.rm,
        "enable": changes.enable,
        "disable": changes.disable,
        "rebind": changes.rebind,
        "pause": pausing.pause,
        "resume": pausing.resume,
        "next": forecast.next_,
        "simulate": simulate.simulate,
        "gaps": gaps.gaps,
        "url": address.url,
        "secret": secret.app,
        "state": state.app,
    },
    "Runs": {
        "fire": firing.fire,
        "test": firing.try_out,
        "send": sending.send,
        "events": history.events,
        "event": history.event,
        "runs": runs.runs,
        "logs": runs.logs,
        "cancel": second_thoughts.cancel,
        "retry": second_thoughts.retry,
        "replay": second_thoughts.replay,
        "once": once.once,
        "costs": costs.costs,
        "quarantine": quarantine.app,
    },
    "Housekeeping": {"gc": keeping.gc, "audit": keeping.audit},
    "About": {"paths": start.paths, "version": start.version},
}

EXIT_CODES: Final = "Exit codes: " + " · ".join(f"{code} {text}" for code, text in exits.MEANINGS.items())


class Grouped(TyperGroup):
    """Help with the commands under their groups' headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the groups in order."""
        for heading, names in GROUPS.items():
            rows = [(name, self.commands[name].get_short_help_str(limit=100)) for name in names]
            with formatter.section(heading):
                formatter.write_dl(rows)


app: Final = typer.Typer(
    name="tocsin",
    cls=Grouped,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: it can be searched and piped, and rich need not load
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,  # a variable may hold a secret
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(value: bool) -> None:
    """`--version`."""
    if value:
        render.line(f"tocsin {__version__}")
        raise typer.Exit


@app.callback()
def root(
    context: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep everything under this directory; else $TOCSIN_HOME."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The configuration file; else $TOCSIN_CONFIG.")
    ] = None,
    _version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Runs a command once when something happens: the clock, a file, a webhook, the end of another run.

    \b
    tocsin init           write a configuration to start from
    tocsin up             start the engine in the foreground
    tocsin fire hello     fire a trigger by hand and wait for its end
    tocsin events         what happened
    """
    context.obj = session_from(home, config)


for commands in GROUPS.values():
    for name, command in commands.items():
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)


def main() -> None:
    """The `tocsin` command. Always ends the process, with an exit code of INTERFACE section 4."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # a closed one is None
        stream.reconfigure(errors="backslashreplace")  # names may be any bytes
    sys.exit(not_text(sys.argv[1:]) or outcome(sys.argv[1:]))


def not_text(arguments: Sequence[str]) -> int:
    """A wrong usage for an argument that is no UTF-8: no name, key or payload can be, so none could fit."""
    wrong = [argument for argument in arguments if not is_utf8(argument)]
    for argument in wrong:
        render.say(f"tocsin: {argument!r} is not UTF-8")
    return exits.USAGE if wrong else exits.OK


def is_utf8(argument: str) -> bool:
    """Whether no byte had to be smuggled in as half a surrogate pair."""
    return not any("\ud800" <= char <= "\udfff" for char in argument)


def outcome(arguments: Sequence[str]) -> int:
    """The exit code of one call; whatever went wrong has been said."""
    try:
        tree()(arguments, prog_name="tocsin")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else exits.OK
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except TocsinError as error:
        return refused(error)
    except Exception as error:  # noqa: BLE001 - the last line: a person gets one sentence, not a traceback
        inner = innermost(error)
        return refused(inner) if isinstance(inner, TocsinError) else crashed(error)
    return exits.OK


@cache
def tree() -> Callable[..., Any]:
    """The commands as typer makes them of their functions: once, for calls in one process."""
    return get_command(app)


def innermost(error: Exception) -> Exception:
    """What a task group wrapped: tasks that failed beside it were only cancelled by it."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


def refused(error: TocsinError) -> int:
    """An error raised on purpose: its text is fit to be read."""
    if isinstance(error, ConfigInvalid):
        for problem in error.problems:
            render.say(problem_line(problem))
    else:
        render.say(f"tocsin: {error}")
    return exits.code_of(error)


def crashed(error: Exception) -> int:
    """A fault of tocsin's own, or of the machine."""
    if os.environ.get("TOCSIN_DEBUG") == "1":
        traceback.print_exception(error)
    else:
        render.say(f"tocsin: {type(error).__name__}: {error} (TOCSIN_DEBUG=1 shows where)")
    return exits.FAILED
