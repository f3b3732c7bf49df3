"""Short functions, short files: the tail is what makes code hard to read, not the middle."""

from __future__ import annotations

import ast
from pathlib import Path
from statistics import median, quantiles

import pytest

from tests.shape.tree import SRC, TESTS, body_lines, definitions, expect_none, modules, name_of

FILE_LINES = 250
TEST_FILE_LINES = 400
FORBIDDEN_NAMES = {"util", "utils", "helper", "helpers", "manager", "managers", "service", "services"}


def bodies() -> dict[str, int]:
    """Lines of each function body in src, by place."""
    found = [item for path in modules(SRC) for item in definitions(path)]
    return {item.place: body_lines(item.node) for item in found if not isinstance(item.node, ast.ClassDef)}


def test_half_of_all_functions_have_at_most_seven_lines() -> None:
    assert median(bodies().values()) <= 7


def test_nine_functions_of_ten_have_at_most_22_lines() -> None:
    assert quantiles(bodies().values(), n=10)[-1] <= 22


def test_no_function_is_longer_than_40_lines() -> None:
    expect_none(f"{place}: {lines}" for place, lines in bodies().items() if lines > 40)


@pytest.mark.parametrize(("top", "most"), [(SRC, FILE_LINES), (TESTS, TEST_FILE_LINES)], ids=["src", "tests"])
def test_files_are_short(top: Path, most: int) -> None:
    lengths = {name_of(path): path.read_text("utf-8").count("\n") for path in modules(top)}
    expect_none(f"{name}: {lines}" for name, lines in lengths.items() if lines > most)


def test_modules_are_named_after_what_they_hold() -> None:
    named = [path for path in modules(SRC, TESTS) if FORBIDDEN_NAMES & {path.stem, path.parent.name}]
    expect_none(map(name_of, named))
