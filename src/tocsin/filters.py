"""Whether a trigger wants what arrived: a CEL expression over the envelope (`event`) and its `config`.

Pure. The library is loaded with the first filter that is used. What cannot be told is not wanted: a
missing key, a value of another type, a number that is too large, all of them are no match with a
reason, never an error. Language: https://github.com/google/cel-spec, without extensions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from tocsin.trigger import Json

if TYPE_CHECKING:
    from cel import Program

LONGEST: Final = 4_000  # characters: compiled at once, and the most that a person can still read
DEEPEST: Final = 100  # levels of a payload: the library copies it by recursion
MOST: Final = 4_000_000  # values looked at: about a second at worst; the library has no limit of its own
INT64: Final = 2**63
SHOWN: Final = 200  # characters of what the library says

STRING: Final = re.compile(r'"""(?:\\.|.)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
STEP: Final = re.compile(r"\.\s*(all|exists|exists_one|map|filter)\s*\(|\(|\)")
WEIGHTS: Final = {
    "all": 1,
    "exists": 1,
    "exists_one": 1,
    "map": 2,
    "filter": 2,
}  # these two copy what they have
UNKNOWN: Final = re.compile(r"Undefined variable or function: '([^']*)'")
ERRORS: Final = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)

NAMES: Final = ("event", "config")


class InvalidFilter(ValueError):
    """It can never match anything; says why, in one line."""


class TooDeep(ValueError):
    """A payload that nobody writes by hand."""


def check(text: str) -> None:
    """Compile it, and try it on an empty event. Raises InvalidFilter."""
    if len(text) > LONGEST:
        raise InvalidFilter(f"saw {len(text)} characters, expected at most {LONGEST}")
    try:
        program = compiled(text)
    except ValueError as error:
        raise InvalidFilter(f"saw no CEL expression: {fault(error)}") from None
    try:
        program.execute({"event": {"raw_payload": {}}, "config": {}})
    except ERRORS as error:
        unknown = UNKNOWN.search(str(error))
        if unknown is not None:
            wanted = "expected event.… or config.…"
            raise InvalidFilter(f"saw {unknown[1]!r}, which is nothing that CEL knows, {wanted}") from None


def refusal(text: str, envelope: Mapping[str, Json], config: Mapping[str, Json]) -> str | None:
    """Why an event is not wanted, for a person; None when it is.

    Integers beyond 64 bits are compared as floating-point numbers, half surrogates as question marks.
    """
    try:
        fitted, program = Fitting(), compiled(text)
        context = {"event": fitted.fit(envelope, 0), "config": fitted.fit(config, 0)}
        if fitted.values ** depth(text) > MOST:
            return f"filter: too much to look at, {fitted.values} values"
        result = program.execute(context)
    except KeyError as error:
        return f"filter: there is no {error.args[0]}"[:SHOWN]
    except ERRORS as error:
        return f"filter: {fault(error)}"
    if isinstance(result, bool):
        return None if result else "filter: false"
    return f"filter: gave {type(result).__name__}, expected bool"


@lru_cache(maxsize=256)
def compiled(text: str) -> Program:
    """Raises ValueError."""
    import cel  # 0.2 s, which only those pay that filter something

    return cel.compile(text)


def fault(error: Exception) -> str:
    """What the library says, on one line, without the expression."""
    first = str(error).rpartition("ERROR: <input>:")[2].partition("\n")[0]
    return first.strip()[:SHOWN] or type(error).__name__


@lru_cache(maxsize=256)
def depth(text: str) -> int:
    """How many loops over a payload stand in each other, at least 1: the power of its size that they cost."""
    deepest, open_ = 1, [0]
    for step in STEP.finditer(STRING.sub('""', text)):
        if step[0] == ")":
            open_ = open_[:-1] or [0]
        else:
            open_.append(open_[-1] + WEIGHTS.get(step[1], 0))
            deepest = max(deepest, open_[-1])
    return deepest


class Fitting:
    """Copies JSON values into such as CEL can hold. values: how many so far."""

    def __init__(self) -> None:
        self.values = 0

    def fit(self, value: Json, level: int) -> Any:
        """Raises TooDeep."""
        self.values += 1
        if isinstance(value, str):
            return text_of(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return value if -INT64 <= value < INT64 else float_of(value)
        if not isinstance(value, Mapping | list | tuple):
            return value
        if level > DEEPEST:
            raise TooDeep(f"nested more deeply than {DEEPEST} levels")
        if isinstance(value, Mapping):
            return {text_of(key): self.fit(below, level + 1) for key, below in value.items()}
        return [self.fit(below, level + 1) for below in value]


def text_of(text: str) -> str:
    """Without half surrogates, which no UTF-8 holds."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def float_of(number: int) -> float:
    """The nearest; infinite beyond the largest."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
