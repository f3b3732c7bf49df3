"""Keeps a file trigger from being started by its own runs, inside a transaction.

What a workflow declares in `writes` starts none of its triggers. What it does not declare is found
out by when it happens (``ownwrites``), and ends in a disarm. Called by ``bookmarks``.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, cast

from pathspec import GitIgnoreSpec

from tocsin.engine.disarming import disarm
from tocsin.event import Occurrence, Origin, latest
from tocsin.ownwrites import ENOUGH, LINKS, MOST_NAMED, Link, is_loop, named
from tocsin.registration import DisabledReason, Registration
from tocsin.runs import Run, RunState
from tocsin.seams import Announce
from tocsin.store import events, journal, registrations, runs, suspects
from tocsin.store.connection import Tx
from tocsin.trigger import Json, Kind, Overlap

WHAT: Final = "suspected own write"
TICK: Final = timedelta(milliseconds=20)  # the kernel's clock for files lags by one; as in runs.under_way_at


@lru_cache(maxsize=64)
def spec_of(patterns: tuple[str, ...]) -> GitIgnoreSpec:
    """Absolute patterns, as gitignore reads them in the root folder."""
    return GitIgnoreSpec.from_lines(patterns, backend="simple")


def without_own(occurrence: Occurrence, writes: tuple[str, ...]) -> Occurrence | None:
    """The occurrence without files that its workflow writes; None when nothing is left."""
    told = cast("Mapping[str, Any]", occurrence.payload)
    if not writes or occurrence.kind is not Kind.FILE:
        return occurrence
    if "files" not in told:
        return None if is_own(told, writes) else occurrence
    kept = [index for index, file in enumerate(told["files"]) if not is_own(file, writes)]
    if len(kept) == len(told["files"]):
        return occurrence
    return only(occurrence, told, kept) if kept else None


def only(occurrence: Occurrence, told: Mapping[str, Any], kept: Sequence[int]) -> Occurrence:
    """A batch of these of its files; when the others changed does not matter any more."""
    payload = {**told, "files": [told["files"][index] for index in kept], "count": len(kept)}
    each = tuple(occurrence.changed_each[index] for index in kept) if occurrence.changed_each else ()
    return replace(
        occurrence,
        payload=payload,
        changed_each=each,
        changed_at=latest(each) if each else occurrence.changed_at,
    )


def files_of(occurrence: Occurrence) -> Sequence[Mapping[str, Any]]:
    """What is told of each file: one, or those of a batch."""
    told = cast("Mapping[str, Any]", occurrence.payload)
    files: Sequence[Mapping[str, Any]] = told.get("files", (told,))
    return files


def is_own(file: Mapping[str, Any], writes: tuple[str, ...]) -> bool:
    """Whether one file's payload is of something that its workflow writes."""
    exact = file.get("path_base64")
    path = file["path"] if exact is None else os.fsdecode(base64.b64decode(exact))
    return spec_of(writes).match_file(path.lstrip("/"))


def note_own(
    tx: Tx,
    registration: Registration,
    occurrence: Occurrence,
    writes: tuple[str, ...],
    *,
    event_id: str | None,
    now: datetime,
) -> None:
    """Say why a change made no event, or which files the batch of this event leaves out."""
    own = named(file["path"] for file in files_of(occurrence) if is_own(file, writes))
    reason = f"{registration.spec.workflow} writes {own}"
    journal.write(tx, "own write", registration_id=registration.id, event_id=event_id, reason=reason, now=now)


def guard(
    tx: Tx,
    registration: Registration,
    occurrence: Occurrence,
    event_id: str,
    *,
    now: datetime,
    announce: Announce,
) -> None:
    """A new event may be of a change that the trigger's own run has made: remember that; end a loop."""
    run = None if occurrence.changed_at is None else only_run(tx, registration, occurrence.changed_at)
    if run is None or occurrence.changed_at is None:
        return
    suspects.put(tx, event_id, run.id, occurrence.changed_at)
    journal.write(
        tx,
        WHAT,
        registration_id=registration.id,
        event_id=event_id,
        reason=run.id,
        detail={"paths": changed_during(occurrence, run)},
        now=now,
    )
    links = chain(tx, registration, event_id)
    if is_loop(links, replaces=registration.spec.overlap is Overlap.REPLACE):
        count = len(links) if len(links) >= ENOUGH else LINKS
        paths = named(path for link in links[:count] for path in link.paths)
        detail = f"{count} runs in a row, each started by what the one before had changed: {paths}"
        disarm(tx, registration, DisabledReason.LOOP, detail, now=now, announce=announce)
        registrations.tell_loop(tx, registration.id, detail)


def only_run(tx: Tx, registration: Registration, at: datetime) -> Run | None:
    """The one run of the trigger under way at this instant, if a change had started it."""
    found = runs.under_way_at(tx, registration.id, at)
    event_id = found[0].event_id if len(found) == 1 else None
    event = None if event_id is None else events.by_id(tx, event_id)
    if event is None or event.kind is not Kind.FILE or event.origin is not Origin.LIVE:
        return None
    return found[0] if event.created_at >= registration.armed_at else None


def changed_during(occurrence: Occurrence, run: Run) -> list[Json]:
    """The files that changed since the run began, a handful at most."""
    files = files_of(occurrence)
    each = occurrence.changed_each or (occurrence.changed_at,) * len(files)
    late = [file["path"] for file, at in zip(files, each, strict=True) if at and at >= run.started_at - TICK]
    return late[:MOST_NAMED]


def paths_of(tx: Tx, event_id: str) -> tuple[str, ...]:
    """What `changed_during` found when the event was taken in."""
    entries = [entry.detail for entry in journal.of_event(tx, event_id) if entry.what == WHAT]
    found = cast("Sequence[Mapping[str, Sequence[str]]]", entries)
    return tuple(path for detail in found for path in detail["paths"])


def chain(tx: Tx, registration: Registration, event_id: str) -> Sequence[Link]:
    """The links that end with this event, the latest first; none from before the trigger was armed."""
    links: list[Link] = []
    following: str | None = event_id
    while following is not None and len(links) < ENOUGH:
        suspect = suspects.of_event(tx, following)
        run = None if suspect is None else runs.by_id(tx, suspect.run_id)
        event = events.by_id(tx, following)
        if suspect is None or run is None or event is None or event.created_at < registration.armed_at:
            break
        links.append(link_of(paths_of(tx, event.id), suspect.changed_at, run, event.created_at))
        following = run.event_id
    return links


def link_of(paths: tuple[str, ...], changed_at: datetime, run: Run, now: datetime) -> Link:
    """A change beside the run it came in."""
    end = run.finished_at
    by_itself = end is not None and run.state in (RunState.SUCCEEDED, RunState.FAILED)
    return Link(
        paths=paths,
        into=changed_at - run.started_at,
        length=(end or now) - run.started_at,
        before_end=end - changed_at if end is not None and by_itself else None,
    )
