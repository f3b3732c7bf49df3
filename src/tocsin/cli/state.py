"""`state`: what a trigger hands from one run to the next."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer

from tocsin.cli import render
from tocsin.cli.link import call
from tocsin.cli.options import Name
from tocsin.cli.reading import read, trigger_called
from tocsin.cli.session import session_of

AlwaysJson = Annotated[bool, typer.Option("--json", help="Changes nothing: a state is JSON anyway.")]

HELP: Final = """Show or replace what a trigger hands from one run to the next.

    Example: tocsin state get tickets | jq .cursor
"""

app: Final = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain, as all help
)


@app.command("get")
def get(context: typer.Context, name: Name, _as_json: AlwaysJson = False) -> None:
    """Print the state; `null` when there is none.

    Example: tocsin state get tickets > state.json
    """
    render.document(read(session_of(context), lambda tx: trigger_called(tx, name)).state)


@app.command("set")
def put(context: typer.Context, name: Name, _as_json: AlwaysJson = False) -> None:
    """Replace the state with JSON from stdin, at most 64 KiB; `null` clears it. Prints what is kept.

    Example: echo '{"v": 1, "cursor": 42}' | tocsin state set tickets
    """
    from tocsin.engine.runners.jsontext import compact
    from tocsin.engine.runners.outputs import read_state

    state = read_state(sys.stdin.buffer.read())
    done = call(session_of(context), "set_state", {"name": name, "text": compact(state)})
    render.document(done["state"])
    if done["under_way"]:
        render.say(f"a run of {name} has not ended yet: if it writes a state, that one replaces this one")
