"""What every `FileBookmarks` has to keep: subclass `FileBookmarksContract` and give it a bed.

Not collected by itself. The real implementation needs a registration row behind its occurrences;
that is the bed's business.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeAlias

from tocsin.event import Accepted, Declined, Duplicate, Occurrence
from tocsin.seams import FileBookmarks, FileMark
from tocsin.trigger import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Bed:
    """bookmarks: without any mark. active, inactive: ids of two `files` registrations of component
    version 1 that allow overlap, each with its installation id."""

    bookmarks: FileBookmarks
    active: tuple[str, str]
    inactive: tuple[str, str]


MakeBed: TypeAlias = Callable[[], AbstractAsyncContextManager[Bed]]

MARK = FileMark(path=b"/in/a.txt", generation=1, size=3, mtime_ns=1_700_000_000_123_456_789, inode=77)
ODD = FileMark(path=b"/in/\xff\n\xc3\xa9", generation=1, size=2**63 - 1, mtime_ns=-1, inode=2**63 - 1)
RULE = FileMark(path=b"\0scope:[]", generation=1, size=0, mtime_ns=0, inode=0)


def occurrence(registration_id: str, delivery_id: str = "/in/a.txt:1") -> Occurrence:
    """A files occurrence of component version 1."""
    return Occurrence(
        registration_id=registration_id,
        component="files",
        component_version=1,
        kind=Kind.FILE,
        delivery_id=delivery_id,
        occurred_at=datetime(2026, 1, 2, tzinfo=UTC),
        event_type="created",
        payload={"event": "created", "path": "/in/a.txt"},
    )


class FileBookmarksContract:
    """Give `make_bed` as a fixture."""

    async def test_what_moves_is_known_until_it_rests(self, make_bed: MakeBed) -> None:
        began = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
        async with make_bed() as bed:
            id_, kept = bed.active[1], bed.bookmarks
            await kept.baseline(id_, [])
            moving = {MARK.path: began, ODD.path: began, b"/in/c": began}
            await kept.note_unsettled(id_, moving, [])
            assert await kept.unsettled(id_) == moving
            await kept.note_unsettled(id_, {}, [b"/in/c", b"/in/unknown"])
            await kept.record(id_, [MARK], [occurrence(bed.active[0])])
            assert await kept.unsettled(id_) == {ODD.path: began}
            await kept.baseline(id_, [])
            assert await kept.unsettled(id_) == {}

    async def test_what_a_file_held_is_kept(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            mark = replace(MARK, content=bytes(range(32)))
            await bed.bookmarks.baseline(bed.active[1], [mark])
            assert await bed.bookmarks.load(bed.active[1]) == {mark.path: mark}

    async def test_before_any_baseline_there_is_none(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            assert await bed.bookmarks.load(bed.active[1]) is None

    async def test_an_empty_baseline_is_a_baseline(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            await bed.bookmarks.baseline(bed.active[1], [])
            assert await bed.bookmarks.load(bed.active[1]) == {}

    async def test_marks_come_back_byte_for_byte(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            await bed.bookmarks.baseline(bed.active[1], [MARK, ODD, RULE])
            loaded = await bed.bookmarks.load(bed.active[1])
            assert loaded == {mark.path: mark for mark in (MARK, ODD, RULE)}

    async def test_a_second_baseline_makes_the_rest_gone(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            await bed.bookmarks.baseline(bed.active[1], [MARK])
            stored = await bed.bookmarks.baseline(bed.active[1], [ODD])
            assert stored == {ODD.path: ODD, MARK.path: replace(MARK, gone=True)}
            assert await bed.bookmarks.load(bed.active[1]) == stored

    async def test_generations_never_go_back(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            await bed.bookmarks.baseline(bed.active[1], [MARK])
            await bed.bookmarks.record(bed.active[1], [replace(MARK, generation=7, gone=True)], [])
            stored = await bed.bookmarks.baseline(bed.active[1], [MARK])
            assert stored == {MARK.path: replace(MARK, generation=8)}

    async def test_installations_do_not_see_each_other(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            await bed.bookmarks.baseline(bed.active[1], [MARK])
            assert await bed.bookmarks.load(bed.inactive[1]) is None

    async def test_recorded_marks_replace_their_own_path_only(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            gone = replace(MARK, generation=2, gone=True)
            await bed.bookmarks.baseline(bed.active[1], [MARK, ODD])
            assert list(await bed.bookmarks.record(bed.active[1], [gone], [])) == []
            assert await bed.bookmarks.load(bed.active[1]) == {gone.path: gone, ODD.path: ODD}

    async def test_answers_come_in_the_order_of_the_occurrences(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            registration, installation = bed.active
            first, second = (occurrence(registration, name) for name in ("/in/a:1", "/in/b:1"))
            answers = await bed.bookmarks.record(installation, [MARK], [first, second, first])
            assert [type(answer) for answer in answers] == [Accepted, Accepted, Duplicate]
            assert isinstance(answers[0], Accepted)
            assert isinstance(answers[2], Duplicate)
            assert answers[2].event_id == answers[0].event_id

    async def test_a_delivery_recorded_before_is_a_duplicate(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            registration, installation = bed.active
            await bed.bookmarks.record(installation, [MARK], [occurrence(registration)])
            (answer,) = await bed.bookmarks.record(installation, [MARK], [occurrence(registration)])
            assert isinstance(answer, Duplicate)

    async def test_what_an_inactive_registration_misses_stays_marked(self, make_bed: MakeBed) -> None:
        async with make_bed() as bed:
            registration, installation = bed.inactive
            await bed.bookmarks.baseline(installation, [])
            (answer,) = await bed.bookmarks.record(installation, [MARK], [occurrence(registration)])
            assert isinstance(answer, Declined)
            assert await bed.bookmarks.load(installation) == {MARK.path: MARK}
