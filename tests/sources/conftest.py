from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import is_thorough
from tests.sources.rig import Rig, open_rig

AGAIN = 5  # a case that holds once may be luck: these are about time


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Cases of others' bugs are run several times in the thorough run."""
    if is_thorough() and metafunc.definition.get_closest_marker("case"):
        metafunc.fixturenames.append("time")
        metafunc.parametrize("time", range(AGAIN))


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
