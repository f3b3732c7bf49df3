"""A workbench per test; after each test nothing may be left of this process's children."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.runners.workbench import Workbench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    before = set(psutil.Process().children(recursive=True))
    yield Workbench(tmp_path)
    left = [child for child in psutil.Process().children(recursive=True) if child not in before]
    assert not left, f"left behind, zombies included: {left}"
