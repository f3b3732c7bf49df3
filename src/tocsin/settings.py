"""Words for what is configured: paths of a home, engine settings, workflows, the whole file.

Made by ``config``, read everywhere. Plain records; nothing here reads a file or the environment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from tocsin.trigger import Json, Scope, SourceSpec, TriggerSpec

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Where one home keeps its things. Directories are 0700, files 0600."""

    config: Path
    conf_d: Path
    database: Path
    secrets: Path
    api_token: Path
    logs: Path
    runs: Path
    lock: Path
    socket: Path
    home: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The `[engine.retention]` table: how long what has ended is kept.

    payloads: since it arrived. events, runs: since they ended. dedupe: since a delivery was last seen.
    quarantine: since it was kept there.
    """

    payloads: timedelta = timedelta(days=14)
    events: timedelta = timedelta(days=90)
    runs: timedelta = timedelta(days=90)
    dedupe: timedelta = timedelta(days=90)
    quarantine: timedelta = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """The `[engine]` table. port 0: any free one. tz: default IANA zone for cron. body_limit: bytes.

    serves: scopes of the triggers that it watches for and runs; the others are idle.
    """

    host: str = "127.0.0.1"
    port: int = 7766
    max_concurrent_runs: int = 4
    max_concurrent_runs_per_workflow: int = 4
    tz: str = "UTC"
    body_limit: int = MIB
    shutdown_grace: timedelta = timedelta(seconds=10)
    public_url: str | None = None
    retention: Retention = Retention()
    serves: tuple[Scope, ...] = tuple(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """One `[workflows.NAME]` table: a command and how it is run.

    command: argv, with placeholders. shell: a script for `sh -c` instead, without placeholders.
    cwd: absolute; None means the home. outputs: declared output keys; `state` among them makes its
    triggers queue. writes: absolute patterns (gitignore style) of the files that it writes.
    max_concurrent: None means the engine's limit per workflow.
    """

    name: str
    command: tuple[str, ...] = ()
    shell: str | None = None
    cwd: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    timeout: timedelta | None = None
    kill_grace: timedelta = timedelta(seconds=10)
    max_concurrent: int | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    permanent_exit_codes: tuple[int, ...] = ()
    writes: tuple[str, ...] = ()

    def document(self) -> dict[str, Json]:
        """The definition as JSON values; its hash decides whether the version rises."""
        return {
            "command": list(self.command),
            "shell": self.shell,
            "cwd": None if self.cwd is None else str(self.cwd),
            "env": dict(self.env),
            "timeout_ms": None if self.timeout is None else round(self.timeout.total_seconds() * 1000),
            "kill_grace_ms": round(self.kill_grace.total_seconds() * 1000),
            "max_concurrent": self.max_concurrent,
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "permanent_exit_codes": list(self.permanent_exit_codes),
            **({"writes": list(self.writes)} if self.writes else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A whole configuration file, resolved. Triggers, sources and workflows in file order, by name."""

    path: Path
    engine: EngineSettings
    workflows: Mapping[str, Workflow]
    triggers: Mapping[str, TriggerSpec]
    sources: Mapping[str, SourceSpec] = field(default_factory=dict)
