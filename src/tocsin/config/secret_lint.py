"""Warnings about secrets that a reference names: what can be seen without asking anybody for them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from tocsin.config.problems import Fault
from tocsin.signature import Scheme, fault_of
from tocsin.trigger import Json


def secret_warnings(props: Mapping[str, Json]) -> Iterator[Fault]:
    """A variable that is not set, a file that is missing, open to others, or no key for this sender."""
    references, scheme = props.get("secrets"), props.get("scheme")
    for reference in map(str, references if isinstance(references, list) else ()):
        kind, _, name = reference.partition(":")
        value = os.environ.get(name) if kind == "env" else None
        if kind == "env" and value is None:
            yield told(f"saw {reference}, which is not set now")
        elif kind == "file":
            yield from of_file(reference, Path(name).expanduser())
            value = text_of(Path(name).expanduser())
        if value is not None and isinstance(scheme, Mapping):
            yield from of_value(reference, value, Scheme.of(scheme))


def of_file(reference: str, path: Path) -> Iterator[Fault]:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        yield told(f"saw {reference}, which cannot be read now: {error.strerror}")
        return
    if os.name != "nt" and stat.S_IMODE(mode) & 0o077:
        yield told(f"saw {reference}, which others may read: `chmod 600` keeps it to you")


def of_value(reference: str, value: str, scheme: Scheme) -> Iterator[Fault]:
    """Nothing of the value is repeated."""
    if value != value.strip():
        yield told(f"saw {reference} with blanks or a line end around the secret: they are taken away")
    fault = fault_of(scheme, value.strip())
    if fault is not None:
        yield told(f"saw {reference}, with which nothing can be verified: {fault}")


def text_of(path: Path) -> str | None:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def told(message: str) -> Fault:
    return Fault(keys=("webhook", "secret"), message=message, severity="warning")
