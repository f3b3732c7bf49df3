"""`costs`, and the budget in `show`."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from tests.cli.calling import Home
from tests.store.raw import beside
from tocsin.cli import exits

CONFIG = """
[workflows.cheap]
command = ["sh", "-c", 'echo "{\\"cost_usd\\": 0.1}" >> "$TOCSIN_OUTPUT"']
[workflows.dear]
command = ["sh", "-c", 'echo "{\\"cost_usd\\": 1.000000001}" >> "$TOCSIN_OUTPUT"; exit 1']

[triggers.a]
workflow = "cheap"
manual = true
tags = ["acme", "night"]
[triggers.b]
workflow = "dear"
manual = true
tags = ["acme"]
max_attempts = 1
max_usd = 5
budget_period = "week"
max_runs_per_hour = 10
[triggers.c]
workflow = "cheap"
manual = true
"""


@pytest.fixture
def spent(bare: Home) -> Home:
    """Two runs of a, one of b (which fails), one of c."""
    bare.path.mkdir(mode=0o700)
    bare.config.write_text(CONFIG)
    for name in ("a", "a", "c"):
        bare.ok("fire", name)
    assert bare("fire", "b").code == exits.FAILED
    return bare


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], [("b", "1.000000001", 1), ("a", "0.2", 2), ("c", "0.1", 1)]),
        (["--by", "tag"], [("acme", "1.200000001", 3), ("night", "0.2", 2), (None, "0.1", 1)]),
        (["--by", "workflow"], [("dear", "1.000000001", 1), ("cheap", "0.3", 3)]),
        (["--since", "1h"], [("b", "1.000000001", 1), ("a", "0.2", 2), ("c", "0.1", 1)]),
    ],
)
def test_sums_are_exact_and_the_highest_first(
    spent: Home, arguments: list[str], expected: list[tuple[str | None, str, int]]
) -> None:
    found = json.loads(spent.ok("costs", *arguments, "--json").out, parse_float=Decimal)
    assert found == [{"key": key, "usd": Decimal(usd), "runs": runs} for key, usd, runs in expected]


def test_since_leaves_out_what_is_older(spent: Home) -> None:
    with beside(spent.path / "tocsin.db") as connection:
        connection.execute("UPDATE costs SET at = at - 7200000000 WHERE workflow = 'cheap'")
    assert [row["key"] for row in spent.ok("costs", "--since", "1h", "--json").json] == ["b"]
    assert spent("costs", "--since", "soon").code == exits.USAGE


def test_large_sums_keep_their_nanos(spent: Home) -> None:
    with beside(spent.path / "tocsin.db") as connection:
        connection.execute("UPDATE costs SET usd_nanos = 123456789123456789 WHERE workflow = 'dear'")
    assert '"usd": 123456789.123456789,' in spent.ok("costs", "--json").out


def test_a_removed_trigger_counts_under_its_name_and_with_its_successor(spent: Home) -> None:
    spent.ok("rm", "c", "--yes")
    assert [row["key"] for row in spent.ok("costs", "--json").json] == ["b", "a", "c"]
    spent.ok("add", "c", "--workflow", "cheap")
    spent.ok("fire", "c")
    assert spent.ok("costs", "--json").json[-1] == {"key": "c", "usd": 0.2, "runs": 2}


def test_people_get_a_table_with_money_flush_right(spent: Home) -> None:
    assert spent.ok("costs", "--by", "tag").out.splitlines() == [
        "        COST  RUNS  TAG",
        "$1.200000001     3  acme",
        "       $0.20     2  night",
        "       $0.10     1  (no tag)",
    ]


def test_where_nothing_was_spent_it_says_so(bare: Home, home: Home) -> None:
    assert (bare.ok("costs", "--json").out, home.ok("costs", "--json").out) == ("[]\n", "[]\n")
    assert "no run has reported a cost yet" in home.ok("costs").err


def test_an_unknown_word_is_a_wrong_usage(home: Home) -> None:
    result = home("costs", "--by", "tags")
    assert (result.code, "did you mean 'tag'" in result.err) == (exits.USAGE, True)


def test_tests_of_a_trigger_cost_nothing(spent: Home) -> None:
    before = spent.ok("costs", "--json").out
    spent.ok("test", "a")
    assert spent.ok("costs", "--json").out == before


def test_show_tells_how_far_a_budget_is_used_up(spent: Home) -> None:
    shown = spent.ok("show", "b").out
    assert "$1.000000001 of $5.00 this week" in shown
    assert "next period" in shown
    assert "10 runs an hour" in shown
    assert spent.ok("show", "b", "--json").json["max_usd"] == 5
    assert "spent" not in spent.ok("show", "a").out
    assert spent.ok("show", "a", "--json").json["max_usd"] is None


def test_a_budget_that_is_used_up_switches_off_and_enable_begins_afresh(spent: Home) -> None:
    for _ in range(4):
        spent("fire", "b")
    row = spent.ok("show", "b", "--json").json
    assert (row["status"], row["disabled_reason"]) == ("disabled", "budget")
    refused = spent("fire", "b")
    assert (refused.code, "its budget is used up" in refused.err) == (exits.REFUSED, True)
    spent.ok("enable", "b")
    assert "$0.00 of $5.00 this week" in spent.ok("show", "b").out
    assert spent("fire", "b").code == exits.FAILED
