"""A command in a session of its own, seen as one process group.

The leader is noticed when it ends but reaped only after the last signal: until then its pid, which
is the group's id, cannot belong to a stranger. Used by ``command``.

Linux is what this is tested on. On macOS (untested) the end is noticed by a thread, which before
Python 3.13 has to reap the leader to see it end; what the leader left in its group is then not
signalled any more. Windows has no process groups to speak of: `command` refuses to start anything.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

import psutil

from tocsin.engine.runners.invocation import Invocation
from tocsin.runs import ProcessFacts

_PAUSE_S: Final = 0.02  # between two looks at processes that are not ours, whose end nobody announces
_DEFAULTED: Final = (signal.SIGTERM, signal.SIGINT)


def spawn(invocation: Invocation) -> subprocess.Popen[bytes]:
    """Execute it with three unbuffered pipes, in a session of its own. Raises OSError."""
    _keep_exit_codes()
    with _signals_not_ignored():
        return subprocess.Popen(
            invocation.argv,
            executable=invocation.program,
            cwd=invocation.cwd,
            env=invocation.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )


def _keep_exit_codes() -> None:
    """With an inherited ignored SIGCHLD the kernel forgets how children ended (wait(2))."""
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN and _in_main_thread():
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _in_main_thread() -> bool:
    """Only there may signals be set."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _signals_not_ignored() -> Iterator[None]:
    """A command would inherit an ignored signal (`nohup`, a shell's `&`) and could not be stopped by it.

    A handler is not inherited (execve(2)), and unlike the default it does nothing to the engine.
    """
    ignored = [number for number in _DEFAULTED if signal.getsignal(number) is signal.SIG_IGN]
    ignored = ignored if _in_main_thread() else []
    for number in ignored:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


class Group:
    """A started command and what it left in its process group.

    ended: set once the leader has ended, which is still a zombie then. facts: of the leader.
    """

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        """Watch the child from the running loop."""
        self._child = child
        self._loop = asyncio.get_running_loop()
        self._pidfd: int | None = None
        self.facts = process_facts(child.pid)
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._watch()

    def _watch(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self._child.pid)
        except (AttributeError, OSError):  # not Linux, an old kernel, a sandbox, no descriptor left
            self._watch_by_thread()
        else:
            self._loop.add_reader(self._pidfd, self._note_end)

    def _watch_by_thread(self) -> None:
        name = f"watch {self._child.pid}"
        threading.Thread(target=self._await_end, name=name, daemon=True).start()

    def _await_end(self) -> None:
        with suppress(ChildProcessError):
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)
            else:
                self._child.wait()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._note_end)

    def _note_end(self) -> None:
        self._unwatch()
        if not self.ended.done():
            self.ended.set_result(None)

    def _unwatch(self) -> None:
        if self._pidfd is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None

    def over(self) -> bool:
        """Whether the leader has ended, noticed or not."""
        if self._child.returncode is not None or not hasattr(os, "waitid"):
            return self._child.poll() is not None
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, self._child.pid, flags) is not None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to every process of the group; does nothing once the leader is reaped."""
        if self._child.returncode is None:
            with suppress(ProcessLookupError, PermissionError):  # macOS says EPERM of a group of zombies
                os.killpg(self._child.pid, number)

    def terminate(self) -> None:
        """TERM to the group; CONT, so that a stopped process hears it."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)

    def reap(self) -> int:
        """Kill what is left, collect the leader; its return code, negative for a signal."""
        self.signal(signal.SIGKILL)
        self._unwatch()
        return self._child.wait()

    async def emptied(self, *, within: float) -> None:
        """Wait until no process of the group runs any more, at most so many seconds."""
        deadline = self._loop.time() + within
        while self._populated() and self._loop.time() < deadline:  # noqa: ASYNC110 - see _PAUSE_S
            await asyncio.sleep(_PAUSE_S)

    def _populated(self) -> bool:
        """Whether a process of the group runs; zombies do not."""
        try:
            os.killpg(self._child.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return any(group_of(pid) == self._child.pid and runs(pid) for pid in psutil.pids())


def group_of(pid: int) -> int | None:
    """The process group of a process; None when there is no such process."""
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


def runs(pid: int) -> bool:
    """Whether there is such a process and it is no zombie."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.NoSuchProcess:
        return False


def process_facts(pid: int) -> ProcessFacts:
    """What tells this process from a later one with its pid."""
    return ProcessFacts(pid=pid, started=_start_ticks(pid), boot_id=_boot_id())


def lives(process: ProcessFacts) -> bool:
    """Whether this process still runs: it, not a later one with its pid."""
    try:
        return runs(process.pid) and process_facts(process.pid) == process
    except psutil.NoSuchProcess:
        return False


def _start_ticks(pid: int) -> int:
    """Field 22 of proc(5)'s stat: psutil's time moves with the wall clock, these ticks do not."""
    try:
        after_name = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2]
        return int(after_name.split()[19])
    except OSError:
        return int(psutil.Process(pid).create_time() * 100)


@cache
def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
