"""`secret`: what `store:NAME` in the configuration stands for. Values go in and never come out."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tocsin.cli import render
from tocsin.cli.options import JsonFlag, bad
from tocsin.cli.session import Session, session_of
from tocsin.errors import NotFound

if TYPE_CHECKING:
    from tocsin.engine.secret_store import FileSecrets

HELP: Final = """Keep, list and forget secrets; the value of one is never shown.

    Example: tocsin secret set partner < partner.key
"""

app: Final = typer.Typer(
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain, as all help
)
TOKENS: Final = "token/"  # webhooks' own, which `tocsin url` is for

SecretName = Annotated[str, typer.Argument(metavar="NAME", help="What `store:NAME` asks for.")]
Scope = Annotated[str | None, typer.Option(metavar="S", help="Keep it as S/NAME, for one of several.")]


@app.command("set")
def set_(context: typer.Context, name: SecretName, scope: Scope = None) -> None:
    """Keep a secret: what stands on stdin, without blanks around it; a terminal is asked for it.

    Example: printf %s "$KEY" | tocsin secret set partner
    """
    key, session = key_of(name, scope), session_of(context)
    is_terminal = sys.stdin.isatty()
    value = typer.prompt(f"{key}", hide_input=True, err=True) if is_terminal else sys.stdin.read()
    if not value.strip():
        bad("NAME", f"nothing stands on stdin for {key}")
    store_of(session).put(key, value.strip())
    render.say(f"{key} is kept; an engine that has asked for it before knows it within 30 s")


@app.command("list")
def list_(context: typer.Context, as_json: JsonFlag = False) -> None:
    """List the names of secrets.

    Example: tocsin secret list --json
    """
    names = names_of(session_of(context))
    if as_json:
        render.document(names)
        return
    for name in names:
        render.line(name)
    if not names:
        render.say("no secret is kept: `tocsin secret set NAME` keeps one")


@app.command("rm")
def rm(context: typer.Context, name: SecretName, scope: Scope = None) -> None:
    """Forget a secret.

    Example: tocsin secret rm partner
    """
    key, session = key_of(name, scope), session_of(context)
    known = names_of(session)
    if key not in known:
        raise NotFound(thing="secret", name=key, nearest=get_close_matches(key, known, n=2))
    store_of(session).delete(key)
    render.say(f"{key} is forgotten")


def key_of(name: str, scope: str | None) -> str:
    """The name that it is kept under."""
    from tocsin.config.webhook_table import SECRET_NAME

    key = name if scope is None else f"{scope}/{name}"
    if not SECRET_NAME.fullmatch(key):
        bad("NAME", f"saw {key!r}, expected letters, digits, dots, dashes and underscores")
    return key


def names_of(session: Session) -> list[str]:
    """All but the tokens of webhooks, in order."""
    return [name for name in store_of(session).names() if not name.startswith(TOKENS)]


def store_of(session: Session) -> FileSecrets:
    from tocsin.config.paths import make_private
    from tocsin.engine.secret_store import FileSecrets

    make_private(session.paths)
    return FileSecrets(session.paths.secrets)
