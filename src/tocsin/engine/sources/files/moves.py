"""Renames that were heard of, until the new name has settled.

Pure. Watchdog pairs the two halves of a rename; what a rename means is decided when its target is
at rest, by the name the chain of renames began with.
"""

from __future__ import annotations

from collections.abc import Container

KEPT = 4096  # renames to names that never settle (ignored, uncovered) must not pile up


class Moves:
    """From where each moved path came."""

    def __init__(self) -> None:
        self._sources: dict[bytes, bytes] = {}
        self._targets: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._sources)

    def note(self, src: bytes, dst: bytes) -> None:
        """src was renamed to dst; a chain of renames keeps its first name."""
        origin = self._sources.pop(src, src)
        if origin == dst:  # back under its first name
            self._targets.pop(origin, None)
            return
        self._sources[dst] = origin
        self._targets[origin] = dst

    def source_of(self, path: bytes) -> bytes | None:
        """The first name of what is now called this; None when no rename was heard of."""
        return self._sources.get(path)

    def target_of(self, path: bytes) -> bytes | None:
        """What the file that had this name is called now; None when no rename was heard of."""
        return self._targets.get(path)

    def forget(self, path: bytes) -> None:
        """This target has settled."""
        source = self._sources.pop(path, None)
        if source is not None and self._targets.get(source) == path:
            del self._targets[source]

    def prune(self, wanted: Container[bytes]) -> None:
        """Keep only targets that are still wanted, once there are many."""
        if len(self._sources) > KEPT:
            for path in [path for path in self._sources if path not in wanted]:
                self.forget(path)
