"""The log of a run: bounded, readable while it grows, one file for two streams."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.engine.runners.capture import HEAD, TAIL, Capture
from tocsin.engine.runners.logfile import STDERR, STDOUT, LogFollower, read_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "run.log"


def kept(log: Path, *written: tuple[bytes, bytes], head: int = HEAD, tail: int = TAIL) -> list[bytes]:
    capture = Capture(log, head=head, tail=tail)
    for stream, data in written:
        capture.write(stream, data)
    capture.close()
    return list(read_log(log))


def test_lines_come_back_in_the_order_in_which_they_ended(log: Path) -> None:
    lines = kept(log, (STDOUT, b"one\ntw"), (STDERR, b"bad\n"), (STDOUT, b"o\n\nrest"), (STDERR, b"\xff\n"))
    assert lines == [b"one\n", b"bad\n", b"two\n", b"\n", b"\xff\n", b"rest"]
    assert list(read_log(log, stderr_only=True)) == [b"bad\n", b"\xff\n"]
    assert list(read_log(log, tail=2)) == [b"\xff\n", b"rest"]
    assert list(read_log(log, tail=0)) == []
    assert list(read_log(log, stderr_only=True, tail=1)) == [b"\xff\n"]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_output_that_looks_like_the_file_format_is_only_output(log: Path) -> None:
    fake = b"t 5 5\ne forged\no+x\n"
    assert kept(log, (STDOUT, fake)) == [b"t 5 5\n", b"e forged\n", b"o+x\n"]
    assert list(read_log(log, stderr_only=True)) == []


def test_no_output_is_an_empty_log(log: Path) -> None:
    assert kept(log) == []


written = st.lists(st.tuples(st.sampled_from([STDOUT, STDERR]), st.binary(max_size=30) | st.just(b"\n")))


@given(chunks=written)
def test_every_byte_of_each_stream_comes_back(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[tuple[bytes, bytes]]
) -> None:
    log = tmp_path_factory.mktemp("log") / "run.log"
    kept(log, *chunks)
    both = b"".join(read_log(log))
    assert sorted(both) == sorted(b"".join(data for _, data in chunks))
    errors = b"".join(data for stream, data in chunks if stream == STDERR)
    assert b"".join(read_log(log, stderr_only=True)) == errors


@given(chunks=written, cap=st.integers(40, 200))
def test_whatever_is_written_the_file_stays_small_and_says_what_is_missing(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[tuple[bytes, bytes]], cap: int
) -> None:
    log = tmp_path_factory.mktemp("log") / "run.log"
    kept(log, *chunks, head=cap, tail=cap)
    records = log.read_bytes()
    assert len(records) <= 2 * cap + 40
    missing = sum(int(line.split()[1]) for line in records.splitlines() if line.startswith(b"t "))
    parts = [record[2:] + (b"\n" if record[1:2] == b" " else b"") for record in records.split(b"\n")[:-1]]
    shown = sum(
        len(part) for part, record in zip(parts, records.split(b"\n"), strict=False) if record[:1] != b"t"
    )
    assert shown + missing == sum(len(data) for _, data in chunks)


def test_the_beginning_and_the_end_are_kept(log: Path) -> None:
    lines = kept(
        log, *[(STDOUT, b"".join(b"%d\n" % n for n in range(k, k + 5000))) for k in range(0, 900_000, 5000)]
    )
    assert log.stat().st_size <= HEAD + TAIL + 60
    gap = next(index for index, line in enumerate(lines) if line.startswith(b"["))
    head, tail = [int(line) for line in lines[:gap]], [int(line) for line in lines[gap + 1 :]]
    assert head == list(range(len(head)))
    assert tail == list(range(tail[0], 900_000))
    left_out = sum(len(b"%d\n" % n) for n in range(len(head), tail[0]))
    assert lines[gap] == b"[tocsin: %d bytes left out]\n" % left_out


def test_a_line_without_an_end_is_kept_at_both_ends(log: Path) -> None:
    lines = kept(log, *[(STDOUT, b"x" * 65_536)] * 100, (STDOUT, b"end"))
    assert log.stat().st_size <= HEAD + TAIL + 60
    assert [line[:1] for line in lines] == [b"x", b"[", b"x"]
    assert lines[2].endswith(b"end")


def test_a_character_is_never_torn_apart(log: Path) -> None:
    text = ("a" + "é€😀" * 3000).encode()
    pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
    follower = LogFollower(log)
    capture = Capture(log)
    seen = b""
    for piece in pieces:
        capture.write(STDOUT, piece)
        capture.write(STDERR, piece)
        fresh = follower.fresh()
        fresh.decode()
        seen += fresh
    capture.close()
    assert "\ufffd" not in (seen + follower.fresh()).decode()
    assert list(read_log(log)) == [text, text]


def test_a_follower_sees_everything_as_it_comes(log: Path) -> None:
    follower, errors = LogFollower(log), LogFollower(log, stderr_only=True)
    assert follower.fresh() == b""
    capture = Capture(log)
    capture.write(STDOUT, b"par")
    assert follower.fresh() == b"par"
    assert follower.fresh() == b""
    capture.write(STDERR, b"err\n")
    capture.write(STDOUT, b"tial\n")
    assert (follower.fresh(), errors.fresh()) == (b"err\ntial\n", b"err\n")
    capture.close()
    assert (follower.fresh(), errors.fresh()) == (b"", b"")


def test_a_follower_that_begins_late_gets_the_last_lines_first(log: Path) -> None:
    capture = Capture(log)
    follower = LogFollower(log, tail=2)
    capture.write(STDOUT, b"1\n2\n3\n")
    assert follower.fresh() == b"2\n3\n"
    capture.write(STDOUT, b"4\n5\n6\n")
    assert follower.fresh() == b"4\n5\n6\n"
    capture.close()


def chunks_of_numbers() -> Iterator[bytes]:
    yield from (b"".join(b"%d\n" % n for n in range(k, k + 10)) for k in range(0, 1000, 10))


def test_a_follower_that_keeps_up_misses_nothing_when_the_file_is_cut(log: Path) -> None:
    follower, seen = LogFollower(log), b""
    capture = Capture(log, head=100, tail=100)
    for chunk in chunks_of_numbers():
        capture.write(STDOUT, chunk)
        seen += follower.fresh()
    capture.close()
    assert [
        int(line) for line in (seen + follower.fresh()).splitlines() if not line.startswith(b"[")
    ] == list(range(1000))


def test_a_follower_that_falls_behind_is_told(log: Path) -> None:
    follower = LogFollower(log)
    capture = Capture(log, head=100, tail=100)
    seen = []
    for index, chunk in enumerate(chunks_of_numbers()):
        capture.write(STDOUT, chunk)
        if index % 30 == 0:
            seen += follower.fresh().splitlines()
    capture.close()
    seen += follower.fresh().splitlines()
    assert any(b"left out" in line for line in seen)
    numbers = [int(line) for line in seen if b"left out" not in line]
    assert all(one < two for one, two in pairwise(numbers))
    assert (numbers[0], numbers[-1]) == (0, 999)


@pytest.mark.parametrize(
    ("stderr", "last"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"a\nb\n\n", "b"),
        (b"Traceback:\n  x\nValueError: \x1b[31mno\x1b[0m\n", "ValueError: no"),
        (b"y" * 9000 + b"\n", "y" * 199 + "…"),
    ],
)
def test_the_last_words_are_the_last_line_that_says_something(log: Path, stderr: bytes, last: str) -> None:
    capture = Capture(log)
    capture.write(STDERR, stderr)
    capture.write(STDOUT, b"not me\n")
    capture.close()
    assert capture.last_words() == last


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_loses_lines_and_nothing_else(log: Path) -> None:
    log.symlink_to("/dev/full")
    capture = Capture(log)
    capture.write(STDERR, b"lost\n")
    capture.write(STDERR, b"lost too\n")
    capture.close()
    assert capture.last_words() == "lost too"


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_log_that_cannot_be_cut_stops_growing(log: Path) -> None:
    capture = Capture(log, head=100, tail=100)
    log.parent.chmod(0o500)
    for chunk in chunks_of_numbers():
        capture.write(STDOUT, chunk)
    log.parent.chmod(0o700)
    capture.close()
    assert log.stat().st_size < 500


def test_a_log_whose_directory_vanished_stops_growing(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    capture = Capture(tmp_path / "logs" / "run", head=100, tail=100)
    (tmp_path / "logs").rename(tmp_path / "moved")
    for chunk in chunks_of_numbers():
        capture.write(STDOUT, chunk)
    capture.close()
    assert (tmp_path / "moved" / "run").stat().st_size < 500
