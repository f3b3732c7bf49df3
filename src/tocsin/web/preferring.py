"""`Prefer: wait=N` (RFC 7240): how long a caller would wait for a run's end. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

LONGEST_S: Final = 60  # proxies and tunnels give up on an answer not much later
PREFERENCE: Final = re.compile(r'[^",;]*(?:"(?:[^"\\]|\\.)*"[^",;]*)*')
WAIT: Final = re.compile(r'\s*wait\s*=\s*(?:"([0-9]{1,9})"|([0-9]{1,9}))\s*', re.IGNORECASE)
MAX_LENGTH: Final = 1_000  # characters; nobody prefers that much


def wait_of(values: Sequence[str]) -> int | None:
    """Whole seconds, at most a minute; None without a wait that can be read.

    values: every `Prefer` header. Of several waits the first counts (RFC 7240, 2); what cannot be read
    is no preference.
    """
    text = ",".join(values)
    if len(text) > MAX_LENGTH:
        return None
    for one in preferences(text):
        found = WAIT.fullmatch(one)
        if found is not None:
            seconds = min(int(found[1] or found[2]), LONGEST_S)
            return seconds or None
    return None


def preferences(text: str) -> list[str]:
    """Each preference without its parameters."""
    found, at, is_parameter = [], 0, False
    while at <= len(text):
        piece = PREFERENCE.match(text, at)
        assert piece is not None  # noqa: S101 - it fits the empty text
        if text[piece.end() : piece.end() + 1] == '"':  # it never ends
            break
        if not is_parameter:
            found.append(piece[0])
        at = piece.end() + 1
        is_parameter = text[piece.end() : at] == ";"
    return found
