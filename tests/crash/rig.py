"""An engine as a person runs it: `python -m tocsin up` on a home of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tocsin.daemon.lock import read_holder

DEADLINE_S = 60.0
ROOT = Path(__file__).parents[2]  # where `tests` can be imported from


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until a condition holds that only another process can bring about; fail at the deadline."""
    pause = threading.Event()
    for _ in range(int(DEADLINE_S / 0.02)):
        if holds():
            return
        pause.wait(0.02)
    raise AssertionError(f"not within {DEADLINE_S} s: {what}")


class Home:
    """A directory with a configuration, and `tocsin` on it."""

    def __init__(self, path: Path, config: str) -> None:
        self.path = path
        path.mkdir(mode=0o700, exist_ok=True)
        (path / "tocsin.toml").write_text(config, "utf-8")
        self.engine: subprocess.Popen[bytes] | None = None

    def environ(self) -> dict[str, str]:
        """What a shell would have, and this home."""
        return {**os.environ, "TOCSIN_HOME": str(self.path)}

    def command(self, *arguments: str) -> list[str]:
        """The argv of a tocsin command."""
        return [sys.executable, "-m", "tocsin", *arguments]

    def tocsin(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self.command(*arguments),
            env=self.environ(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    def json(self, *arguments: str) -> Any:
        """Run a command that prints a document, and read it."""
        done = self.tocsin(*arguments, "--json")
        assert done.stdout, f"{arguments}: {done.stderr}"
        return json.loads(done.stdout)

    def up(self, *flags: str) -> str:
        """Start the engine and wait until it is ready; returns its URL."""
        log = (self.path / "up.log").open("ab")
        with log:
            self.engine = subprocess.Popen(
                self.command("up", "--port", "0", *flags),
                env=self.environ(),
                stderr=log,
                start_new_session=True,
            )
        until(self.is_ready, "the engine is ready")
        return self.url()

    def is_ready(self) -> bool:
        """Whether the engine answers; fails when it ended instead."""
        assert self.engine is not None
        assert self.engine.poll() is None, (self.path / "up.log").read_text("utf-8")
        return bool(self.url())

    def url(self) -> str:
        """Where it serves HTTP, as its lock tells; empty while it does not. Cheaper than `tocsin status`."""
        holder = read_holder(self.path / "engine.lock")
        is_ours = self.engine is not None and holder is not None and holder.pid == self.engine.pid
        return (holder.url or "") if is_ours and holder is not None else ""

    def kill(self) -> None:
        """The end that no process can prepare for."""
        assert self.engine is not None
        self.engine.kill()
        self.engine.wait(DEADLINE_S)

    def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        assert self.engine is not None
        self.engine.send_signal(signal.SIGINT)
        return self.engine.wait(DEADLINE_S)

    def end(self) -> None:
        """Whatever still runs is stopped."""
        if self.engine is not None and self.engine.poll() is None:
            self.kill()

    def states(self, *filters: str) -> dict[str, int]:
        """How many events stand in each state."""
        counts: dict[str, int] = {}
        for event in self.json("events", "--limit", "1000", *filters):
            counts[event["state"]] = counts.get(event["state"], 0) + 1
        return counts
