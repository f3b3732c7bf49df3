"""Which files a trigger would hear of, for `tocsin test`: what is there now, the newest first. Blocks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tocsin.engine.sources.files.changes import Change
from tocsin.engine.sources.files.payload import payload
from tocsin.engine.sources.files.props import FilesProps
from tocsin.engine.sources.files.scan import survey
from tocsin.engine.sources.files.scope import Scope
from tocsin.trigger import Json, TriggerSpec

SHOWN: Final = 20  # files that are named: enough to see whether the patterns are right


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """count: of all files that match. newest: payloads of at most `SHOWN`, as if just made."""

    count: int
    newest: Sequence[dict[str, Json]]

    def document(self) -> dict[str, Json]:
        """As `tocsin test --json` shows it."""
        return {"count": self.count, "paths": [file["path"] for file in self.newest]}


def matches(spec: TriggerSpec) -> Matches | None:
    """None for a trigger that watches no files."""
    if spec.component != "files":
        return None
    props = FilesProps.read(spec.props)
    scope = Scope(
        map(os.fsencode, props.paths), recursive=props.recursive, match=props.match, ignore=props.ignore
    )
    found = survey(scope.roots, scope).files
    newest = sorted(found, key=lambda path: (-found[path].mtime_ns, path))[:SHOWN]
    told = [payload(Change(kind="created", path=path, stamp=found[path], marks=())) for path in newest]
    return Matches(count=len(found), newest=told)


def sample(spec: TriggerSpec, found: Matches | None) -> Json:
    """The payload of the newest file, or of the newest ones for a batch; None when nothing matches."""
    if found is None or not found.newest:
        return None
    if spec.props.get("batch"):
        return {"files": list(found.newest), "count": len(found.newest)}
    return found.newest[0]
