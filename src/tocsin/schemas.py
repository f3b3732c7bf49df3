"""Whether a payload has the shape that a trigger wants: a JSON Schema, any draft that `$schema` may name.

Pure; the library is loaded with the first schema. Nothing is fetched: what a schema refers to stands in
its own file. Patterns are searched in linear time (by the engine behind CEL's `matches`), so that no
payload makes one run for ever; look-around and back-references are refused when the schema is read.
`format` is an annotation, as the drafts have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from tocsin import schema_keywords
from tocsin.trigger import Json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

DEEPEST: Final = 100  # levels of a payload or a schema: the library walks them by recursion
SHOWN: Final = 200  # characters of a message


class InvalidSchema(ValueError):
    """No payload can be judged by it; says why, in one line."""


def check(schema: Json) -> None:
    """Raises InvalidSchema."""
    from jsonschema import SchemaError

    if not isinstance(schema, Mapping):
        raise InvalidSchema("saw no JSON object, expected a JSON Schema")
    if is_deep(schema):
        raise InvalidSchema(f"saw more than {DEEPEST} levels, expected fewer")
    kind = validator_class(schema)
    try:
        kind.check_schema(dict(schema))
    except SchemaError as error:
        raise InvalidSchema(f"saw no JSON Schema: {wording(error)}") from None
    check_patterns(schema)
    check_references(schema)


def violation(schema: Mapping[str, Json], payload: Json, *, is_time_left: Callable[[], bool]) -> str | None:
    """The first thing wrong with a payload, with its place (`$.order.id`); None when it fits.

    is_time_left: asked before each step; what takes longer does not fit.
    """
    from referencing.exceptions import Unresolvable

    if is_deep(payload):
        return f"nested more deeply than {DEEPEST} levels"
    token = schema_keywords.is_time_left.set(is_time_left)
    try:
        error = next(iter(validator(schema).iter_errors(payload)), None)
    except schema_keywords.Overrun:
        return "takes too long to check"
    except RecursionError:
        return "nested too deeply for its schema"
    except Unresolvable as lost:
        return f"the schema refers to {lost.ref!r}, which is not in its file"[:SHOWN]
    except (ArithmeticError, TypeError, ValueError) as fault:  # a keyword that cannot cope with this value
        return f"cannot be checked: {fault}"[:SHOWN]
    finally:
        schema_keywords.is_time_left.reset(token)
    return None if error is None else wording(error)


def wording(error: Any) -> str:
    """An error's place and message; a long one repeats the value and is told by its keyword instead."""
    message = str(error.message)
    if len(message) > SHOWN:
        wanted = repr(error.validator_value)
        message = f"{error.validator} {wanted if len(wanted) <= SHOWN else '…'} does not hold"
    return f"{str(error.json_path)[:SHOWN]}: {message}"


def is_deep(value: Json) -> bool:
    """Whether it has more levels than anybody writes by hand."""
    level: list[Json] = [value]
    for _ in range(DEEPEST + 1):
        level = [below for one in level for below in inside(one)]
        if not level:
            return False
    return True


def inside(value: Json) -> Iterable[Json]:
    """What a value holds that may hold more."""
    if isinstance(value, Mapping):
        return (one for one in value.values() if isinstance(one, Mapping | list))
    return (one for one in value if isinstance(one, Mapping | list)) if isinstance(value, list) else ()


def subschemas(value: Json) -> Iterator[Mapping[str, Json]]:
    """Every object in a schema, itself first."""
    if isinstance(value, Mapping):
        yield value
    for below in inside(value):
        yield from subschemas(below)


def check_patterns(schema: Json) -> None:
    """Raises InvalidSchema for one that cannot be searched for in linear time."""
    for one in subschemas(schema):
        beside = one.get("patternProperties")
        if isinstance(beside, Mapping) and "unevaluatedProperties" in one:
            raise InvalidSchema("saw unevaluatedProperties beside patternProperties, expected one of them")
        single = one.get("pattern")
        for regex in beside if isinstance(beside, Mapping) else ():
            check_pattern(regex)
        if isinstance(single, str):
            check_pattern(single)


def check_pattern(regex: str) -> None:
    """Raises InvalidSchema."""
    try:
        schema_keywords.matches(regex, "")
    except ValueError:
        wanted = "expected one without look-around and back-references"
        raise InvalidSchema(f"saw the pattern {regex[:SHOWN]!r}, {wanted}") from None


def check_references(schema: Mapping[str, Json]) -> None:
    """Raises InvalidSchema for what is not in the same file."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    if sum("$id" in one for one in subschemas(schema)) > ("$id" in schema):
        return  # references inside a part with an id of its own are relative to that: told when they are met
    resource = DRAFT202012.create_resource(dict(schema))
    base = resource.id() or ""
    resolver = Registry().with_resource(base, resource).crawl().resolver(base)
    for one in subschemas(schema):
        for key in ("$ref", "$dynamicRef"):
            target = one.get(key)
            try:
                if isinstance(target, str):
                    resolver.lookup(target)
            except Unresolvable:
                wanted = "expected a place in the same file like '#/$defs/order' (nothing is fetched)"
                raise InvalidSchema(f"saw the reference {str(target)[:SHOWN]!r}, {wanted}") from None


def validator(schema: Mapping[str, Json]) -> Validator:
    """Judges by this schema alone."""
    from referencing import Registry

    made: Validator = schema_keywords.guarded(validator_class(schema))(dict(schema), registry=Registry())
    return made


def validator_class(schema: Mapping[str, Json]) -> Any:
    """The draft that it names; the latest when it names none."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import validator_for

    return validator_for(schema, default=Draft202012Validator)
