"""The keywords of JSON Schema that no payload may make run for ever, and a time limit on all of them.

Used by ``schemas``. Patterns go to the engine behind CEL's `matches`, whose time is linear; equal elements
are found by a set; every keyword asks whether there is time left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cache, lru_cache
from typing import Any

from tocsin import filters
from tocsin.trigger import Json

is_time_left: ContextVar[Callable[[], bool]] = ContextVar("is_time_left", default=lambda: True)


class Overrun(Exception):
    """It takes too long."""


@cache
def guarded(draft: Any) -> Any:
    """A draft whose every keyword asks for the time, and whose slow ones are replaced."""
    from jsonschema.validators import extend

    replaced = {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "uniqueItems": unique_items,
    }
    keywords = {key: timed(replaced.get(key, check)) for key, check in draft.VALIDATORS.items()}
    return extend(draft, keywords)  # type: ignore[no-untyped-call]


def timed(check: Any) -> Any:
    """A keyword that raises Overrun when the time is up."""

    def check_in_time(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        go_on()
        yield from check(validator, value, instance, schema) or ()

    return check_in_time


def go_on() -> None:
    """Raises Overrun."""
    if not is_time_left.get()():
        raise Overrun


@lru_cache(maxsize=1)
def matcher() -> Any:
    """A search whose time grows with the text alone."""
    return filters.compiled("text.matches(pattern)")


def matches(pattern: str, text: str) -> bool:
    """Whether it is found anywhere. Raises ValueError for what is no such pattern, and Overrun."""
    go_on()
    try:
        return matcher().execute({"text": filters.text_of(text), "pattern": filters.text_of(pattern)}) is True
    except filters.ERRORS as error:
        raise ValueError(str(error)) from None


def pattern(validator: Any, wanted: str, instance: Any, _schema: Any) -> Iterator[Any]:
    """Keyword `pattern`."""
    if validator.is_type(instance, "string") and not matches(wanted, instance):
        yield violated(f"{instance!r} does not match {wanted!r}")


def pattern_properties(
    validator: Any, wanted: Mapping[str, Any], instance: Any, _schema: Any
) -> Iterator[Any]:
    """Keyword `patternProperties`."""
    if not validator.is_type(instance, "object"):
        return
    for regex, subschema in wanted.items():
        for key, value in instance.items():
            if matches(regex, key):
                yield from validator.descend(value, subschema, path=key, schema_path=regex)


def additional_properties(validator: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Keyword `additionalProperties`."""
    if not validator.is_type(instance, "object"):
        return
    patterns = schema.get("patternProperties", {})
    for key, value in instance.items():
        if key in schema.get("properties", {}) or any(matches(regex, key) for regex in patterns):
            continue
        if wanted is False:
            yield violated(f"{key!r} was unexpected")
        elif validator.is_type(wanted, "object"):
            yield from validator.descend(value, wanted, path=key)


def unique_items(validator: Any, wanted: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """Keyword `uniqueItems`, in linear time."""
    if (
        wanted
        and validator.is_type(instance, "array")
        and len({frozen(one) for one in instance}) < len(instance)
    ):
        yield violated("has elements that are equal")


def violated(message: str) -> Exception:
    """What a keyword yields."""
    from jsonschema import ValidationError

    return ValidationError(message)


def frozen(value: Json) -> object:
    """A value by which equal ones are told: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, Mapping):
        return "object", frozenset((key, frozen(below)) for key, below in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "array", tuple(frozen(below) for below in value)
    return isinstance(value, bool), value
