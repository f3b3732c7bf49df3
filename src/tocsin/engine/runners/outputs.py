"""What a run reported: JSON lines in the file `$TOCSIN_OUTPUT`.

Read when a run has ended, and again for a run that was lost with its engine. A state that a person
gives obeys the same rules.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NoReturn, cast

from tocsin.budget import MOST_USD
from tocsin.engine.runners.jsontext import compact
from tocsin.errors import BadRequest, Refused
from tocsin.runs import Outputs
from tocsin.trigger import Json

OWN_KEYS: Final = frozenset({"state", "next_fire_at", "cost_usd"})
STATE_CAP: Final = 64 * 1024  # bytes of compact UTF-8 JSON (DESIGN section 8)
FILE_CAP: Final = 4 * 1024 * 1024  # bytes; as much as a source may send in (DESIGN section 10)
DEEPEST: Final = 256  # levels; far below where Python's own recursion ends, on whatever stack it is written


class _BadLine(ValueError):
    """A line that cannot be used; the text goes on after `output line N`."""


def read_outputs(path: Path) -> tuple[Outputs, str | None]:
    """The outputs in the file, later keys winning, and the first thing that is wrong with it.

    A bad line does not touch the keys of the good ones. A state over its cap is left out, so that
    the old one is kept. A file that is not there is empty.
    """
    data, too_long = _read(path)
    document, bad_line = _merge(io.BytesIO(data))
    too_big = _state_problem(document.get("state"))
    if too_big is not None:
        del document["state"]
    return _outputs(document), too_long or bad_line or too_big


def read_state(data: bytes) -> Json:
    """A state given by hand; a byte order mark before it is no part of it.

    Raises BadRequest for what is no JSON, or none that could be kept, and Refused over the cap.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        state = _sound(data)
    except _BadLine as error:
        raise BadRequest(f"state {error}") from error
    too_big = _state_problem(state)
    if too_big is not None:
        raise Refused(too_big)
    return state


def _read(path: Path) -> tuple[bytes, str | None]:
    """The first `FILE_CAP` bytes; the command may have put anything at all in the file's place."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b"", None
    except OSError as error:
        return b"", f"output cannot be read: {error.strerror}"
    try:
        return _read_open(file, os.fstat(file))
    finally:
        os.close(file)


def _read_open(file: int, facts: os.stat_result) -> tuple[bytes, str | None]:
    if not stat.S_ISREG(facts.st_mode):
        return b"", "output is not a regular file"
    data = os.read(file, FILE_CAP)
    if facts.st_size <= FILE_CAP:
        return data, None
    return data[: data.rfind(b"\n") + 1], f"output is {facts.st_size} bytes, over the cap of 4 MiB"


def _merge(lines: Iterable[bytes]) -> tuple[dict[str, Json], str | None]:
    """All keys of the good lines, and the first bad line."""
    document: dict[str, Json] = {}
    problem = None
    for number, line in enumerate(lines, 1):
        try:
            document.update(_parse(line.strip()) if line.strip() else {})
        except _BadLine as error:
            problem = problem or f"output line {number} {error}"
    return document, problem


def _parse(line: bytes) -> Mapping[str, Json]:
    """One line's object. Raises _BadLine."""
    found = _sound(line)
    if not isinstance(found, dict):
        raise _BadLine("is not a JSON object")
    if "cost_usd" in found:
        _check_cost(found["cost_usd"])
    return found


def _sound(text: bytes) -> Json:
    """The value, fit to be kept and given to a run."""
    found = _decode(text)
    if text.count(b"{") + text.count(b"[") > DEEPEST and _deeper_than(found, DEEPEST):
        raise _BadLine("is nested too deeply")
    _check_text(found)
    return found


def _decode(line: bytes) -> Json:
    """The line's value, strictly JSON."""
    try:
        found: Json = json.loads(
            line.decode(), parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer
        )
    except UnicodeDecodeError as error:
        raise _BadLine("is not UTF-8") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column" if error.lineno > 1 else "column"
        raise _BadLine(f"is not JSON: {error.msg} at {place} {error.colno}") from error
    except RecursionError as error:
        raise _BadLine("is nested too deeply") from error
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise _BadLine(f"holds {name}, which is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _BadLine("holds a number that is out of range")
    return number


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:  # CPython reads at most sys.get_int_max_str_digits() digits
        raise _BadLine(f"holds a number of {len(text)} digits") from error


def _deeper_than(value: object, levels: int) -> bool:
    """Whether containers are nested more than `levels` deep."""
    layer = [value]
    for _ in range(levels):
        layer = [child for node in layer for child in _children(node)]
    return any(isinstance(node, dict | list) for node in layer)


def _children(node: object) -> Iterable[object]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


def _check_text(found: Json) -> None:
    """Half of a surrogate pair passes JSON's grammar but no database."""
    try:
        compact(found).encode()
    except UnicodeEncodeError as error:
        raise _BadLine("holds text that is not Unicode") from error


def _check_cost(cost: Json) -> None:
    if isinstance(cost, bool) or not isinstance(cost, int | float) or cost < 0:
        raise _BadLine("has a `cost_usd` that is not a number of 0 or more")
    if cost > MOST_USD:
        raise _BadLine("has a `cost_usd` of more than a billion dollars")


def _state_problem(state: Json) -> str | None:
    """What is wrong with the state as it ended up, if anything."""
    size = len(compact(state).encode())
    return f"state is {size} bytes, over the cap of 64 KiB" if size > STATE_CAP else None


def _outputs(document: Mapping[str, Json]) -> Outputs:
    """The record of what is left."""
    cost = cast("int | float | None", document.get("cost_usd"))
    return Outputs(
        present=frozenset(document),
        state=document.get("state"),
        next_fire_at=document.get("next_fire_at"),
        cost_usd=None if cost is None else float(cost),
        result={key: value for key, value in document.items() if key not in OWN_KEYS},
    )
