"""How much of what strangers send is held in memory at one time, whoever they are and however many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from tocsin.web.refusals import unavailable

RETRY_S: Final = 5  # a slow body is cut off not much later

Take: TypeAlias = Callable[[int], None]
"""Bytes that are held from now on. Raises a Refusal (503) when there is no room for them."""


class Room:
    """Shared by all that read bodies."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._used = 0

    @contextmanager
    def share(self) -> Iterator[Take]:
        """One body's part; free again at the end of the block."""
        taken = 0

        def take(size: int) -> None:
            nonlocal taken
            if self._used + size > self._most:
                raise unavailable("too much is being sent at once; send it again", retry_after_s=RETRY_S)
            self._used += size
            taken += size

        try:
            yield take
        finally:
            self._used -= taken
