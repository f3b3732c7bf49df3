"""Keeps a run's output: the first and the last of it, as it comes, in bounded memory and a bounded file.

Used by ``command``; ``logfile`` says how the file is laid out and reads it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from tocsin.engine.runners.logfile import ENDS, GAP, GOES_ON, STDERR, STDOUT
from tocsin.engine.runners.wording import one_line

HEAD: Final = 512 * 1024  # bytes of records: how it began …
TAIL: Final = 512 * 1024  # … and how it ended are what people look for
_LAST_WORDS: Final = 4096  # bytes of stderr in which its last line is looked for


class Capture:
    """One run's log file, 0600. A disk that is full loses log lines, never the run."""

    def __init__(self, path: Path, *, head: int = HEAD, tail: int = TAIL) -> None:
        """Create the file, or empty it. Raises OSError."""
        self._path = path
        self._head = head
        self._tail = tail
        self._begun = {STDOUT: b"", STDERR: b""}
        self._stderr = b""
        self._size = 0
        self._tail_at = 0  # where the part after the gap begins; 0 while there is no gap
        self._gap_at = 0
        self._left_out = (0, 0)
        self._usable = True
        self._file = _create(path)

    def write(self, stream: bytes, data: bytes) -> None:
        """Keep some output of a stream; readers of the file see it at once."""
        if stream == STDERR:
            self._stderr = (self._stderr + data)[-_LAST_WORDS:]
        data = self._begun[stream] + data
        kept = len(data) - _unfinished(data)
        self._begun[stream] = data[kept:]
        self._append(_records(stream, data[:kept]))

    def last_words(self) -> str:
        """The last line on stderr that is not blank, fit to be shown; empty when there is none."""
        return next(filter(None, map(one_line, reversed(self._stderr.split(b"\n")))), "")

    def close(self) -> None:
        """Write what was held back, cut the file to its cap. Nothing can be written afterwards."""
        for stream, rest in self._begun.items():
            self._append(_records(stream, rest))
        if self._behind() > self._tail:
            self._attempt_cut()
        os.close(self._file)

    def _append(self, records: bytes) -> None:
        """Add records to the file; from the first failure on, none."""
        if not (self._usable and records):
            return
        try:
            _write_all(self._file, records)
        except OSError:
            self._give_up()
            return
        self._size += len(records)
        if self._behind() > 2 * self._tail:
            self._attempt_cut()

    def _behind(self) -> int:
        """Bytes of records behind the head."""
        return self._size - (self._tail_at or self._head)

    def _give_up(self) -> None:
        """Leave the file as it was after the last whole write."""
        self._usable = False
        with suppress(OSError):
            os.ftruncate(self._file, self._size)

    def _attempt_cut(self) -> None:
        with suppress(OSError):
            self._cut()
            return
        self._usable = False

    def _cut(self) -> None:
        """Put a file without the middle in this one's place: whoever reads sees the one or the other."""
        data = os.pread(self._file, self._size, 0)
        if not self._tail_at:
            self._gap_at = self._tail_at = data.rfind(b"\n", 0, self._head) + 1
        behind = data[self._tail_at :]
        kept_from = behind.index(b"\n", len(behind) - self._tail - 1) + 1
        self._left_out = _added(self._left_out, behind[:kept_from])
        gap = b"%s%s%d %d\n" % (GAP, ENDS, *self._left_out)
        self._replace(data[: self._gap_at] + gap, behind[kept_from:])

    def _replace(self, until_gap: bytes, after_gap: bytes) -> None:
        aside = self._path.with_name(self._path.name + ".cut")
        file = _create(aside)
        try:
            _write_all(file, until_gap + after_gap)
            aside.replace(self._path)
        except OSError:
            os.close(file)
            aside.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file, self._size, self._tail_at = file, len(until_gap) + len(after_gap), len(until_gap)


def _create(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _write_all(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _records(stream: bytes, data: bytes) -> bytes:
    """The output as records."""
    lines, newline, rest = data.rpartition(b"\n")
    mark = stream + ENDS
    records = mark + lines.replace(b"\n", b"\n" + mark) + b"\n" if newline else b""
    return records + stream + GOES_ON + rest + b"\n" if rest else records


def _added(left_out: tuple[int, int], records: bytes) -> tuple[int, int]:
    """The bytes of output, and of records, that are left out when these are too."""
    begun = sum(
        records.startswith(s + GOES_ON) + records.count(b"\n" + s + GOES_ON) for s in (STDOUT, STDERR)
    )
    text = len(records) - 2 * records.count(b"\n") - begun
    return left_out[0] + text, left_out[1] + len(records)


def _unfinished(data: bytes) -> int:
    """How many bytes at the end begin a UTF-8 character that the rest has yet to complete."""
    for back in range(1, min(len(data), 3) + 1):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            needed = (
                2 if byte >> 5 == 0b110 else 3 if byte >> 4 == 0b1110 else 4 if byte >> 3 == 0b11110 else 1
            )
            return back if needed > back else 0
    return 0
