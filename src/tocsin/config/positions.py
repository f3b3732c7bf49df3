"""Where each key of a TOML text stands: a lexical scanner, because tomllib keeps no positions.

Called by ``reading`` on text that tomllib has accepted; so it looks for ends of tokens and never
for mistakes. A property test compares it with tomllib.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping
from typing import Final, TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys from the top, an int for an element of an array: ``("triggers", "brief", "tags", 0)``."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_KEY: Final = re.compile(r"""[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*'""")
_STRING: Final = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?'{3,5}|"(?:[^"\\]|\\.)*"|'[^']*\'''', re.DOTALL
)
_SCALAR: Final = re.compile(r"[^,\]}#\n]+")


def locate(text: str) -> dict[KeyPath, int]:
    """The line (1-based) of every table, key and array element of `text`.

    A table's line is its header's, else that of the first key inside it. `text` must be TOML that
    tomllib accepts; what comes back for any other text means nothing.
    """
    return _Scanner(text).document()


def nearest_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """The line of `path`, or of the innermost thing around it that has one; None for the whole file."""
    for length in range(len(path), 0, -1):
        line = lines.get(path[:length])
        if line is not None:
            return line
    return None


class _Scanner:
    """Walks the text once. `_at` is the next character to look at."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._newlines = [found.start() for found in re.finditer("\n", text)]
        self._lines: dict[KeyPath, int] = {}
        self._last: dict[KeyPath, int] = {}  # array of tables -> index of its newest element

    def document(self) -> dict[KeyPath, int]:
        prefix: KeyPath = ()
        while self._peek():
            if self._text[self._at] == "[":
                prefix = self._header()
            else:
                self._pair(prefix)
        return self._lines

    def _header(self) -> KeyPath:
        line = self._line()
        brackets = 2 if self._text.startswith("[[", self._at) else 1
        self._at += brackets
        keys = self._keys()
        self._at += brackets
        path = self._resolve(keys[:-1], line)
        return self._element(path + keys[-1:], line) if brackets == 2 else self._table(path + keys[-1:], line)

    def _resolve(self, keys: tuple[str, ...], line: int) -> KeyPath:
        """The path that header keys mean: a name of an array of tables means its newest element."""
        path: KeyPath = ()
        for key in keys:
            path = (*path, key)
            self._lines.setdefault(path, line)
            if path in self._last:
                path = (*path, self._last[path])
        return path

    def _element(self, path: KeyPath, line: int) -> KeyPath:
        self._lines.setdefault(path, line)
        self._last[path] = self._last.get(path, -1) + 1
        return self._table((*path, self._last[path]), line)

    def _table(self, path: KeyPath, line: int) -> KeyPath:
        self._lines[path] = line
        return path

    def _pair(self, prefix: KeyPath) -> None:
        line = self._line()
        path = prefix
        for key in self._keys():
            path = (*path, key)
            self._lines.setdefault(path, line)
        self._at += 1  # the equals sign
        self._value(path)

    def _keys(self) -> tuple[str, ...]:
        keys = [self._key()]
        while self._text.startswith(".", self._at):
            self._at += 1
            keys.append(self._key())
        return tuple(keys)

    def _key(self) -> str:
        self._skip(_SPACE)
        text = self._take(_KEY)
        self._skip(_SPACE)
        if not text.startswith(('"', "'")):
            return text
        decoded = tomllib.loads(f"key = {text}")["key"]
        return str(decoded)

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        opening = self._text[self._at]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline(path)
        else:
            self._take(_STRING if opening in "\"'" else _SCALAR)

    def _array(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while self._inside("]"):
            self._lines[(*path, index)] = self._line()
            self._value((*path, index))
            index += 1

    def _inline(self, path: KeyPath) -> None:
        self._at += 1
        while self._inside("}"):
            self._pair(path)

    def _inside(self, closing: str) -> bool:
        """Whether another member follows; steps over the comma before it, or over the closing mark."""
        if self._peek() == ",":
            self._at += 1
        if self._peek() != closing:
            return True
        self._at += 1
        return False

    def _peek(self) -> str:
        """The next character that is neither blank nor comment; empty at the end."""
        self._skip(_BLANK)
        return self._text[self._at : self._at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self._take(pattern)

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:  # cannot be: tomllib has accepted the text
            raise ValueError(f"no TOML at offset {self._at}")
        self._at = found.end()
        return found.group()

    def _line(self) -> int:
        return bisect_right(self._newlines, self._at) + 1
