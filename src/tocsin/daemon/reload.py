"""Follows the configuration file: a change is applied when it is sound, told of when it is not.

Looked at once a second by stat, not by events: an editor's rename, a `git pull` and a linked file
are all just another stat.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from tocsin.engine.configuring import Configuring
from tocsin.engine.driver import TICK_S
from tocsin.errors import ConfigInvalid, Problem
from tocsin.notices import ConfigRejected, ZoneChanged
from tocsin.seams import Announce
from tocsin.settings import Paths

Signature: TypeAlias = Sequence[tuple[str | int, ...]]


class Reload:
    """`once` compares the files with what was applied last. A change has to rest for one look."""

    def __init__(self, *, configuring: Configuring, announce: Announce, paths: Paths) -> None:
        self._configuring = configuring
        self._announce = announce
        self._paths = paths
        self._zone = configuring.system_tz()
        self._applied = self._seen = self._signature()

    def touch(self) -> None:
        """Apply the files again at the next look, changed or not (SIGHUP)."""
        self._applied = ()

    async def once(self, _now: datetime) -> float:
        """Apply a change that has come to rest; a tick until the next look."""
        before, self._seen = self._seen, self._signature()
        if self._seen == before and self._seen != self._applied:
            self._tell_zone()
            await self.apply()  # raises while the store cannot be written: then the next look tries again
            self._applied = self._seen
        return TICK_S

    def _tell_zone(self) -> None:
        before, self._zone = self._zone, self._configuring.system_tz()
        if before != self._zone:
            self._announce(ZoneChanged(before=before, after=self._zone))

    def _signature(self) -> Signature:
        """Schedules that name no zone follow the machine's."""
        return [*signature(self._paths), ("zone", self._configuring.system_tz())]

    async def apply(self) -> None:
        """Apply the files as they are now; keep the last good ones when they are not sound.

        Files without any trigger, where there were some, are taken for half-written.
        """
        try:
            await self._refuse_emptied()
            await self._configuring.apply(prune=False, by_hand=False)
        except ConfigInvalid as error:
            await self._configuring.note_rejected(error.problems)
            problems = tuple(str(problem) for problem in error.problems)
            self._announce(ConfigRejected(path=str(self._paths.config), problems=problems))

    async def _refuse_emptied(self) -> None:
        planned = await self._configuring.plan(by_hand=False)
        if planned.plan.removed and not planned.loaded.configuration.triggers:
            message = "saw no trigger any more, expected some; `tocsin apply` if that is meant"
            raise ConfigInvalid([Problem(path=str(self._paths.config), line=None, key="", message=message)])


def signature(paths: Paths) -> Signature:
    """What tells one state of the configuration's files from another."""
    return [fact for path in (paths.config, *sorted(paths.conf_d.glob("*.toml"))) for fact in stat_of(path)]


def stat_of(path: Path) -> Signature:
    """One file; nothing when it is not there."""
    try:
        facts = path.stat()
    except OSError:
        return []
    return [(str(path), facts.st_mtime_ns, facts.st_size, facts.st_ino)]
