"""The scanner against tomllib: the same paths, and each on the line it was written on."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.config.positions import KeyPath, locate, nearest_line

NASTY = Path(__file__).with_name("nasty.toml")


def paths(value: object, prefix: KeyPath = ()) -> Iterator[KeyPath]:
    """Every path into `value`, tables and arrays included, the top excluded."""
    if prefix:
        yield prefix
    if isinstance(value, dict):
        for key, below in value.items():
            yield from paths(below, (*prefix, key))
    if isinstance(value, list):
        for index, below in enumerate(value):
            yield from paths(below, (*prefix, index))


def test_a_nasty_sample_yields_exactly_the_paths_that_tomllib_sees() -> None:
    text = NASTY.read_text(encoding="utf-8")
    assert set(locate(text)) == set(paths(tomllib.loads(text)))


def test_lines_are_those_of_the_file() -> None:
    text = 'a = """\n\n"""\n[t] # x\nb = [\n 1,\n # no\n 2]\n[[l]]\n[[l]]\nc = 1\n'
    assert locate(text) == {
        ("a",): 1,
        ("t",): 4,
        ("t", "b"): 5,
        ("t", "b", 0): 6,
        ("t", "b", 1): 8,
        ("l",): 9,
        ("l", 0): 9,
        ("l", 1): 10,
        ("l", 1, "c"): 11,
    }


def test_a_header_outranks_the_header_of_something_inside_it() -> None:
    assert locate("[a.b]\n[a]\n")[("a",)] == 2


def test_carriage_returns_do_not_count() -> None:
    assert locate("a = 1\r\nb = 2\r\n") == {("a",): 1, ("b",): 2}


def test_what_has_no_line_is_placed_at_what_surrounds_it() -> None:
    lines = locate("[t]\nb = 1\n")
    assert nearest_line(lines, ("t", "missing", 3)) == 1
    assert nearest_line(lines, ("elsewhere",)) is None


SCALARS = (
    "1",
    "-0.5e3",
    "true",
    "2026-01-01T00:00:00Z",
    "2026-01-01 07:00:00",
    '"a ] } , # = b"',
    "'c:\\'",
    '"\\"\\\\"',
    '"""a"""""',
    "'''\n[[x]]\n'''",
    '"""\n[x]\ny = 1 # \\"""\n"""',
    "''''x'''''",
)


class Writer:
    """Writes random TOML whose every leaf key occurs once in the text."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.keys = 0
        self.out: list[str] = []

    def key(self) -> str:
        self.keys += 1
        style = self.draw(st.sampled_from(("k{}z", '"k{}z"', "'k{}z'", '"k{}z .\\u0041"', "'k{}z ]='")))
        return style.format(self.keys)

    def blank(self, *, lines: bool) -> str:
        choices = ("", " ", "\t", *(("\n", " # ] } = \n", "\n\n") if lines else ()))
        found: str = self.draw(st.sampled_from(choices))
        return found

    def value(self, depth: int) -> str:
        kind = self.draw(st.sampled_from(("scalar", "scalar", "array", "inline"))) if depth else "scalar"
        if kind == "array":
            return self.array(depth - 1)
        return self.inline(depth - 1) if kind == "inline" else self.draw(st.sampled_from(SCALARS))

    def array(self, depth: int) -> str:
        gap = self.blank
        members = [
            gap(lines=True) + self.value(depth) + gap(lines=True) for _ in range(self.draw(st.integers(0, 3)))
        ]
        trailing: bool = self.draw(st.booleans())
        comma = "," if members and trailing else ""
        return "[" + ",".join(members) + comma + gap(lines=True) + "]"

    def inline(self, depth: int) -> str:
        members = [self.pair(depth) for _ in range(self.draw(st.integers(0, 3)))]
        return "{" + ",".join(self.blank(lines=False) + member for member in members) + " }"

    def pair(self, depth: int) -> str:
        gap = self.blank
        names = [self.key() for _ in range(self.draw(st.integers(1, 3)))]
        key = (gap(lines=False) + "." + gap(lines=False)).join(names)
        return f"{key}{gap(lines=False)}={gap(lines=False)}{self.value(depth)}"

    def body(self) -> None:
        for _ in range(self.draw(st.integers(0, 3))):
            self.out.append(self.blank(lines=True) + self.pair(3) + self.blank(lines=False) + "\n")

    def table(self, name: str, depth: int) -> None:
        """`[name]` or several `[[name]]`, perhaps never opened itself, with tables below."""
        if depth and self.draw(st.booleans()):
            self.table(f"{name} . {self.key()}", depth - 1)
            return
        array = self.draw(st.booleans())
        for _ in range(self.draw(st.integers(1, 3)) if array else 1):
            self.out.append(f"[[{name}]] # [x]\n" if array else f"  [ {name} ]\n")
            self.body()
            if depth:
                self.table(f"{name}.{self.key()}", depth - 1)

    def document(self) -> str:
        self.body()
        for _ in range(self.draw(st.integers(0, 3))):
            self.table(self.key(), 2)
        text = "".join(self.out)
        return text.replace("\n", "\r\n") if self.draw(st.booleans()) else text


@st.composite
def documents(draw: st.DrawFn) -> str:
    return Writer(draw).document()


@settings(deadline=None)  # a busy machine is no fault
@given(documents())
def test_scanner_and_tomllib_agree_on_every_path_and_line(text: str) -> None:
    lines = locate(text)
    assert set(lines) == set(paths(tomllib.loads(text)))
    for path, line in lines.items():
        if isinstance(path[-1], str) and text.count(path[-1].split("z")[0] + "z") == 1:
            assert path[-1].split("z")[0] + "z" in text.split("\n")[line - 1]
