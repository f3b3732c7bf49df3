"""The kill -9 matrix: an engine under load that dies at every point, again and again, and what is left of it.

make proof                                       # 200 kills
python -m tests.crash.matrix --kills 40 --seed 7
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.crash.faults import POINTS
from tests.crash.judge import Verdict, judge
from tests.crash.load import Load, free_port, furnish
from tests.crash.rig import DEADLINE_S, ROOT, Home

LIFE_S: Final = 12.0  # a life whose point is not passed by then is ended from outside, and counts as that
OUTSIDE: Final = "from outside, at any moment"
ONCE: Final = {"before sweeping the lanes", "after recovery"}  # passed once in a life
SELDOM: Final = ("recovering", "chain", "moving", "marking")  # passed about once in a second
DRY_S: Final = 300.0  # two cores and thousands of short runs


@dataclass(kw_only=True)
class Matrix:
    """One home, its load and its deaths. kills: by point. told: of each, how many there were."""

    here: Path
    seed: int
    per_second: float
    kills: Counter[str] = field(default_factory=Counter)
    told: Callable[[int], None] = lambda _: None

    def __post_init__(self) -> None:
        self.port = free_port()
        self.home: Home = furnish(self.here)
        self.load = Load(self.here, self.home, self.port, per_second=self.per_second)
        self.random = random.Random(self.seed)  # noqa: S311 - a dice, no secret

    def run(self, points: Sequence[str]) -> Verdict:
        """Die once at each, in this order; then run dry and be judged."""
        try:
            self.home.up("--port", str(self.port))
            self.load.begin()
            self.home.kill()
            self.kills[OUTSIDE] += 1
            for point in points:
                self.kills[self.die_at(point)] += 1
                self.told(self.kills.total())
            self.home.up("--port", str(self.port))
            self.load.end()
            self.run_dry()
            return judge(self.here, self.home, self.load)
        finally:
            self.load.abandon()
            self.home.end()

    def die_at(self, point: str) -> str:
        """One life; where it ended."""
        seldom = any(word in point for word in SELDOM)
        nth = 1 if point in ONCE else self.random.randint(1, 2 if seldom else 12)
        engine = self.started(point, nth)
        try:
            code = engine.wait(LIFE_S)
        except subprocess.TimeoutExpired:
            engine.kill()
            engine.wait(DEADLINE_S)
            return OUTSIDE
        assert code == -signal.SIGKILL, f"{point} {nth}: exit {code}: {self.log().read_text('utf-8')[-2000:]}"
        return point

    def started(self, point: str, nth: int) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "tests.crash.faults",
            point,
            str(nth),
            "up",
            "--port",
            str(self.port),
        ]
        with self.log().open("ab") as log:
            self.home.engine = subprocess.Popen(
                command, env=self.home.environ(), cwd=ROOT, stderr=log, start_new_session=True
            )
        return self.home.engine

    def log(self) -> Path:
        return self.home.path / "up.log"

    def run_dry(self) -> None:
        """Nothing new comes, what is there ends."""
        assert self.home.tocsin("disable", "tick").returncode in (0, 8)
        pause, deadline = threading.Event(), time.monotonic() + DRY_S
        while not self.inbox_is_seen() or self.unfinished():
            assert time.monotonic() < deadline, f"not dry after {DRY_S} s: {self.home.states()}"
            pause.wait(0.5)
        assert self.home.interrupt() == 0

    def unfinished(self) -> bool:
        counts = self.home.json("status")["events"]
        return any(counts.get(state) for state in ("held", "pending", "claimed"))

    def inbox_is_seen(self) -> bool:
        return len(self.home.json("events", "inbox", "--limit", "1000000")) >= len(self.load.dropped)


def every_point(kills: int, seed: int) -> Iterator[str]:
    """All of them, in another order each time round, so many in all."""
    dice = random.Random(seed)  # noqa: S311 - a dice, no secret
    while kills > 0:
        points = dice.sample(sorted(POINTS), len(POINTS))[:kills]
        yield from points
        kills -= len(points)


def table(matrix: Matrix, verdict: Verdict, seconds: float) -> str:
    """What `make proof` shows."""
    lines = [f"{'kills':>6}  point"]
    lines += [f"{matrix.kills[point]:6}  {point}" for point in (*POINTS, OUTSIDE)]
    lines += [f"{matrix.kills.total():6}  in all, in {seconds:.0f} s, seed {matrix.seed}", ""]
    lines += [f"{number:6}  {what}" for what, number in verdict.figures.items()]
    lines += [f"{len(verdict.faults):6}  faults", *(f"        {fault}" for fault in verdict.faults)]
    return "\n".join(lines) + "\n"


def tell(kills: int) -> None:
    """How far it has come, for whoever waits."""
    sys.stderr.write(f"\r{kills} kills")
    sys.stderr.flush()


def main() -> int:
    """Exit 0 when no fault was found."""
    reads = argparse.ArgumentParser(prog="matrix")
    reads.add_argument("--kills", type=int, default=200)
    reads.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    asked = reads.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tocsin-proof-"))
    began = time.monotonic()
    matrix = Matrix(here=folder / "load", seed=asked.seed, per_second=4, told=tell)
    verdict = matrix.run(list(every_point(asked.kills, asked.seed)))
    sys.stdout.write(table(matrix, verdict, time.monotonic() - began))
    if verdict.faults:
        sys.stdout.write(f"\nthe home is kept: {folder}\n")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
