"""Finds and stops what is left of runs whose engine died, or that escaped from their process group.

A run's processes are known by `TOCSIN_RUN_ID` in their environment, grandchildren included, and by
sharing a group with such a process. Only this user's processes are looked at. This process, its
ancestors and their groups are never touched. Blocking: call it in a thread.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import psutil

from tocsin.engine.runners.environment import RUN_ID
from tocsin.engine.runners.process import group_of, runs

GRACE_S: Final = 5.0  # between TERM and KILL; the workflow that might say otherwise is not known here
_KILL_S: Final = 5.0  # a process that survives KILL this long hangs in the kernel; waiting does not help
_PAUSE_S: Final = 0.02


def stop_leftovers(run_ids: Collection[str], *, grace_s: float = GRACE_S) -> dict[str, int]:
    """Stop every process of these runs: TERM, grace, KILL; how many there were, by run id.

    All ids are in the answer. Returns when the processes are gone; one look at the process table
    serves all runs.
    """
    sweep = _Sweep(run_ids)
    if run_ids and not sweep.chase(signal.SIGTERM, grace_s):
        sweep.chase(signal.SIGKILL, _KILL_S)
    return sweep.counts()


class _Sighting(NamedTuple):
    """One process. group: None when that must not be signalled. run_id: None when it names none of ours."""

    process: psutil.Process
    group: int | None
    run_id: str | None


class _Found(NamedTuple):
    """One running process that belongs to a run."""

    process: psutil.Process
    group: int | None
    run_id: str


class _Sweep:
    def __init__(self, run_ids: Collection[str]) -> None:
        self._met: dict[str, set[psutil.Process]] = {run_id: set() for run_id in run_ids}
        self._groups: dict[int, str] = {}
        self._spared = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
        self._spared_groups = {0, 1, *(group_of(pid) for pid in self._spared)}

    def counts(self) -> dict[str, int]:
        return {run_id: len(met) for run_id, met in self._met.items()}

    def chase(self, number: signal.Signals, within: float) -> bool:
        """Signal whatever is found until nothing is; False when the time is over first."""
        deadline = time.monotonic() + within
        told: set[psutil.Process] = set()
        pause = threading.Event()
        while found := self._look():
            _tell([one for one in found if one.process not in told], number)
            told.update(one.process for one in found)
            if time.monotonic() >= deadline:
                return False
            pause.wait(_PAUSE_S)
        return True

    def _look(self) -> list[_Found]:
        """Every running process of the runs, by its environment or by its group."""
        table = [self._seen(process) for process in _own_processes(self._spared)]
        self._groups = self._known_groups(table)
        found = list(self._members(table))
        for one in found:
            self._met[one.run_id].add(one.process)
        return found

    def _seen(self, process: psutil.Process) -> _Sighting:
        """One process, with the run that its environment names when that is one of ours."""
        group = group_of(process.pid)
        try:
            name = process.environ().get(RUN_ID)
        except (psutil.Error, OSError):
            name = None
        return _Sighting(
            process, None if group in self._spared_groups else group, name if name in self._met else None
        )

    def _known_groups(self, table: Sequence[_Sighting]) -> dict[int, str]:
        """The groups to stop: with a process that names its run, or met so at the last look."""
        groups: dict[int, str] = {}
        for seen in table:
            run_id = seen.run_id or self._groups.get(seen.group or 0)
            if seen.group is not None and run_id is not None:
                groups.setdefault(seen.group, run_id)
        return groups

    def _members(self, table: Sequence[_Sighting]) -> Iterator[_Found]:
        for seen in table:
            run_id = seen.run_id or self._groups.get(seen.group or 0)
            if run_id is not None and runs(seen.process.pid):
                yield _Found(seen.process, seen.group, run_id)


def _own_processes(spared: Collection[int]) -> Iterator[psutil.Process]:
    """This user's processes but the spared ones."""
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid not in spared and process.uids().real == os.getuid():
                yield process


def _tell(found: list[_Found], number: signal.Signals) -> None:
    """Signal each group once, and each process that has none of its own."""
    for group in {one.group for one in found if one.group is not None}:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
    for one in found:
        if one.group is None:
            with suppress(psutil.Error):
                one.process.send_signal(number)
