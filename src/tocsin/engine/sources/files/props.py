"""The `files` component's settings as a record. Knows the keys, not what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from tocsin.engine.sources.files.settling import Rest
from tocsin.trigger import Json

EventKind: TypeAlias = Literal["created", "modified", "moved", "deleted"]
Compare: TypeAlias = Literal["stat", "content"]
Start: TypeAlias = Literal["new-since-stop", "ignore", "all"]


DEFAULT_REST = Rest(debounce=0.5, settle=1.0, max_wait=600.0)  # DESIGN section 9


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesProps:
    """One trigger's `files` table with every default filled in.

    paths: absolute, folders or single files, at least one. match: empty means every file.
    """

    paths: tuple[str, ...]
    recursive: bool = False
    match: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    on: frozenset[EventKind] = frozenset({"created", "modified", "moved"})
    rest: Rest = DEFAULT_REST
    start: Start = "new-since-stop"
    compare: Compare = "stat"
    batch: bool = False

    @classmethod
    def read(cls, props: Mapping[str, Json]) -> FilesProps:
        """From a spec's JSON props, which the configuration has checked; KeyError without `paths`."""
        given = cast("Mapping[str, Any]", props)
        return cls(
            paths=tuple(given["paths"]),
            recursive=given.get("recursive", False),
            match=tuple(given.get("match", ())),
            ignore=tuple(given.get("ignore", ())),
            on=frozenset(given.get("on", ("created", "modified", "moved"))),
            rest=Rest(
                debounce=given.get("debounce_ms", 500) / 1000,
                settle=given.get("settle_ms", 1000) / 1000,
                max_wait=given.get("max_wait_ms", 600_000) / 1000,
                gives_up=given.get("at_max_wait", "emit") == "give-up",
            ),
            start=given.get("start", "new-since-stop"),
            compare=given.get("compare", "stat"),
            batch=given.get("batch", False),
        )
