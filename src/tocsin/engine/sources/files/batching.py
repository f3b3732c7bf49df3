"""Settled changes that wait to be told together: until nothing moves any more. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tocsin.engine.sources.files.changes import Change


class Batch:
    """The changes of one burst. max_wait: seconds that the first of them waits at most."""

    def __init__(self, max_wait: float) -> None:
        self._max_wait = max_wait
        self._held: dict[bytes, Change] = {}
        self._since: float | None = None

    def __len__(self) -> int:
        return len(self._held)

    @property
    def paths(self) -> Collection[bytes]:
        """What waits."""
        return self._held.keys()

    @property
    def deadline(self) -> float | None:
        """When it is told though something still moves; None while nothing waits."""
        return None if self._since is None else self._since + self._max_wait

    def add(self, changes: Iterable[Change], settled: Iterable[bytes], now: float) -> None:
        """settled: every path that came to rest; one without a change is as it was, and waits no more."""
        for path in settled:
            self._held.pop(path, None)
        for change in changes:
            self._held[change.path] = change
        if not self._held:
            self._since = None
        elif self._since is None:
            self._since = now

    def take(self, now: float, *, resting: bool) -> list[Change]:
        """All of it once everything rests or the wait is over, else nothing; they stay until `clear`."""
        is_over = self.deadline is not None and now >= self.deadline
        return list(self._held.values()) if resting or is_over else []

    def clear(self) -> None:
        """What was taken is recorded."""
        self._held.clear()
        self._since = None
