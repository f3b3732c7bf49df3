"""SQL, broad `except` and waiting stand only where they may; docstrings stand everywhere."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.shape.tree import (
    SRC,
    TESTS,
    definitions,
    expect_none,
    modules,
    name_of,
    syntax,
    taken,
    used_elsewhere,
)

STATEMENT = re.compile(
    r"""\s*( select\b.+\bfrom\b | insert\s+(or\s+\w+\s+)?into\b | update\s+\w+\s+set\b | delete\s+from\b
           | (create|drop|alter)\s+(unique\s+|temp\s+)?(table|index|trigger|view)\b | with\s+\w+\s+as\s*\(
           | (?P<connection> pragma\s+\w | begin\b(\s+(immediate|deferred|exclusive))?$ | commit$
             | rollback(\s+to\b.*)?$ | savepoint\s+\S+$ | release\s+\S+$ | vacuum\b ) )""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
OPENING_A_DATABASE = {"src/tocsin/store/connection.py", "src/tocsin/store/migrate.py"}

BROAD = {"Exception", "BaseException"}
MAY_CATCH_ALL = {
    "src/tocsin/engine/attempt.py",  # a runner's own fault fails its run
    "src/tocsin/engine/lifecycle.py",  # a source's fault stops only that source
    "src/tocsin/cli/main.py",  # the last line of defence words it and exits 1
    "src/tocsin/store/connection.py",  # handed over to the caller whose step it was
}

SLEEPS = {("time", "sleep"), ("asyncio", "sleep"), ("anyio", "sleep")}


def docstrings(tree: ast.Module) -> set[int]:
    """Ids of the constants that are docstrings."""
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    firsts = [node.body[0] for node in ast.walk(tree) if isinstance(node, holders) and node.body]
    return {id(first.value) for first in firsts if isinstance(first, ast.Expr)}


def sql(path: Path) -> Iterator[str]:
    """Places of string literals that are SQL statements, but for what opens and commits."""
    tree = syntax(path)
    texts = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            found = STATEMENT.match(node.value)
            if found and not (found["connection"] and name_of(path) in OPENING_A_DATABASE):
                yield f"{name_of(path)}:{node.lineno}"


def broad_excepts(path: Path) -> Iterator[int]:
    """Lines of bare `except`, `except Exception` and `except BaseException`, alone or in a tuple.

    One that ends in a bare `raise` only tidies up and hides nothing.
    """
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.ExceptHandler) and not raises_again(node):
            caught = [] if node.type is None else list(ast.walk(node.type))
            if node.type is None or any(isinstance(name, ast.Name) and name.id in BROAD for name in caught):
                yield node.lineno


def raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether the exception goes on to the caller."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def sleeps(path: Path) -> Iterator[str]:
    """Places where something waits for time to pass; `asyncio.sleep(0)` is a turn of the loop, no wait."""
    tree = syntax(path)
    turns = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call) and is_zero(node.args)}
    for node in ast.walk(tree):
        if SLEEPS & set(taken(node)) and id(node) not in turns:
            yield f"{name_of(path)}:{getattr(node, 'lineno', 0)}"


def is_zero(arguments: list[ast.expr]) -> bool:
    """Whether a call's only argument is the literal 0."""
    return [getattr(argument, "value", None) for argument in arguments] == [0]


def test_sql_stands_only_in_the_stores_sql_files() -> None:
    expect_none(place for path in modules(SRC) for place in sql(path))


def test_sql_files_stand_only_in_the_store() -> None:
    expect_none(name_of(path) for path in SRC.rglob("*.sql") if SRC / "store" not in path.parents)


def test_broad_except_stands_only_in_the_named_places_and_once() -> None:
    found = Counter(name_of(path) for path in modules(SRC) for _ in broad_excepts(path))
    expect_none(name for name, count in found.items() if count > 1 or name not in MAY_CATCH_ALL)


def test_tests_wait_for_what_happens_not_for_time_to_pass() -> None:
    expect_none(place for path in modules(TESTS) for place in sleeps(path))


def test_every_module_says_what_it_holds() -> None:
    without = [path for path in modules(SRC) if syntax(path).body and ast.get_docstring(syntax(path)) is None]
    expect_none(name_of(path) for path in without)


def test_what_other_modules_use_has_a_docstring() -> None:
    paths = modules(SRC)
    used = used_elsewhere(paths)
    public = [item for path in paths for item in definitions(path) if item.is_public]
    shared = [item for item in public if (item.module, item.top) in used]
    expect_none(item.place for item in shared if ast.get_docstring(item.node) is None)
