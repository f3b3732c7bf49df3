"""When a path has come to rest: a state machine without I/O, driven with monotonic seconds.

``source`` tells it of hints and of what `stat` saw; it says whom to look at next and what settled.
It knows neither marks nor patterns.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

NEXT_LOOK_FLOOR = 0.02  # seconds: a path held back with no quiet time configured must not spin the loop


@dataclass(frozen=True, slots=True)
class Stamp:
    """What tells two states of a regular file apart. Owner, mode and access time do not count."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """How long a path has to be left alone, in seconds.

    debounce: since anything was last heard of it. settle: its stamp the same. max_wait: the cap,
    from the first sign on. gives_up: a path that reaches the cap is only named, and goes on being
    watched until it rests; else its state of that moment counts as settled.
    """

    debounce: float
    settle: float
    max_wait: float
    gives_up: bool = False


@dataclass(slots=True, kw_only=True)
class _Watched:
    first: float
    touched: float
    look_at: float
    since: float | None = None
    stamp: Stamp | None = None


@dataclass(slots=True)
class Settled:
    """What came to rest, and what was given up.

    stamps: None means the path is gone. given_up: paths that were still changing after `max_wait`.
    """

    stamps: dict[bytes, Stamp | None] = field(default_factory=dict)
    given_up: list[bytes] = field(default_factory=list)


class Settling:
    """Every path that is on the move. Trailing edge: each sign of life restarts the quiet time."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._watched: dict[bytes, _Watched] = {}
        self._looks: list[tuple[float, bytes]] = []
        self._settled = Settled()

    def __contains__(self, path: object) -> bool:
        return path in self._watched

    def __len__(self) -> int:
        return len(self._watched)

    def hint(self, path: bytes, now: float) -> None:
        """Something touched the path; it wants to be looked at at once."""
        item = self._follow(path, now)
        item.touched = now
        self._look(path, item, now)

    def observe(self, path: bytes, stamp: Stamp | None, now: float, *, busy: bool = False) -> None:
        """What `stat` said; None: gone. busy: someone is known to be at work on it; as if touched."""
        item = self._follow(path, now)
        if item.since is None or item.stamp != stamp:
            item.stamp, item.since, item.touched = stamp, now, now
        if busy:
            item.touched = now
        self._decide(path, item, item.since, now)

    def resume(self, path: bytes, first: float) -> None:
        """The path was on the move before, since then: `max_wait` goes on."""
        item = self._follow(path, first)
        item.first = min(item.first, first)

    def since(self) -> dict[bytes, float]:
        """Every path on the move, and since when."""
        return {path: item.first for path, item in self._watched.items()}

    def forget(self, path: bytes) -> None:
        """Nothing more is wanted of this path."""
        self._watched.pop(path, None)

    def due(self, now: float) -> list[bytes]:
        """The paths to look at now, each once; every one of them is to be observed."""
        ready: dict[bytes, None] = {}
        while self._looks and self._looks[0][0] <= now:
            look_at, path = heapq.heappop(self._looks)
            item = self._watched.get(path)
            if item is not None and item.look_at == look_at:
                ready[path] = None
        return list(ready)

    def next_look(self) -> float | None:
        """The instant of the next `due`; may be early. None when nothing is on the move."""
        return self._looks[0][0] if self._looks else None

    def take(self) -> Settled:
        """What settled since the last call; these paths are not watched any more."""
        taken, self._settled = self._settled, Settled()
        return taken

    def _follow(self, path: bytes, now: float) -> _Watched:
        item = self._watched.get(path)
        if item is None:
            item = self._watched[path] = _Watched(first=now, touched=now, look_at=now)
        return item

    def _decide(self, path: bytes, item: _Watched, since: float, now: float) -> None:
        ready = max(item.touched + self._rest.debounce, since + self._rest.settle)
        latest = item.first + self._rest.max_wait
        if now >= ready or (now >= latest and not self._rest.gives_up):
            del self._watched[path]
            self._settled.stamps[path] = item.stamp
            return
        if now >= latest:
            self._settled.given_up.append(path)
            item.first, latest = now, now + self._rest.max_wait
        self._look(path, item, max(min(ready, latest), now + NEXT_LOOK_FLOOR))

    def _look(self, path: bytes, item: _Watched, at: float) -> None:
        item.look_at = at
        heapq.heappush(self._looks, (at, path))
