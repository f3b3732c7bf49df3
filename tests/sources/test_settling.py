"""When a path has come to rest, on a clock of our own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.engine.sources.files.settling import Rest, Settled, Settling, Stamp

REST = Rest(debounce=0.5, settle=1.0, max_wait=10.0)
A = b"/w/a"
EMPTY, HALF, FULL = (Stamp(size, size, 1) for size in (0, 1, 2))


def walk(settling: Settling, states: dict[float, Stamp | None], until: float) -> dict[float, Settled]:
    """Look when asked to, seeing what `states` says since when; what settled, by the instant."""
    taken: dict[float, Settled] = {}
    while (at := settling.next_look()) is not None and at <= until:
        for path in settling.due(at):
            seen = [stamp for since, stamp in sorted(states.items()) if since <= at]
            settling.observe(path, seen[-1] if seen else None, at)
        settled = settling.take()
        if settled.stamps or settled.given_up:
            taken[at] = settled
    return taken


def test_a_file_left_alone_settles_once() -> None:
    settling = Settling(REST)
    settling.hint(A, 0.0)
    taken = walk(settling, {0.0: FULL}, until=60)
    assert {at: settled.stamps for at, settled in taken.items()} == {1.0: {A: FULL}}
    assert A not in settling
    assert settling.next_look() is None


def test_a_change_restarts_the_quiet_time() -> None:
    settling = Settling(REST)
    settling.hint(A, 0.0)
    assert walk(settling, {0.0: EMPTY}, until=0.7) == {}
    settling.hint(A, 0.8)
    taken = walk(settling, {0.0: EMPTY, 0.8: FULL}, until=60)
    assert {at: settled.stamps for at, settled in taken.items()} == {1.8: {A: FULL}}


def test_a_hint_without_a_change_restarts_only_the_debounce() -> None:
    settling = Settling(REST)
    settling.hint(A, 0.0)
    assert walk(settling, {0.0: FULL}, until=0.8) == {}
    settling.hint(A, 0.9)
    assert list(walk(settling, {0.0: FULL}, until=60)) == [1.4]


def test_settling_needs_no_hints() -> None:
    settling = Settling(REST)
    for at in (0.0, 0.3, 0.6):  # three scans that see the same
        settling.observe(A, FULL, at)
    assert list(walk(settling, {0.0: FULL}, until=60)) == [1.0]


def test_a_vanished_path_settles_as_gone() -> None:
    settling = Settling(REST)
    settling.hint(A, 0.0)
    taken = walk(settling, {}, until=60)
    assert [settled.stamps for settled in taken.values()] == [{A: None}]


def test_a_path_that_comes_back_in_time_was_never_gone() -> None:
    settling = Settling(REST)
    settling.hint(A, 0.0)
    taken = walk(settling, {0.0: None, 0.4: FULL}, until=60)
    assert [settled.stamps for settled in taken.values()] == [{A: FULL}]


def restless(settling: Settling, *, until: int) -> dict[float, Settled]:
    """A file written to five times a second, from 0 to `until` seconds, and then left alone."""
    states: dict[float, Stamp | None] = {at / 10: Stamp(at, at, 1) for at in range(0, until * 10, 2)}
    taken: dict[float, Settled] = {}
    for tenth in range(0, until * 10, 2):
        settling.hint(A, tenth / 10)
        taken |= walk(settling, states, until=tenth / 10 + 0.1)
    return taken | walk(settling, states, until=1000)


def test_a_file_that_never_rests_is_taken_at_the_cap() -> None:
    taken = restless(Settling(REST), until=12)
    assert [at for at, settled in taken.items() if A in settled.stamps] == [10.0, 12.8]


@pytest.mark.parametrize("max_wait", [10.0, 0.3])
def test_giving_up_names_the_file_and_waits_on_for_its_rest(max_wait: float) -> None:
    taken = restless(Settling(replace(REST, max_wait=max_wait, gives_up=True)), until=12)
    assert [at for at, settled in taken.items() if A in settled.stamps] == [max(taken)]
    assert 12.8 <= max(taken) <= 13
    assert taken[min(taken)].given_up == [A]


def test_a_busy_path_waits_until_the_work_on_it_ends() -> None:
    settling = Settling(REST)
    settling.hint(A, 0.0)
    while (at := settling.next_look()) is not None and at < 5:
        for path in settling.due(at):
            settling.observe(path, EMPTY, at, busy=at < 3)
        if settling.take().stamps:
            break
    assert at is not None
    assert 3 <= at <= 4


def test_no_quiet_time_means_at_once() -> None:
    settling = Settling(Rest(debounce=0, settle=0, max_wait=10))
    settling.hint(A, 0.0)
    assert list(walk(settling, {0.0: FULL}, until=60)) == [0.0]


def test_a_forgotten_path_is_not_asked_for() -> None:
    settling = Settling(REST)
    settling.hint(A, 0.0)
    settling.forget(A)
    assert settling.due(100.0) == []


times = st.integers(0, 200).map(lambda tick: tick / 10)
changes = st.dictionaries(times, st.one_of(st.none(), st.builds(Stamp, *[st.integers(0, 3)] * 3)), max_size=8)


@given(changes=changes, hints=st.lists(times, min_size=1, max_size=12).map(sorted))
def test_what_settles_was_quiet_and_is_what_is_there(
    changes: dict[float, Stamp | None], hints: list[float]
) -> None:
    settling = Settling(REST)
    taken: dict[float, Settled] = {}
    for hint, following in zip(hints, [*hints[1:], 10_000.0], strict=True):
        settling.hint(A, hint)
        taken |= walk(settling, changes, until=following - 0.05)
    assert A not in settling  # whatever happens, it ends
    for at, settled in taken.items():
        before = [since for since in changes if since <= at]
        there = changes[max(before)] if before else None
        assert settled.stamps == {A: there}
        if at < hints[0] + REST.max_wait:
            assert all(hint > at or at - hint >= REST.debounce - 1e-9 for hint in hints)
    assert max(taken) >= hints[-1]  # the last sign of life is answered


@given(st.lists(st.tuples(st.sampled_from([b"/w/a", b"/w/b", b"/w/c"]), times), max_size=20))
def test_paths_do_not_disturb_each_other(hints: list[tuple[bytes, float]]) -> None:
    together, alone = Settling(REST), Settling(REST)
    for path, at in sorted(hints, key=lambda hint: hint[1]):
        together.hint(path, at)
        if path == A:
            alone.hint(path, at)
    both = [walk(settling, {0.0: FULL}, until=100) for settling in (together, alone)]
    ends = [[at for at, settled in taken.items() if A in settled.stamps] for taken in both]
    assert ends[0] == ends[1]
