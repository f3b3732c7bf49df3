"""A command under way: implements `seams.RunHandle`. Made by ``command``.

One task per run leads it to its end; bytes and timers come in through the loop. The end has one
order, whatever brought it about: the leader ends, its group is killed, the leader is reaped, the
pipes are read for a moment longer, the outputs are read.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import IO, Final, cast

from tocsin.engine.runners.capture import Capture
from tocsin.engine.runners.environment import output_path
from tocsin.engine.runners.leftovers import stop_leftovers
from tocsin.engine.runners.logfile import STDERR, STDOUT
from tocsin.engine.runners.outputs import read_outputs
from tocsin.engine.runners.pipes import Drain, Feed
from tocsin.engine.runners.process import Group
from tocsin.engine.runners.verdict import End, Stop, outcome
from tocsin.runs import Outcome, Outputs, ProcessFacts, RunRequest

READ_ON_S: Final = 1.0  # after the group is dead: what a descendant that left it holds open may still say
GONE_S: Final = 5.0  # a process that survives KILL this long hangs in the kernel; waiting does not help
ESCAPED_GRACE_S: Final = 1.0  # the group has had the workflow's own grace by then
SMALL: Final = 64 * 1024  # bytes of outputs that are parsed faster than a thread is asked to do it


class CommandRun:
    """One started command."""

    def __init__(
        self, request: RunRequest, child: subprocess.Popen[bytes], capture: Capture, document: bytes
    ) -> None:
        """Take over the child and the log. document: what the child reads from stdin."""
        self._request = request
        self._loop = asyncio.get_running_loop()
        self._capture = capture
        self._stop: Stop | None = None
        self._by_itself = True
        self._kill_at = 0.0
        self._timers: list[asyncio.TimerHandle] = []
        self._group = Group(child)
        self._out = Drain(cast("IO[bytes]", child.stdout), partial(capture.write, STDOUT))
        self._err = Drain(cast("IO[bytes]", child.stderr), partial(capture.write, STDERR))
        self._feed = Feed(cast("IO[bytes]", child.stdin), document)
        if request.workflow.timeout is not None:
            self._later(request.workflow.timeout.total_seconds(), partial(self._ask, Stop.TIMED_OUT))
        self._task = self._loop.create_task(self._lead(), name=f"run {request.run_id}")

    @property
    def process(self) -> ProcessFacts:
        """The command's own process, the leader of its group."""
        return self._group.facts

    async def wait(self) -> Outcome:
        """How the run ended; may be called again. Cancelling it cancels the run, a second time kills it."""
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            await self._abandon()
            raise

    async def cancel(self, *, interrupted: bool = False) -> None:
        """Send TERM now and KILL after the workflow's grace; a command that has ended keeps its own end."""
        self._ask(Stop.INTERRUPTED if interrupted else Stop.CANCELLED)

    async def _abandon(self) -> None:
        self._ask(Stop.CANCELLED)
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError:  # the caller raises the first one when the process is gone
                self._group.signal(signal.SIGKILL)

    def _ask(self, stop: Stop) -> None:
        """Stop the run, unless it is over. A person's cancel outweighs another reason: nothing is retried."""
        if self._stop is None:
            self._by_itself = self._group.over()
            if not self._by_itself:
                self._terminate()
        if self._stop is None or stop is Stop.CANCELLED:
            self._stop = stop

    def _terminate(self) -> None:
        grace = self._request.workflow.kill_grace.total_seconds()
        self._kill_at = self._loop.time() + grace
        self._later(grace, partial(self._group.signal, signal.SIGKILL))
        self._group.terminate()

    def _later(self, seconds: float, call: partial[None]) -> None:
        self._timers.append(self._loop.call_later(seconds, call))

    async def _lead(self) -> Outcome:
        """From here to the outcome; whatever happens on the way, nothing of the group is left."""
        try:
            await self._group.ended
            await self._clear()
            await asyncio.wait([self._out.ended, self._err.ended], timeout=READ_ON_S)
        finally:
            returncode = self._release()
        outputs, problem = await _reported(output_path(self._request.run_dir))
        return outcome(self._end(returncode), self._request.workflow, outputs, problem)

    async def _clear(self) -> None:
        """Leave no process of the run; one that ended by itself may leave what has left its group."""
        if not self._by_itself:
            await self._group.emptied(within=self._kill_at - self._loop.time())
        self._group.reap()
        await self._group.emptied(within=GONE_S)
        if not self._by_itself:
            await asyncio.to_thread(stop_leftovers, [self._request.run_id], grace_s=ESCAPED_GRACE_S)

    def _release(self) -> int:
        """Give everything back; the leader's return code."""
        for timer in self._timers:
            timer.cancel()
        returncode = self._group.reap()
        for pipe in (self._feed, self._out, self._err):
            pipe.close()
        self._capture.close()
        return returncode

    def _end(self, returncode: int) -> End:
        return End(
            returncode=returncode,
            stop=self._stop,
            by_itself=self._by_itself,
            last_words=self._capture.last_words(),
        )


async def _reported(path: Path) -> tuple[Outputs, str | None]:
    """The run's outputs; a long file is read without holding up the loop."""
    try:
        small = path.stat().st_size <= SMALL
    except OSError:
        small = True
    return read_outputs(path) if small else await asyncio.to_thread(read_outputs, path)
