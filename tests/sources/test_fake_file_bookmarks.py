"""The fake that the files source is tested with keeps the seam's contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.fakes import FakeFileBookmarks
from tests.seams.file_bookmarks import Bed, FileBookmarksContract, MakeBed


@asynccontextmanager
async def fake_bed() -> AsyncIterator[Bed]:
    bookmarks = FakeFileBookmarks()
    bookmarks.inactive.add("trg_off")
    yield Bed(bookmarks=bookmarks, active=("trg_on", "ins_on"), inactive=("trg_off", "ins_off"))


class TestFakeFileBookmarks(FileBookmarksContract):
    @pytest.fixture
    def make_bed(self) -> MakeBed:
        return fake_bed
