"""What goes to the terminal: data on stdout, talk on stderr, as JSON or as plain tables.

The one boundary that untrusted text passes: whatever is printed here cannot move the cursor, change
colours or turn the direction of writing. Colour only on a terminal that wants it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TextIO

import typer

from tocsin.cli import exits
from tocsin.trigger import Json

GAP: Final = "  "
NARROWEST: Final = 8  # characters: below this a shortened cell tells nothing
WHOLE: Final = frozenset({"ID", "RUN", "EVENT", "TRIGGER", "NAME"})  # columns that are copied from

# C0 but tab and newline, DEL, C1, and what turns the direction of writing (U+202A-202E, U+2066-2069)
UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
UNSAFE_IN_JSON: Final = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

GREEN, RED, YELLOW = "32", "31", "33"
COLOURS: Final[Mapping[str, str]] = {
    "active": GREEN,
    "succeeded": GREEN,
    "error": RED,
    "failed": RED,
    "lost": RED,
    "dropped": RED,
    "disabled": YELLOW,
    "expired": YELLOW,
    "cancelled": YELLOW,
    "skipped": YELLOW,
}


def clean(text: str) -> str:
    """The text with every unsafe character spelled out (`\\x1b`, `\\u202e`)."""
    return UNSAFE.sub(lambda found: spelled(found[0]), text)


def spelled(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def write(text: str) -> None:
    """Data: text as it is, to stdout, at once. Ends the command quietly when nobody reads any more."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
        raise typer.Exit(exits.PIPE_CLOSED) from None


def write_bytes(data: bytes) -> None:
    """Data of somebody else's making, into a file or pipe, exactly."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
        raise typer.Exit(exits.PIPE_CLOSED) from None


def silence(stream: TextIO) -> None:
    """Let what is still buffered go nowhere, so that Python does not complain at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def line(text: str) -> None:
    """One line of data."""
    write(clean(text) + "\n")


def say(text: str) -> None:
    """Talk: to stderr."""
    try:
        sys.stderr.write(clean(text) + "\n")
        sys.stderr.flush()
    except BrokenPipeError:
        silence(sys.stderr)


def document(value: Json) -> None:
    """One JSON document."""
    write(json_text(value, indent=2) + "\n")


def json_line(value: Json) -> None:
    """One JSON document of a stream, on one line."""
    write(json_text(value, indent=None) + "\n")


def json_text(value: Json, *, indent: int | None) -> str:
    """JSON fit for a terminal too: unsafe characters are escaped, which changes no value."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)
    return UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Aligned columns under their headers. Only on a terminal are cells shortened to fit."""
    cells = [list(headers), *([one_line(cell) for cell in row] for row in rows)]
    widths = [max(width(row[index]) for row in cells) for index in range(len(headers))]
    if sys.stdout.isatty():
        widths = fitted(headers, widths, shutil.get_terminal_size().columns)
    colour = wants_colour(sys.stdout)
    write("".join(laid_out(row, widths, colour=colour) + "\n" for row in cells))


def facts(pairs: Iterable[tuple[str, str | None]]) -> None:
    """`name  value` lines; names without a value are left out."""
    shown = [(name, value) for name, value in pairs if value is not None]
    longest = max((len(name) for name, _ in shown), default=0)
    colour = wants_colour(sys.stdout)
    for name, value in shown:
        write(f"{name:<{longest}}{GAP}{painted(clean(value), colour=colour)}\n")


def one_line(text: str) -> str:
    """A cell: clean, without line breaks and tabs."""
    return clean(" ".join(text.split("\n")).replace("\t", " "))


def width(text: str) -> int:
    """Columns that a terminal gives the text: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def fitted(headers: Sequence[str], widths: Sequence[int], room: int) -> list[int]:
    """Narrower widths that fit, taken from the widest columns; ids and names stay whole."""
    kept = list(widths)
    free = [index for index, header in enumerate(headers) if header not in WHOLE]
    while sum(kept) + len(GAP) * (len(kept) - 1) > room:
        widest = max(free, key=lambda index: kept[index], default=None)
        if widest is None or kept[widest] <= NARROWEST:
            break
        kept[widest] -= 1
    return kept


def laid_out(row: Sequence[str], widths: Sequence[int], *, colour: bool) -> str:
    cells = [shortened(cell, room) for cell, room in zip(row, widths, strict=True)]
    padding = [" " * (room - width(cell)) for cell, room in zip(cells, widths, strict=True)]
    painted_cells = [painted(cell, colour=colour) for cell in cells]
    return GAP.join(cell + pad for cell, pad in zip(painted_cells, padding, strict=True)).rstrip()


def shortened(text: str, room: int) -> str:
    if width(text) <= room:
        return text
    while width(text) > room - 1:
        text = text[:-1]
    return text + "…"


def painted(text: str, *, colour: bool) -> str:
    """A word of state in its colour; anything else as it is."""
    code = COLOURS.get(text) if colour else None
    return text if code is None else f"\x1b[{code}m{text}\x1b[0m"


def wants_colour(stream: TextIO) -> bool:
    """A terminal, and nobody said no (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
