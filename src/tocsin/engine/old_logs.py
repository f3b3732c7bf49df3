"""Log files of runs that are gone. On threads, for ``retention``; rows decide, files follow."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

LOG: Final = re.compile(r"(run_[0-9a-f]{32})\.log")
YOUNG: Final = timedelta(days=1)  # a test's log is there before its row


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """How many files went, and how long they were together."""

    files: int
    bytes: int


def remove_logs(paths: Iterable[str]) -> Removed:
    """Remove files; those that are gone or cannot be removed are left out of the count."""
    sizes = [size for path in paths if (size := remove(Path(path))) is not None]
    return Removed(files=len(sizes), bytes=sum(sizes))


def remove(path: Path) -> int | None:
    """The file's size; None when it was not there, or stays."""
    with suppress(OSError):
        size = path.stat().st_size
        path.unlink()
        return size
    return None


def stray_logs(folder: Path, now: datetime, limit: int) -> Sequence[Mapping[str, Path]]:
    """Logs that were last written more than a day ago, by run id, in groups of at most `limit`."""
    old = dict(old_files(folder, now - YOUNG))
    ids = list(old)
    return [{id_: old[id_] for id_ in ids[at : at + limit]} for at in range(0, len(ids), limit)]


def old_files(folder: Path, before: datetime) -> Iterable[tuple[str, Path]]:
    with suppress(OSError):  # no folder yet, or a file that is just being removed
        for path in folder.iterdir():
            found = LOG.fullmatch(path.name)
            if found and datetime.fromtimestamp(path.stat().st_mtime, UTC) < before:
                yield found[1], path
