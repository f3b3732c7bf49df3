"""The configuration that `tocsin init` writes."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from tocsin.errors import Refused


def text() -> str:
    """A commented file that passes `check`; its commented-out parts do too."""
    return files("tocsin.config").joinpath("template.toml").read_text(encoding="utf-8")


def write(path: Path, *, force: bool) -> None:
    """Put the template at `path`, 0600, making its directory (0700).

    Raises Refused when the file exists and `force` is not set; OSError when it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    existing = os.O_TRUNC if force else os.O_EXCL
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | existing, 0o600)
    except FileExistsError:
        raise Refused(f"{path} exists; `tocsin init --force` overwrites it") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text())
