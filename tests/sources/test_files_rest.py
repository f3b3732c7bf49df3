"""A source that is stopped for a pause and run again: what changed meanwhile is told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sources.rig import Rig

EVERY = ["created", "modified", "moved", "deleted"]


@pytest.mark.parametrize("start", ["new-since-stop", "ignore", "all"])
async def test_it_is_reconciled_once_whatever_start_says(rig: Rig, w: Path, start: str) -> None:
    (w / "changed").write_text("1")
    (w / "removed").write_text("1")
    await rig.start(w, start=start, on=EVERY)
    before = len(await rig.quiet(w))
    source = rig.sources["t"]
    await rig.stop()
    (w / "changed").write_text("twenty-two")
    (w / "removed").unlink()
    (w / "new").write_text("1")
    (w / "gone-again").write_text("1")
    (w / "gone-again").unlink()
    await rig.run(source)
    told = (await rig.events(before + 3))[before:]
    assert sorted(told) == [("created", "new"), ("deleted", "removed"), ("modified", "changed")]
    await rig.stop()
    await rig.run(source)
    assert len(await rig.quiet(w)) == before + 3
