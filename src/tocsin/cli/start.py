"""`init`, `paths`, `version`: before there is anything else."""

from __future__ import annotations

import platform
from dataclasses import asdict
from typing import Annotated

import typer

from tocsin import __version__
from tocsin.cli import render
from tocsin.cli.options import JsonFlag
from tocsin.cli.session import session_of


def init(
    context: typer.Context,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a configuration that is there.")] = False,
) -> None:
    """Write a configuration to start from.

    Example: tocsin init
    """
    from tocsin.config import template

    file = session_of(context).paths.config
    template.write(file, force=force)
    render.line(str(file))
    render.say("next: edit it, `tocsin check`, `tocsin up`; or try `tocsin fire hello` at once")


def paths(context: typer.Context, as_json: JsonFlag = False) -> None:
    """Show where everything is kept.

    Example: tocsin paths --json
    """
    found = {name: str(path) for name, path in asdict(session_of(context).paths).items()}
    if as_json:
        render.document(found)
    else:
        render.facts(found.items())


def version(as_json: JsonFlag = False) -> None:
    """Show the version.

    Example: tocsin version --json
    """
    if as_json:
        render.document({"version": __version__, "python": platform.python_version()})
    else:
        render.line(f"tocsin {__version__}")
