"""The patterns of `[workflows.NAME] writes`: from the file's root on, and what is wrong with them. Pure.

They are gitignore lines, so a folder that is put before one is escaped: its name is no pattern.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence
from typing import Final

from pathspec import GitIgnoreSpec

from tocsin.config.problems import Fault, seen

_SPECIAL: Final = re.compile(r"([\\*?\[\]])")


def rooted(line: str, folder: str) -> str:
    """The pattern as gitignore reads it in the root folder; a relative line starts in `folder`."""
    sign, body = _split(line)
    path = os.path.normpath(f"{_escaped(folder)}/{body}" if not body.startswith("/") else body)
    return f"{sign}{path}/" if body.endswith("/") else sign + path


def writes_faults(lines: Sequence[str], cwd: str | None) -> Iterator[Fault]:
    """Lines that gitignore's rules cannot read, and relative ones that start nowhere."""
    for index, line in enumerate(lines):
        expected = _expected(line, cwd)
        if expected is not None:
            yield Fault(keys=("writes", index), message=f"saw {seen(line)}, expected {expected}")


def _expected(line: str, cwd: str | None) -> str | None:
    body = _split(line)[1]
    if not body.strip("/ "):
        return "a pattern as in a .gitignore file"
    try:
        GitIgnoreSpec.from_lines([rooted(line, cwd or "/")], backend="simple")
    except ValueError:
        return "a pattern as in a .gitignore file"
    if cwd is None and not body.startswith("/"):
        return 'one that begins with "/" or "~/", or a cwd that it starts from'
    return None


def _split(line: str) -> tuple[str, str]:
    """The sign of an exception, and the rest with `~` and `~user` replaced."""
    sign, body = ("!", line[1:]) if line.startswith("!") else ("", line)
    head, slash, tail = body.partition("/")
    home = os.path.expanduser(head)  # noqa: PTH111 - what has no such user stays as it is: `~$*.docx`
    return sign, body if home == head else _escaped(home) + slash + tail


def _escaped(folder: str) -> str:
    return _SPECIAL.sub(r"\\\1", folder)
