"""The bookmarks in the database keep their seam's contract."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.engine.rig import open_rig, spec
from tests.seams.file_bookmarks import Bed, FileBookmarksContract, MakeBed
from tocsin.trigger import Kind


class TestStoredBookmarks(FileBookmarksContract):
    @pytest.fixture
    def make_bed(self, tmp_path: Path) -> MakeBed:
        @asynccontextmanager
        async def bed() -> AsyncIterator[Bed]:
            async with open_rig(tmp_path) as rig:
                rows = [
                    await rig.add(spec(name, kind=Kind.FILE, component="files")) for name in ("on", "off")
                ]
                await rig.disarm(rows[1])
                on, off = [(row.id, row.installation_id) for row in rows]
                yield Bed(bookmarks=rig.bookmarks, active=on, inactive=off)

        def make() -> AbstractAsyncContextManager[Bed]:
            return bed()

        return make
