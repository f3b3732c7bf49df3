"""The repository as the shape tests read it: its files, their syntax trees, the functions in them."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parents[2]
SRC: Final = ROOT / "src" / "tocsin"
TESTS: Final = ROOT / "tests"

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Documented: TypeAlias = Function | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function or class. place: `FILE:LINE NAME`. outer: the names it stands in, outermost first."""

    node: Documented
    path: Path
    outer: tuple[str, ...]
    in_function: bool

    @property
    def place(self) -> str:
        """Where it stands, for a message."""
        return f"{name_of(self.path)}:{self.node.lineno} {'.'.join((*self.outer, self.node.name))}"

    @property
    def module(self) -> str:
        """The last name of its module, as others import it."""
        return self.path.parent.name if self.path.stem == "__init__" else self.path.stem

    @property
    def top(self) -> str:
        """The name at the top of the module that it belongs to."""
        return (*self.outer, self.node.name)[0]

    @property
    def is_public(self) -> bool:
        """Whether a reader of the module is meant to use it."""
        names = (*self.outer, self.node.name)
        return not self.in_function and not any(name.startswith("_") for name in names)


def expect_none(found: Iterable[str]) -> None:
    """Fail with every line of what was found, if anything was."""
    lines = list(found)
    assert not lines, "\n" + "\n".join(lines)


def name_of(path: Path) -> str:
    """A path as a message shows it, from the top of the repository."""
    return path.relative_to(ROOT).as_posix()


def modules(*tops: Path) -> list[Path]:
    """Every Python file below these folders, in order."""
    return sorted(path for top in tops for path in top.rglob("*.py"))


@cache
def syntax(path: Path) -> ast.Module:
    """A file's tree."""
    return ast.parse(path.read_text("utf-8"), filename=str(path))


def definitions(path: Path) -> Iterator[Definition]:
    """Every function and class of a file, those inside others too, outer ones first."""
    yield from _within(syntax(path), path, (), in_function=False)


def _within(node: ast.AST, path: Path, outer: tuple[str, ...], *, in_function: bool) -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield Definition(node=child, path=path, outer=outer, in_function=in_function)
            inside = in_function or not isinstance(child, ast.ClassDef)
            yield from _within(child, path, (*outer, child.name), in_function=inside)
        else:
            yield from _within(child, path, outer, in_function=in_function)


def body_lines(function: Function) -> int:
    """Lines of a function's body, its docstring not counted."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not statements:
        return 0
    last = statements[-1].end_lineno or statements[-1].lineno
    return last - statements[0].lineno + 1


@cache
def tracked() -> tuple[Path, ...]:
    """The files that a commit would hold: in git's index, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    names = sorted({name.decode() for name in listed.split(b"\0") if name})
    return tuple(path for path in (ROOT / name for name in names) if path.is_file())


def used_elsewhere(paths: list[Path]) -> set[tuple[str, str]]:
    """(module's last name, what another module takes from it), for each such use."""
    return {use for path in paths for node in ast.walk(syntax(path)) for use in taken(node)}


def taken(node: ast.AST) -> Iterator[tuple[str, str]]:
    """(module's last name, name) of what an import or an attribute takes from a module."""
    if isinstance(node, ast.ImportFrom) and node.module:
        yield from ((node.module.rpartition(".")[2], alias.name) for alias in node.names)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node.value.id, node.attr
