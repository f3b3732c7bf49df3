"""What CI must not skip, it fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = """
import pytest
@pytest.mark.skipif(True, reason="vim is not installed")
def test_wants_a_program(): ...
@pytest.mark.skipif(True, reason="root may write anywhere")
def test_cannot_be_here(): ...
"""


@pytest.mark.parametrize(("required", "summary"), [("1", "1 skipped, 1 error"), ("0", "2 skipped")])
def test_a_missing_program_fails_where_all_is_required(tmp_path: Path, required: str, summary: str) -> None:
    (tmp_path / "test_skips.py").write_text(SKIPS, "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", os.devnull, str(tmp_path)],
        env={**os.environ, "TOCSIN_REQUIRE_ALL": required},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert summary in done.stdout
