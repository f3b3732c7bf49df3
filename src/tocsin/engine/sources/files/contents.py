"""What a file holds, as a digest: for triggers that fire only when that has changed. Blocks."""

# ruff: noqa: PTH123 - paths are bytes here, which pathlib does not take

from __future__ import annotations

import hashlib
from dataclasses import replace

from tocsin.engine.sources.files.changes import Change, Snapshot
from tocsin.engine.sources.files.scan import look
from tocsin.engine.sources.files.settling import Stamp


class Moving(Exception):
    """The file changed while it was read: it is not at rest."""


def digest(path: bytes, stamp: Stamp) -> bytes | None:
    """SHA-256 of the file in this state; None when it cannot be read. Raises Moving."""
    try:
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").digest()
        if look(path) != stamp:
            raise Moving
    except OSError:
        return None
    return found


def compared(change: Change, snapshot: Snapshot) -> Change:
    """The change with its content's digest; silent when a modified file holds what it held before.

    Raises Moving.
    """
    if change.kind == "deleted":
        return change
    found = digest(change.path, change.stamp)
    own, *others = change.marks
    before = snapshot.live(change.path)
    if change.kind == "modified" and before is not None and found is not None and before.content == found:
        known = replace(own, generation=before.generation, content=found)
        return replace(change, marks=(known, *others), silent=True)
    return replace(change, marks=(replace(own, content=found), *others))
