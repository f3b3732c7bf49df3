from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.sources.rig import Rig, open_rig


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    async with open_rig() as opened:
        yield opened


@pytest.fixture
def w(tmp_path: Path) -> Path:
    """The watched folder; its parent is free for things outside."""
    folder = tmp_path / "w"
    folder.mkdir()
    return folder
