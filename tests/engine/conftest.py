"""An engine of its own for each test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.engine.rig import Rig, open_rig


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with open_rig(tmp_path) as opened:
        yield opened


@pytest.fixture
async def open_engine(rig: Rig) -> Rig:
    """One that takes events; the test settles them."""
    rig.open()
    return rig
