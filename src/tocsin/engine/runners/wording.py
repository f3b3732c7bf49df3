"""Foreign text made fit for a one-line error."""

from __future__ import annotations

import re
from typing import Final

SHOWN: Final = 200  # characters; more than that hides the rest of a list or a status line

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def one_line(text: str | bytes, limit: int = SHOWN) -> str:
    """The text without terminal escapes, control characters and repeated blanks, cut to `limit` characters.

    Bytes are read as UTF-8; what is not UTF-8 shows as the replacement character.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    visible = "".join(char if char.isprintable() else " " for char in _ESCAPES.sub("", text))
    line = " ".join(visible.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def shown(argument: bytes) -> str:
    """An argument as text that loses nothing: bytes that are not UTF-8 show as `\\xff`."""
    return argument.decode("utf-8", "backslashreplace")
