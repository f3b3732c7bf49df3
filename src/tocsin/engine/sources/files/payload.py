"""How a file's change is told: the event's payload and its delivery id.

Pure. A path is bytes; what is not UTF-8 is shown with replacement characters and given exactly in
base64 beside it.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from urllib.parse import quote_from_bytes

from tocsin.components import VERSIONS
from tocsin.engine.sources.files.changes import Change
from tocsin.event import Occurrence, latest
from tocsin.registration import Registration
from tocsin.trigger import Json, Kind

COMPONENT = "files"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def occurrence(registration: Registration, change: Change, now: datetime) -> Occurrence:
    """The change as an occurrence of this registration. now: aware UTC, when it was found settled."""
    return Occurrence(
        registration_id=registration.id,
        component=COMPONENT,
        component_version=VERSIONS[COMPONENT],
        kind=Kind.FILE,
        delivery_id=delivery_id(change.path, change.generation),
        occurred_at=now,
        changed_at=changed_at(change, now),
        event_type=change.kind,
        payload=payload(change),
    )


def batch_of(
    registration: Registration, changes: Sequence[Change], sequence: int, now: datetime
) -> Occurrence:
    """Several changes as one occurrence, in the order given. sequence: the source's own count of these."""
    each = tuple(changed_at(change, now) for change in changes)
    return Occurrence(
        registration_id=registration.id,
        component=COMPONENT,
        component_version=VERSIONS[COMPONENT],
        kind=Kind.FILE,
        delivery_id=f"batch:{sequence}",
        occurred_at=now,
        changed_at=latest(each),
        changed_each=each,
        event_type="batch",
        payload={"files": [payload(change) for change in changes], "count": len(changes)},
    )


def changed_at(change: Change, now: datetime) -> datetime | None:
    """When the file itself changed; None when nobody can tell, or when a clock is wrong."""
    if change.changed_ns is None:
        return None
    try:
        at = EPOCH + timedelta(microseconds=change.changed_ns // 1000)
    except OverflowError:  # broken file systems report years beyond 9999
        return None
    return at if at <= now else None


def delivery_id(path: bytes, generation: int) -> str:
    """`PATH:GENERATION`. A path that is not UTF-8 stands as `bytes:` and percent escapes.

    Different paths give different ids: an absolute path begins with a slash, never with `bytes:`.
    """
    try:
        text = path.decode()
    except UnicodeDecodeError:
        text = "bytes:" + quote_from_bytes(path)
    return f"{text}:{generation}"


def payload(change: Change) -> dict[str, Json]:
    """INTERFACE section 5. A deleted file's size and mtime are the last known ones."""
    name = change.path.rpartition(b"/")[2]
    told: dict[str, Json] = {"event": change.kind, **_text("path", change.path), **_text("name", name)}
    told |= {"src_path": None} if change.src is None else _text("src_path", change.src)
    return told | {"size": change.stamp.size, "mtime": _rfc3339(change.stamp.mtime_ns), "is_dir": False}


def shown(path: bytes) -> str:
    """The path for people; not always reversible."""
    return path.decode("utf-8", "replace")


def _text(key: str, value: bytes) -> dict[str, Json]:
    try:
        return {key: value.decode()}
    except UnicodeDecodeError:
        return {key: shown(value), f"{key}_base64": base64.b64encode(value).decode("ascii")}


def _rfc3339(mtime_ns: int) -> str | None:
    try:
        at = EPOCH + timedelta(microseconds=mtime_ns // 1000)
    except OverflowError:  # broken file systems report years beyond 9999
        return None
    return at.isoformat(timespec="microseconds").replace("+00:00", "Z")
