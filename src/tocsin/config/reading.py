"""One TOML file as text, values and positions; everything that can be wrong with a file as such.

Called by ``document``. Reads files, and asks who else may write them; looks at no key.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tocsin.config.positions import KeyPath, locate, nearest_line
from tocsin.errors import ConfigInvalid, Problem

_BOM: Final = "\ufeff"  # written by some editors; tomllib takes it for a bad key
_PLACE: Final = re.compile(r" \((?:at line (\d+), column (\d+)|at end of document)\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file that was read. path: as given. data: its tables. lines: where each key stands."""

    path: Path
    data: Mapping[str, Any]
    lines: Mapping[KeyPath, int]

    @property
    def base(self) -> Path:
        """What relative paths in it are relative to."""
        return self.path.absolute().parent

    def line(self, keys: KeyPath) -> int | None:
        """The line of a key, or of the innermost table around it; None when nothing of it is here."""
        return nearest_line(self.lines, keys)


def read(path: Path) -> Source:
    """The file's tables. Raises ConfigInvalid with its one problem when it cannot be used as a file."""
    text = _decoded(path, _content(path))
    try:
        return Source(path=path, data=tomllib.loads(text), lines=locate(text))
    except RecursionError:
        raise _refusal(path, None, "nested too deeply, expected a configuration") from None
    except ValueError as error:
        raise _syntax(path, text, str(error)) from None


def writable_by(facts: os.stat_result) -> str | None:
    """Who besides the owner may write what has these facts, in words; None when nobody may.

    A group that is the owner's own (same name, or same number where names are unknown) is nobody, and
    so is root's. Windows has no such bits.
    """
    if os.name == "nt":
        return None
    if facts.st_mode & stat.S_IWOTH:
        return "everyone"
    if facts.st_mode & stat.S_IWGRP and not _own_group(facts):
        return f"the group {_group_name(facts.st_gid) or facts.st_gid}"
    return None


def refuse_writable(path: Path, facts: os.stat_result) -> None:
    """Raises ConfigInvalid when others may write `path`: they would decide what this user runs."""
    who = writable_by(facts)
    if who is not None:
        raise _refusal(path, None, f"may be written by {who}, expected only its owner (chmod go-w {path})")


def _content(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # opening a pipe would wait for a writer
        raise _refusal(path, None, "not a file, expected a configuration")
    try:
        with path.open("rb") as file:
            refuse_writable(path, os.fstat(file.fileno()))
            return file.read()
    except FileNotFoundError:
        raise _refusal(
            path, None, "no such file, expected a configuration (`tocsin init` writes one)"
        ) from None
    except OSError as error:
        raise _refusal(path, None, f"cannot be read: {error.strerror}") from None


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8").removeprefix(_BOM)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refusal(
            path, line, f"saw the byte 0x{content[error.start]:02x}, expected text in UTF-8"
        ) from None


def _syntax(path: Path, text: str, message: str) -> ConfigInvalid:
    """tomllib's complaint, with the place taken out of its words."""
    place = _PLACE.search(message)
    if place is None:
        return _refusal(path, None, f"not TOML: {message}")
    line = int(place[1]) if place[1] else text.count("\n") + 1
    where = f" at column {place[2]}" if place[2] else " at the end of the file"
    return _refusal(path, line, f"not TOML: {message[: place.start()]}{where}")


def _refusal(path: Path, line: int | None, message: str) -> ConfigInvalid:
    return ConfigInvalid([Problem(path=str(path), line=line, key="", message=message)])


def _own_group(facts: os.stat_result) -> bool:
    if facts.st_gid == 0:
        return True
    owner, group = _user_name(facts.st_uid), _group_name(facts.st_gid)
    return owner == group if owner and group else facts.st_uid == facts.st_gid


def _user_name(uid: int) -> str | None:
    if sys.platform == "win32":
        return None
    import pwd  # not there on Windows

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return None


def _group_name(gid: int) -> str | None:
    if sys.platform == "win32":
        return None
    import grp  # not there on Windows

    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return None
