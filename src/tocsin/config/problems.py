"""Faults in tables, and their wording: what was seen, what was expected, the nearest spelling.

Made by ``tables``, ``rules`` and ``lint``, which know keys but no files; ``load`` gives them a file
and a line. No word of pydantic's leaves this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, time
from difflib import get_close_matches
from itertools import takewhile
from typing import Final

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from tocsin.config.positions import KeyPath
from tocsin.errors import Problem

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SHOWN: Final = 60  # characters of a value that are repeated to its author

_EXPECTED: Final = {
    "string_type": "text in quotes",
    "string_unicode": "text in UTF-8",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list in brackets",
    "dict_type": "a table",
    "model_type": "a table",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "{le} or less",
    "string_too_short": "some text",
    "too_short": "at least one element",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing wrong with a table.

    keys: from that table on (from the top of the document once `under` was called); empty for the
    table itself. meant: for an unknown key, the key that was probably meant.
    """

    keys: KeyPath
    message: str
    severity: str = "error"
    meant: str | None = None

    def under(self, *prefix: str) -> Fault:
        """The same fault seen from further up."""
        return replace(self, keys=(*prefix, *self.keys))

    def at(self, path: str, line: int | None) -> Problem:
        """The fault as a row for people."""
        return Problem(
            path=path, line=line, key=dotted(self.keys), message=self.message, severity=self.severity
        )


def dotted(keys: Iterable[str | int]) -> str:
    """Keys as TOML writes them: ``triggers."a.b".tags[0]``."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += ("." if text else "") + (key if _BARE.fullmatch(key) else json.dumps(key))
    return text


def seen(value: object) -> str:
    """A value as an error shows it: short, on one line, without control characters."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "a list" if value else "an empty list"
    if isinstance(value, dict):
        return "a table"
    if isinstance(value, date | time):
        return value.isoformat()
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def nearest(word: str, choices: Iterable[str]) -> str | None:
    """The choice that `word` is probably a misspelling of; None when none is close."""
    lowered = {choice.lower(): choice for choice in sorted(choices)}
    close = get_close_matches(word.lower()[:_SHOWN], lowered, n=1)
    return lowered[close[0]] if close else None


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """`` (did you mean 'x'?)``, or nothing when no choice is close."""
    choice = nearest(word, choices)
    return "" if choice is None else f" (did you mean {choice!r}?)"


def unknown_key(keys: KeyPath, choices: Iterable[str]) -> Fault:
    """The fault of a key that its table does not have; `choices` are those it has."""
    known = sorted(choices)
    word = str(keys[-1])
    meant = nearest(word, known)
    wanted = f", expected one of: {', '.join(known)}" if meant is None else did_you_mean(word, known)
    return Fault(keys=keys, message=f"unknown key {seen(word)}{wanted}", meant=meant)


def keys_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A table's fields by the keys that a person writes; not every key may be an attribute's name."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def faults_of(error: ValidationError, model: type[BaseModel]) -> list[Fault]:
    """What pydantic found in a table of this model, one fault each, in the model's order."""
    return [_fault(details, model) for details in error.errors(include_url=False)]


def _fault(details: ErrorDetails, model: type[BaseModel]) -> Fault:
    keys = details["loc"]
    if details["type"] == "extra_forbidden":
        return unknown_key(keys, keys_of(_table_at(model, keys[:-1])))
    word = _WORDINGS.get(details["type"], _mismatch)
    return Fault(keys=keys, message=word(details, _field_at(model, keys)))


def _said(details: ErrorDetails, _: FieldInfo | None) -> str:
    """The text that one of our own validators raised."""
    return str(details["ctx"]["error"])


def _missing(_: ErrorDetails, field: FieldInfo | None) -> str:
    what = (field.description or "a value").rstrip(".") if field else "a value"
    return f"missing, expected {what[0].lower()}{what[1:]}"


def _choice(details: ErrorDetails, _: FieldInfo | None) -> str:
    value, wanted = details["input"], details["ctx"]["expected"]
    hint = did_you_mean(value, re.findall(r"'([^']+)'", wanted)) if isinstance(value, str) else ""
    return f"saw {seen(value)}, expected {'true' if wanted == 'True' else wanted}{hint}"


def _mismatch(details: ErrorDetails, field: FieldInfo | None) -> str:
    wanted = _EXPECTED.get(details["type"], details["msg"]).format(**details.get("ctx", {}))
    return f"saw {seen(details['input'])}, expected {wanted}{_like(field)}"


_WORDINGS: Final[dict[str, Callable[[ErrorDetails, FieldInfo | None], str]]] = {
    "value_error": _said,
    "missing": _missing,
    "literal_error": _choice,
}


def _like(field: FieldInfo | None) -> str:
    """The field's example, when it has one."""
    return f" like {_toml(field.examples[0])}" if field is not None and field.examples else ""


def _toml(value: object) -> str:
    """A value as TOML writes it on one line."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    inside = ", ".join(f"{key} = {_toml(below)}" for key, below in value.items())
    return f"{{ {inside} }}" if inside else "{}"


def _field_at(model: type[BaseModel], keys: KeyPath) -> FieldInfo | None:
    """The field a path ends at; None for an element inside a field's value."""
    return keys_of(_table_at(model, keys[:-1])).get(str(keys[-1])) if _named(keys) else None


def _named(keys: KeyPath) -> bool:
    return bool(keys) and all(isinstance(key, str) for key in keys)


def _table_at(model: type[BaseModel], keys: KeyPath) -> type[BaseModel]:
    """The model of the innermost table on the path."""
    for key in takewhile(lambda key: isinstance(key, str), keys):
        field = keys_of(model).get(str(key))
        inner = None if field is None else _model_in(field)
        if inner is None:
            break
        model = inner
    return model


def _model_in(field: FieldInfo) -> type[BaseModel] | None:
    """The model of a field that is a table, optional or not."""
    options = getattr(field.annotation, "__args__", (field.annotation,))
    models = (option for option in options if isinstance(option, type) and issubclass(option, BaseModel))
    return next(models, None)
