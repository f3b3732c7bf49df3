"""The log of a run: how stdout and stderr share one file, and how it is read back.

Every record is one line: the stream (`o` stdout, `e` stderr), then a blank if the stream's line ends
here or `+` if it goes on in that stream's next record, then the bytes. When more was written than
the file may hold, its middle is one record `t BYTES RECORDED`: the output left out, and the length
of the records that held it. ``capture`` writes it; the faces read it here, without asyncio or psutil.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

STDOUT: Final = b"o"
STDERR: Final = b"e"
GAP: Final = b"t"
ENDS: Final = b" "
GOES_ON: Final = b"+"


class Piece(NamedTuple):
    """Some output of one stream, with its newline if it has one; or the text that stands for a gap."""

    stream: bytes
    text: bytes


def read_log(path: Path, *, stderr_only: bool = False, tail: int | None = None) -> Iterator[bytes]:
    """The log's lines as they were written, newlines included; the last of a stream may have none.

    In the order in which the lines ended. tail: only so many of the last lines. A gap is a line of
    its own, whatever the stream. Raises FileNotFoundError.
    """
    return _last(_lines(_pieces(_whole(path.read_bytes())), stderr_only=stderr_only), tail)


class LogFollower:
    """Reads a log while it is being written; misses nothing but what the file's cap leaves out."""

    def __init__(self, path: Path, *, stderr_only: bool = False, tail: int | None = None) -> None:
        """tail: of what is there at first, only so many lines."""
        self._path = path
        self._stderr_only = stderr_only
        self._tail = tail
        self._seen: tuple[int, ...] | None = None
        self._position = 0  # in the records that were ever written, those left out included

    def fresh(self) -> bytes:
        """The output since the last call, at first from the beginning; empty while there is no file."""
        first, records = self._seen is None, self._unread()
        if first and self._tail is not None:
            return b"".join(_last(_lines(_pieces(records), stderr_only=self._stderr_only), self._tail))
        return b"".join(p.text for p in _pieces(records) if p.stream != STDOUT or not self._stderr_only)

    def _unread(self) -> bytes:
        """The records that were not seen yet."""
        try:
            facts = self._path.stat()
            data = (
                b""
                if self._unchanged(facts.st_ino, facts.st_size, facts.st_mtime_ns)
                else _whole(self._path.read_bytes())
            )
        except FileNotFoundError:
            return b""
        return self._after_position(data) if data else b""

    def _unchanged(self, *facts: int) -> bool:
        """A file only grows, or gives way to another one."""
        before, self._seen = self._seen, facts
        return before == facts

    def _after_position(self, data: bytes) -> bytes:
        """What of the file lies behind the position, which moves to its end."""
        head, gap, tail = _split(data)
        resumed = len(head) + (int(gap.split()[2]) if gap else 0)
        at, self._position = self._position, resumed + len(tail)
        return head[at:] + (gap if at < resumed else b"") + tail[max(at - resumed, 0) :]


def _whole(data: bytes) -> bytes:
    """Without a last record that is still being written."""
    return data[: data.rfind(b"\n") + 1]


def _split(data: bytes) -> tuple[bytes, bytes, bytes]:
    """The records before the gap, the gap's record and those after it; without a gap all stand before."""
    mark = GAP + ENDS
    start = 0 if data.startswith(mark) else data.find(b"\n" + mark) + 1
    if not data.startswith(mark, start):
        return data, b"", b""
    end = data.index(b"\n", start) + 1
    return data[:start], data[start:end], data[end:]


def _pieces(records: bytes) -> Iterator[Piece]:
    for record in records.split(b"\n")[:-1]:
        stream, more, text = record[:1], record[1:2], record[2:]
        if stream == GAP:
            yield Piece(GAP, b"[tocsin: %s bytes left out]\n" % text.split()[0])
        else:
            yield Piece(stream, text if more == GOES_ON else text + b"\n")


def _lines(pieces: Iterable[Piece], *, stderr_only: bool) -> Iterator[bytes]:
    """Whole lines; what one stream writes never stands inside a line of the other."""
    begun: dict[bytes, list[bytes]] = {}
    for stream, text in pieces:
        if stream == GAP:
            yield from (b"".join(parts) + b"\n" for parts in begun.values())
            begun.clear()
        elif stderr_only and stream != STDERR:
            continue
        begun.setdefault(stream, []).append(text)
        if text.endswith(b"\n"):
            yield b"".join(begun.pop(stream))
    yield from (b"".join(parts) for parts in begun.values())


def _last(lines: Iterator[bytes], count: int | None) -> Iterator[bytes]:
    return lines if count is None else iter(deque(lines, maxlen=count))
