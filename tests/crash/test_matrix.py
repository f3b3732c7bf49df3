"""The kill -9 matrix, reduced: a few kills in `make test`, every point once in CI, 200 in `make proof`."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.conftest import is_thorough
from tests.crash.faults import POINTS
from tests.crash.matrix import OUTSIDE, Matrix, every_point

FEW = 5  # as many as somebody who waits for `make test` will bear


@pytest.mark.skipif(shutil.which("flock") is None, reason="flock is not installed")
def test_nothing_acknowledged_is_lost_or_doubled_wherever_the_engine_dies(tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    points = list(every_point(len(POINTS) if is_thorough() else FEW, seed))
    matrix = Matrix(here=tmp_path / "load", seed=seed, per_second=4)
    verdict = matrix.run(points)
    assert verdict.faults == [], f"seed {seed}, {points}"
    assert verdict.figures["events"] > verdict.figures["deliveries acknowledged"] > 0
    assert matrix.kills[OUTSIDE] <= 1 + len(points) // 4, f"seed {seed}: points that are hardly passed"
