"""What reaches a terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.cli import render

UNSAFE = [
    *map(chr, range(0x09)),
    *map(chr, range(0x0B, 0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *map(chr, range(0x202A, 0x202F)),
    *map(chr, range(0x2066, 0x206A)),
]


@pytest.mark.parametrize("char", UNSAFE)
def test_no_control_character_gets_through(char: str) -> None:
    assert char not in render.clean(f"a{char}b")
    assert char not in render.one_line(f"a{char}b")


def test_what_was_cleaned_can_still_be_seen() -> None:
    assert render.clean("\x1b[31mred\u202e") == "\\x1b[31mred\\u202e"


def test_ordinary_text_stays() -> None:
    text = "Grüße, 日本 🎉\tta\nb"
    assert render.clean(text) == text


@given(st.text())
def test_json_loses_nothing_and_holds_no_unsafe_character(text: str) -> None:
    shown = render.json_text({"text": text}, indent=None)
    assert json.loads(shown) == {"text": text}
    assert not set(shown) & set(UNSAFE)


def test_json_can_hold_half_a_surrogate_pair() -> None:
    assert render.json_text("\ud800", indent=None) == '"\\ud800"'


def test_a_table_is_aligned_and_whole_when_it_is_piped(capsys: pytest.CaptureFixture[str]) -> None:
    render.table(("ID", "ERROR"), [("evt_1", "x" * 300), ("evt_1234", "日本")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["ID        ERROR", f"evt_1     {'x' * 300}", "evt_1234  日本"]


def test_a_cell_with_line_breaks_stays_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    render.table(("A",), [("one\ntwo\tthree",)])
    assert capsys.readouterr().out == "A\none two three\n"


def test_columns_shrink_to_the_terminal_but_ids_do_not() -> None:
    assert render.fitted(("ID", "ERROR", "STATE"), (36, 90, 9), 80) == [36, 31, 9]
    assert render.fitted(("ID", "ERROR"), (36, 90), 20) == [36, render.NARROWEST]


def test_shortened_by_columns_not_by_characters() -> None:
    assert render.shortened("日本語", 5) == "日本…"
    assert render.shortened("abc", 3) == "abc"


def test_colour_marks_words_of_state_only() -> None:
    assert render.painted("failed", colour=True) == "\x1b[31mfailed\x1b[0m"
    assert render.painted("failed", colour=False) == "failed"
    assert render.painted("hello", colour=True) == "hello"
