"""tocsin with a fault in it: kills its own process (SIGKILL) as it passes a named point of the code.

    python -m tests.crash.faults POINT NTH up --port 0

POINT is one of `POINTS`; the NTH passage is the last. The code itself knows nothing of this: its
functions are wrapped from outside.
"""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

ENGINE: Final = "tocsin.engine"
STORE: Final = "tocsin.store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A place in the code. owner: the module, or `module:Class`, in which the name is looked up.

    within: (owner, name) of the function that must be under way for a passage to count.
    """

    owner: str
    name: str
    after: bool = False
    within: tuple[str, str] | None = None


def pair(word: str, owner: str, name: str) -> dict[str, Point]:
    """A function's beginning and its end."""
    return {
        f"before {word}": Point(owner=owner, name=name),
        f"after {word}": Point(owner=owner, name=name, after=True),
    }


CHAIN: Final = (f"{ENGINE}.settling:Settler", "_chain")

POINTS: Final[dict[str, Point]] = {
    **pair("the insert of an event", f"{STORE}.events", "insert"),
    **pair("a transaction", f"{STORE}.connection", "commit"),
    "before COMMIT": Point(owner=f"{STORE}.connection", name="attempt", after=True),
    **pair("a claim", f"{STORE}.events", "claim"),
    **pair("the start of a run", f"{ENGINE}.runners.command:CommandRunner", "start"),
    "after the spawn": Point(owner=f"{ENGINE}.runners.command", name="spawn", after=True),
    "after a run's end": Point(owner=f"{ENGINE}.settling:Settler", name="settle"),
    **pair("the settling update", f"{ENGINE}.settling", "end_event"),
    "after a settlement": Point(owner=f"{ENGINE}.settling:Settler", name="settle", after=True),
    **pair("a lane's promotion", f"{STORE}.lanes", "promote"),
    **pair("a chain's admission", f"{ENGINE}.settling", "admit"),
    "amid a chain's admission": Point(owner=f"{STORE}.ledger", name="deliver", after=True, within=CHAIN),
    **pair("moving next_fire_at", f"{STORE}.registrations", "plan_next"),
    **pair("marking a file", f"{STORE}.installations", "put_marks"),
    **pair("recovering a claim", f"{ENGINE}.recovery:Recovery", "_recover"),
    "before sweeping the lanes": Point(owner=f"{ENGINE}.recovery:Recovery", name="_sweep_lanes"),
    "after recovery": Point(owner=f"{ENGINE}.recovery:Recovery", name="recover", after=True),
}


class Fuse:
    """Counts passages."""

    def __init__(self, nth: int, *, needs: bool) -> None:
        """needs: only passages within another function count."""
        self.depth = 0
        self._left = nth
        self._needs = needs

    def pass_by(self) -> None:
        if self._needs and self.depth == 0:
            return
        self._left -= 1
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def replaced(owner: str, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put a wrapper where a name is looked up."""
    module, _, inner = owner.partition(":")
    place: Any = importlib.import_module(module)
    place = getattr(place, inner) if inner else place
    setattr(place, name, wrap(getattr(place, name)))


def around(enter: Callable[[], None], leave: Callable[[], None]) -> Callable[[Callable[..., Any]], Any]:
    """Call these before and after a function, which may be a coroutine function."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def plain(*args: Any, **kwargs: Any) -> Any:
            enter()
            result = function(*args, **kwargs)
            leave()
            return result

        @wraps(function)
        async def waiting(*args: Any, **kwargs: Any) -> Any:
            enter()
            result = await function(*args, **kwargs)
            leave()
            return result

        return waiting if inspect.iscoroutinefunction(function) else plain

    return wrap


def arm(point: Point, nth: int) -> None:
    """From now on the NTH passage kills this process."""
    fuse = Fuse(nth, needs=point.within is not None)

    def deeper() -> None:
        fuse.depth += 1

    def higher() -> None:
        fuse.depth -= 1

    if point.within is not None:
        replaced(*point.within, around(deeper, higher))
    replaced(
        point.owner,
        point.name,
        around(nothing, fuse.pass_by) if point.after else around(fuse.pass_by, nothing),
    )


def nothing() -> None:
    """Do so."""


def main() -> None:
    """Arm, then be tocsin."""
    name, nth, *rest = sys.argv[1:]
    arm(POINTS[name], int(nth))
    sys.argv = ["tocsin", *rest]
    from tocsin.cli.main import main as tocsin  # after arming: nothing must have kept the plain function

    tocsin()


if __name__ == "__main__":
    main()
