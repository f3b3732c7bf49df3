"""Each dedupe strategy against a few lines that say the same, whatever comes in whatever order."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.rig import Rig, open_rig
from tests.engine.test_recognition import deduping
from tests.store.raw import on_writer
from tocsin.dedupe import Greatest, Last, Order, Strategy, Unique
from tocsin.event import Accepted, Duplicate
from tocsin.registration import Registration

EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
IDS = st.integers(0, 12).map(str) | st.sampled_from(["1.5", "10e-1", "07", "-3", "1e1"])
DELIVERIES = st.lists(IDS, min_size=1, max_size=40)


class Model(Protocol):
    """Decides whether an id counts as new."""

    def is_new(self, id_: str) -> bool: ...


@dataclass
class UniqueModel:
    seen: set[str] = field(default_factory=set)

    def is_new(self, id_: str) -> bool:
        fresh = id_ not in self.seen
        self.seen.add(id_)
        return fresh


@dataclass
class GreatestModel:
    accepted: list[str] = field(default_factory=list)

    def is_new(self, id_: str) -> bool:
        fresh = all(Decimal(id_) > Decimal(before) for before in self.accepted)
        self.accepted += [id_] if fresh else []
        return fresh


@dataclass
class LastModel:
    n: int
    recent: list[str] = field(default_factory=list)

    def is_new(self, id_: str) -> bool:
        fresh = id_ not in self.recent
        self.recent = [*(one for one in self.recent if one != id_), id_][-self.n :]
        return fresh


class Bench:
    """One engine for many examples, each with a trigger of its own."""

    def __init__(self, runner: asyncio.Runner, rig: Rig) -> None:
        self._runner = runner
        self._rig = rig
        self._rows = 0

    def trigger(self, strategy: Strategy) -> Registration:
        self._rows += 1
        return self._runner.run(self._rig.add(deduping(strategy, name=f"t{self._rows}")))

    def news(self, row: Registration, ids: Sequence[str]) -> Iterator[bool]:
        """Whether each in turn counted as new; the answer names an event that there is."""
        for id_ in ids:
            answer = self._runner.run(self._rig.accept(row, id_, given_id=id_))
            assert isinstance(answer, Accepted | Duplicate)
            event = self._runner.run(self._rig.event(answer.event_id))
            assert event.registration_id == row.id
            is_stale = isinstance(answer, Duplicate) and answer.reason == "stale"
            assert is_stale or event.delivery_id == id_
            yield isinstance(answer, Accepted)


@contextmanager
def opened() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        manager = open_rig(Path(folder))
        rig = runner.run(manager.__aenter__())
        runner.run(on_writer(rig.store, "PRAGMA synchronous = OFF"))  # no power is cut here
        try:
            yield Bench(runner, rig)
        finally:
            runner.run(manager.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with opened() as found:
        yield found


def agree(bench: Bench, strategy: Strategy, model: Model, ids: Sequence[str]) -> None:
    wanted = [model.is_new(id_) for id_ in ids]
    assert list(bench.news(bench.trigger(strategy), ids)) == wanted


@EXAMPLES
@given(ids=DELIVERIES)
def test_unique_accepts_an_id_once(bench: Bench, ids: list[str]) -> None:
    agree(bench, Unique(), UniqueModel(), ids)


@EXAMPLES
@given(ids=DELIVERIES)
def test_greatest_accepts_what_is_above_all_that_it_accepted(bench: Bench, ids: list[str]) -> None:
    agree(bench, Greatest(order=Order.NUMBER), GreatestModel(), ids)


@EXAMPLES
@given(ids=DELIVERIES, n=st.integers(1, 6))
def test_last_accepts_what_is_not_among_the_n_most_recent(bench: Bench, ids: list[str], n: int) -> None:
    agree(bench, Last(n=n), LastModel(n=n), ids)
