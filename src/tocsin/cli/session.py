"""What the global options came to: whose home this command works on, and in which environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tocsin.clock import SystemClock
from tocsin.config.paths import resolve_paths
from tocsin.settings import Paths

if TYPE_CHECKING:
    from tocsin.config.load import Loaded


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One call of the command line. environ: the variables of this process."""

    paths: Paths
    environ: Mapping[str, str]

    @property
    def zone(self) -> str:
        """The machine's IANA zone."""
        from tocsin.daemon.zone import system_zone

        return system_zone(self.environ)

    def load(self) -> Loaded:
        """The configuration as it stands in the file. Raises ConfigInvalid."""
        from tocsin.config.load import load

        return load(self.paths.config, now=now(), system_tz=self.zone, home=self.paths.home)


def session_from(home: Path | None, config: Path | None) -> Session:
    """The session of these global options and of this process's environment."""
    return Session(paths=resolve_paths(home=home, config=config, environ=os.environ), environ=os.environ)


def session_of(context: typer.Context) -> Session:
    """The session that the application's callback made."""
    found = context.obj
    if not isinstance(found, Session):
        raise TypeError(found)
    return found


def now() -> datetime:
    """The clock's word; each command asks once."""
    return SystemClock().now()
