"""Whether a file trigger is started by its own runs. Pure.

Nobody can see who changed a file. But what a command changes, it changes at the same moment of each
run, while what a person saves comes when it comes: so a chain of runs, each started by a change that
came during the one before, is a loop when those moments agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

LINKS: Final = 5  # DESIGN section 9; a command that rewrites its input once makes one
ENOUGH: Final = 20  # in a row, at whatever moments: nobody saves during each of so many runs
SHORT: Final = timedelta(seconds=1)  # within a run of that length no moment can be told from another
LEEWAY: Final = timedelta(milliseconds=250)  # a busy machine
SHARE: Final = 0.05  # of a long run: five saves by chance agree so well about once in 30,000
MOST_NAMED: Final = 5
AT_ONCE: Final = timedelta(seconds=1)  # of a program that is restarted, which runs until the next change


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A change that came during the one run under way, which an earlier change had started.

    paths: what changed. into: since the run's begin. length: of the run, so far if it goes on.
    before_end: until its end; None while it goes on, and for one that was stopped.
    """

    paths: tuple[str, ...]
    into: timedelta
    length: timedelta
    before_end: timedelta | None


def is_loop(links: Sequence[Link], *, replaces: bool) -> bool:
    """links: the latest first, each from the last. replaces: a new event stops the run under way."""
    if len(links) < LINKS:
        return False
    latest = links[:LINKS]
    if replaces:
        return all(link.into <= AT_ONCE for link in latest)
    if len(links) >= ENOUGH:
        return True
    leeway = leeway_of(max(link.length for link in latest))
    ends = [link.before_end for link in latest if link.before_end is not None]
    return agree([link.into for link in latest], leeway) or (len(ends) == LINKS and agree(ends, leeway))


def leeway_of(length: timedelta) -> timedelta:
    """How far moments of runs of this length may lie apart."""
    return SHORT if length <= SHORT else max(LEEWAY, SHARE * length)


def agree(moments: Sequence[timedelta], leeway: timedelta) -> bool:
    return max(moments) - min(moments) <= leeway


def named(paths: Iterable[str], most: int = MOST_NAMED) -> str:
    """The paths in their order, each once, and not without end."""
    distinct = list(dict.fromkeys(paths))
    return ", ".join(distinct[:most]) + (", …" if len(distinct) > most else "")
