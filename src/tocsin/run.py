"""For Python programs that tocsin runs: `once` lets a later attempt leave out what an earlier one did.

The whole interface is `once`; it finds its run by the environment that the engine gave it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tocsin.cli.once import begin, end, give_up, kept
from tocsin.cli.session import session_from
from tocsin.engine.runners.jsontext import UnwritableValue, compact
from tocsin.errors import TocsinError
from tocsin.trigger import Json

__all__ = ["TocsinError", "once"]


def once(key: str, function: Callable[..., Any], *args: Any) -> Any:
    """What `function(*args)` returns, or what it returned when an earlier attempt had called it.

    Kept are JSON values of at most 64 KiB; of anything else it is only known that it was done, and later
    calls under this key return None. When the function raises, it is not done. Raises TocsinError:
    BadRequest outside of a run or for a bad key, Refused while another process, another thread of this one,
    or `function` itself is at this key.
    """
    session = session_from(None, None)
    step = aside(lambda: begin(session, key))
    if not step.first:
        return step.result
    try:
        found = function(*args)
        aside(lambda: end(session, step, text_of(found)))
    except BaseException:
        aside(lambda: give_up(session, step))
        raise
    return found


def text_of(value: Json) -> str | None:
    """The value as it is kept; None for what is not."""
    try:
        return kept(compact(value).encode())
    except (UnwritableValue, UnicodeEncodeError):
        return None


def aside(ask: Callable[[], Any]) -> Any:
    """Ask on a thread of its own: the caller's may have an event loop running."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(ask).result()
