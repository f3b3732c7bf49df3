"""`state get|set`: what a trigger hands from one run to the next, in a person's hands."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.cli.calling import Home


def put(home: Home, text: str, name: str = "hello") -> int:
    return home("state", "set", name, stdin=text.encode()).code


def test_there_is_none_at_first_and_what_is_set_is_got(home: Home) -> None:
    assert home.ok("state", "get", "hello").out == "null\n"
    done = home(
        "state", "set", "hello", stdin=b'{\n  "v": 1, "c": "\xc3\xa9", "n": 12345678901234567890.5\n}'
    )
    assert (done.code, done.err) == (0, "")
    assert done.json == home.ok("state", "get", "hello", "--json").json
    assert home.ok("state", "get", "hello").json["c"] == "é"
    assert home.ok("show", "hello", "--json").json["state"] == done.json


@pytest.mark.parametrize("text", ["null", '"text"', "[1, 2]", "0", "false", '\ufeff{"v": 1}'])
def test_any_json_is_a_state(home: Home, text: str) -> None:
    assert put(home, "1") == put(home, text) == 0
    assert (home.ok("state", "get", "hello").out == "null\n") == (text == "null")


@pytest.mark.parametrize(
    ("stdin", "code", "said"),
    [
        (b"", 2, "tocsin: state is not JSON: Expecting value at column 1"),
        (b"{'v': 1}", 2, "tocsin: state is not JSON: "),
        (b"[1,\n2", 2, "at line 2 column 2"),
        (b"NaN", 2, "tocsin: state holds NaN, which is not JSON"),
        (b"\xff", 2, "tocsin: state is not UTF-8"),
        (b'"\\ud800"', 2, "tocsin: state holds text that is not Unicode"),
        (b"[" * 300 + b"]" * 300, 2, "tocsin: state is nested too deeply"),
        (b'"' + b"x" * 65_535 + b'"', 6, "tocsin: state is 65537 bytes, over the cap of 64 KiB"),
    ],
)
def test_what_no_run_could_hand_on_is_refused_and_the_old_state_stays(
    home: Home, stdin: bytes, code: int, said: str
) -> None:
    put(home, "1")
    done = home("state", "set", "hello", stdin=stdin)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert home.ok("state", "get", "hello").out == "1\n"


def test_the_cap_counts_the_json_without_blanks(home: Home) -> None:
    assert put(home, " " * 100_000 + '"' + "x" * 65_534 + '"') == 0


def test_an_unknown_trigger_names_the_nearest(home: Home) -> None:
    for result in (home("state", "get", "helo"), home("state", "set", "helo", stdin=b"1")):
        assert result.code == 3
        assert "did you mean hello" in result.err


def test_without_a_verb_it_shows_help(bare: Home) -> None:
    result = bare("state")
    assert result.code == 2
    assert "get" in result.out + result.err


def test_through_the_engine_with_a_journal_row_and_a_word_about_a_run_under_way(engine: Home) -> None:
    assert put(engine, '{"v": 1}') == 0
    engine.ok("fire", "slow", "--no-wait")
    done = engine("state", "set", "slow", stdin=b'{"v": 2}')
    assert done.code == 0
    assert "a run of slow has not ended yet" in done.err
    assert put(engine, "null") == 0
    with closing(sqlite3.connect(engine.path / "tocsin.db")) as connection:
        rows = connection.execute("SELECT what, reason FROM journal WHERE what LIKE 'state %' ORDER BY seq")
        assert rows.fetchall() == [(f"state {what}", "by hand") for what in ("set", "set", "cleared")]


def test_the_same_refusals_through_the_engine(shared_engine: Home) -> None:
    assert put(shared_engine, '"' + "x" * 70_000 + '"') == 6
    assert put(shared_engine, "1", "nobody") == 3
    assert put(shared_engine, "[" * 250 + "]" * 250) == 0
    assert put(shared_engine, "null") == 0
