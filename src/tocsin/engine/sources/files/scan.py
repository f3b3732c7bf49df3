"""What is on the disk: one path, or everything under one. The only module that looks.

Blocks; called in a worker thread. Symbolic links are never followed below a root, and only regular
files are seen.
"""

# ruff: noqa: PTH114, PTH116, PTH120 - paths are bytes here, which pathlib does not take

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from tocsin.engine.sources.files.changes import Snapshot
from tocsin.engine.sources.files.scope import DOWNLOAD_ENDINGS, Scope
from tocsin.engine.sources.files.settling import Stamp
from tocsin.engine.sources.files.territory import Identity

INTEGER_MAX = 2**63 - 1  # SQLite's largest; FUSE and NTFS have inodes of 64 bits without a sign
BUSY_ENDINGS = tuple(map(os.fsencode, DOWNLOAD_ENDINGS))

Place: TypeAlias = tuple[bytes, Identity]
"""The folder to watch for a root (a single file's is its parent), and which folder that is."""

Seen: TypeAlias = dict[bytes, Stamp | None]
"""States as found on the disk; None: there is no regular file."""


@dataclass(slots=True)
class Survey:
    """What a walk found.

    files: covered regular files. folders: how many were entered. unread: folders that could not be
    read, with the reason; nothing is known of what lies under them.
    """

    files: dict[bytes, Stamp] = field(default_factory=dict)
    folders: int = 0
    unread: dict[bytes, OSError] = field(default_factory=dict)


def locate(root: bytes, *, was_file: bool) -> Place:
    """Where to watch for this root.

    was_file: the root is known as a single file, which may be missing now. Raises OSError when the
    root is not there or cannot be read.
    """
    try:
        found = os.stat(root)
    except FileNotFoundError:
        if not was_file:
            raise
        return _folder(os.path.dirname(root))
    if stat.S_ISDIR(found.st_mode):
        return _folder(root)
    if os.path.islink(root):
        raise OSError(errno.ELOOP, "a symbolic link to a file is not followed; name the file itself")
    return _folder(os.path.dirname(root))


def count_folders(root: bytes) -> int:
    """How many folders there are, the root included."""
    return sum(1 for _ in os.walk(root))


def look(path: bytes) -> Stamp | None:
    """The state of a regular file; None when there is none at this path.

    Raises OSError when the disk cannot say.
    """
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _stamp(found) if stat.S_ISREG(found.st_mode) else None


def changed_ns(path: bytes) -> int | None:
    """When the file's bytes, name or attributes last changed, since the epoch; None when nobody can tell."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mtime_ns if os.name == "nt" else found.st_ctime_ns  # there st_ctime is the creation


def download_under_way(path: bytes) -> bool:
    """Whether a partial file stands beside it: a browser then keeps the final name empty meanwhile."""
    return any(os.path.lexists(path + ending) for ending in BUSY_ENDINGS)


def survey(tops: Iterable[bytes], scope: Scope) -> Survey:
    """Everything covered at or under these paths, in one pass. A path that is not there is empty."""
    found = Survey()
    waiting = [top for top in tops if top in scope.roots or not os.path.islink(top)]
    while waiting:
        top = waiting.pop()
        try:
            waiting.extend(_read(top, scope, found))
        except NotADirectoryError:
            _note(top, look(top), scope, found)
        except FileNotFoundError:
            continue
        except OSError as error:
            found.unread[top] = error
    return found


def differences(found: Survey, tops: Iterable[bytes], scope: Scope, snapshot: Snapshot) -> Seen:
    """Where the disk and the memory disagree at or under these paths; None: a known file is gone."""
    changed: Seen = {path: stamp for path, stamp in found.files.items() if not snapshot.knows(path, stamp)}
    searched = frozenset(tops)
    for path in snapshot.paths():
        if path not in found.files and under(path, searched) and scope.covers(path):
            changed[path] = None
    return {path: stamp for path, stamp in changed.items() if stamp or not under(path, found.unread.keys())}


def _read(folder: bytes, scope: Scope, found: Survey) -> list[bytes]:
    """Notes the folder's files; its sub-folders come back."""
    below: list[bytes] = []
    with os.scandir(folder) as entries:
        found.folders += 1
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if scope.enters(entry.path):
                    below.append(entry.path)
            elif entry.is_file(follow_symlinks=False) and scope.covers(entry.path):
                _note(entry.path, look(entry.path), scope, found)
    return below


def _note(path: bytes, stamp: Stamp | None, scope: Scope, found: Survey) -> None:
    if stamp is not None and scope.covers(path):
        found.files[path] = stamp


def under(path: bytes, tops: Container[bytes]) -> bool:
    """Whether one of the tops is the path or a folder above it."""
    while path and path not in tops:
        path = path.rpartition(b"/")[0]
    return bool(path) or b"/" in tops


def _folder(path: bytes) -> Place:
    with os.scandir(path):  # opening it is the only proof that it can be read
        found = os.stat(path)
    return path, Identity(found.st_dev & INTEGER_MAX, found.st_ino & INTEGER_MAX)


def _stamp(found: os.stat_result) -> Stamp:
    mtime_ns = max(-INTEGER_MAX, min(found.st_mtime_ns, INTEGER_MAX))  # a year past 2262 is still a year
    return Stamp(found.st_size, mtime_ns, found.st_ino & INTEGER_MAX)
