"""Which paths a trigger is about: roots, recursion, patterns, and the names of unfinished work.

Pure. Patterns are gitignore lines relative to the root, case-sensitive, the last one that fits
decides. One rule is the shell's instead: a name with a leading dot, or anything inside a folder
with one, is matched only by a pattern that spells that dot (`.env`, `.*`, `.config/**`), so that
`.git` and half-written hidden files stay out. A root that is a single file always matches itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from functools import cached_property

from pathspec import GitIgnoreSpec

DOWNLOAD_ENDINGS = (
    ".part",  # Firefox, wget, KDE
    ".partial",  # Edge, unpackers, sync clients
    ".crdownload",  # Chromium
    ".download",  # Safari
    ".tmp",  # office suites and most atomic savers
)
EDITOR_ENDINGS = (
    ".swp",  # Vim's journal of an open file
    ".swo",  # the second of the same file
    ".swx",  # Vim's probe before it makes a .swp
    "~",  # backups of Vim, Emacs, gedit
)
PARTIAL_ENDINGS = DOWNLOAD_ENDINGS + EDITOR_ENDINGS
PARTIAL_BEGINNINGS = (
    ".goutputstream-",  # GLib writes there, then renames
    ".syncthing.",  # Syncthing, incoming
    "~syncthing~",  # the same on Windows shares
    ".nfs",  # an NFS client's name for a file deleted while open
    ".#",  # Emacs' lock
)
PARTIAL_NAMES = frozenset(
    {
        "4913",  # Vim tries whether it may write to the folder
        ".DS_Store",  # Finder's notes
        "Thumbs.db",  # Explorer's thumbnails
    }
)


def is_partial(name: str) -> bool:
    """Whether a file or folder of this name is unfinished or an editor's own."""
    if name in PARTIAL_NAMES or name.endswith(PARTIAL_ENDINGS) or name.startswith(PARTIAL_BEGINNINGS):
        return True
    # Emacs' auto-save is #name#, LibreOffice's lock .~lock.name#
    return name.endswith("#") and name.startswith(("#", ".~lock."))


class Scope:
    """A set of paths; ask `covers`. Two scopes of equal `key` cover the same."""

    def __init__(
        self, paths: Iterable[bytes], *, recursive: bool, match: Sequence[str], ignore: Sequence[str]
    ) -> None:
        # longest first, so that the root nearest to a path is found
        self.roots = tuple(sorted(paths, key=len, reverse=True))
        self._recursive = recursive
        self._match = tuple(match)
        self._ignore = tuple(ignore)

    @classmethod
    def from_key(cls, key: bytes) -> Scope:
        """The scope that a `key` was made from."""
        paths, recursive, match, ignore = json.loads(key)
        return cls(map(os.fsencode, paths), recursive=recursive, match=match, ignore=ignore)

    @property
    def key(self) -> bytes:
        """ASCII; what `from_key` reads."""
        paths = [os.fsdecode(root) for root in self.roots]
        return json.dumps([paths, self._recursive, self._match, self._ignore]).encode()

    def only(self, root: bytes) -> Scope:
        """The same rules for one of the roots."""
        return Scope((root,), recursive=self._recursive, match=self._match, ignore=self._ignore)

    def root_of(self, path: bytes) -> bytes | None:
        """The root that the path is, or lies under; None when there is none."""
        for root in self.roots:
            if path == root or path.startswith(_slashed(root)):
                return root
        return None

    def covers(self, path: bytes) -> bool:
        """Whether a regular file at this absolute path is the trigger's business."""
        root = self.root_of(path)
        if root is None or path == root:
            return root is not None
        relative = os.fsdecode(path[len(_slashed(root)) :])
        names = relative.split("/")
        if (len(names) > 1 and not self._recursive) or any(map(is_partial, names)):
            return False
        hidden = any(name.startswith(".") for name in names)
        wanted = self._hidden_spec if hidden else self._match_spec
        return wanted.match_file(relative) and not self._ignore_spec.match_file(relative)

    def enters(self, folder: bytes) -> bool:
        """Whether files below this folder, itself under a root, can be covered at all."""
        root = self.root_of(folder)
        if root is None or folder == root:
            return root is not None
        relative = os.fsdecode(folder[len(_slashed(root)) :])
        names = relative.split("/")
        if not self._recursive or any(map(is_partial, names)):
            return False
        if any(name.startswith(".") for name in names) and not self._hidden_spec.patterns:
            return False
        return not self._ignore_spec.match_file(relative + "/")

    @cached_property
    def _match_spec(self) -> GitIgnoreSpec:
        return _spec(self._match or ("*",))

    @cached_property
    def _hidden_spec(self) -> GitIgnoreSpec:
        dotted = [line for line in self._match if _spells_dot(line)]
        return _spec(
            [line for line in self._match if line.startswith("!") or line in dotted] if dotted else []
        )

    @cached_property
    def _ignore_spec(self) -> GitIgnoreSpec:
        return _spec(self._ignore)


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    # the plain backend: the others are chosen by what happens to be installed and differ in Unicode
    return GitIgnoreSpec.from_lines(lines, backend="simple")


def _spells_dot(line: str) -> bool:
    return not line.startswith("!") and any(part.startswith(".") for part in line.split("/"))


def _slashed(root: bytes) -> bytes:
    return root if root.endswith(b"/") else root + b"/"
