"""Makes run requests in a directory of their own and leads their commands to an end."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil

from tocsin.engine.runners.command import CommandRunner
from tocsin.engine.runners.logfile import read_log
from tocsin.engine.runners.running import CommandRun
from tocsin.runs import Outcome, RunRequest
from tocsin.settings import Workflow
from tocsin.trigger import Json

STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.05; done"
PATIENCE_S = 30.0  # for a machine that does ten other things at once


async def until(true: Callable[[], Any], *, within: float = PATIENCE_S) -> None:
    """Look again and again for what nobody announces: a file, or the end of a process that is not ours."""
    nobody = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(within):
        while not true():
            await asyncio.wait([nobody], timeout=0.01)


def alive(pid: int) -> bool:
    """Whether the process runs and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pids_in(path: Path) -> list[int]:
    """The process ids that a command wrote into a file."""
    return [int(word) for word in path.read_text().split()]


@dataclass
class Workbench:
    """One home. Every request gets a run id and directories that no other one has."""

    home: Path
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def runner(self) -> CommandRunner:
        return CommandRunner(self.environ)

    def request(
        self,
        *command: str,
        params: Mapping[str, Json] | None = None,
        facts: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> RunRequest:
        """A request; `more` are the workflow's keys, `facts` the request's; seconds stand for timedeltas."""
        for key in ("timeout", "kill_grace"):
            if isinstance(more.get(key), int | float):
                more[key] = timedelta(seconds=more[key])
        run_id = f"run_{uuid.uuid4().hex}"
        known: dict[str, Any] = {
            "run_id": run_id,
            "event_id": "evt_1",
            "registration": "inbox",
            "registration_id": "trg_1",
            "workflow_version": 1,
            "attempt": 2,
            "idempotency_key": "trigger:abc",
            "engine_key": "trigger:abc:2",
        }
        return RunRequest(
            workflow=Workflow(name="ocr", command=command, **more),
            params={} if params is None else params,
            run_dir=self.home / "runs" / run_id,
            log_path=self.home / "logs" / run_id,
            home=self.home,
            **known | dict(facts or {}),
        )

    def shell(self, script: str, **more: Any) -> RunRequest:
        """A request for a workflow with a `shell` string."""
        return self.request(shell=script, **more)

    def script(self, text: str, name: str = "script.py") -> tuple[str, str]:
        """A Python program of its own, as a command."""
        path = self.home / name
        path.write_text(text)
        return sys.executable, str(path)

    async def start(self, request: RunRequest) -> CommandRun:
        return await self.runner.start(request)

    async def run(self, request: RunRequest, *, within: float = PATIENCE_S) -> Outcome:
        """The outcome, or a failed test when there is none in time."""
        async with asyncio.timeout(within):
            return await (await self.start(request)).wait()

    async def said(self, request: RunRequest, text: str) -> None:
        """Wait until the run's log holds the text."""
        await until(lambda: request.log_path.exists() and text.encode() in output(request))


def output(request: RunRequest) -> bytes:
    """Everything in a run's log."""
    return b"".join(read_log(request.log_path))
