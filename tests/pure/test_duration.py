"""`tocsin.duration`: what is read, what is refused, and the way back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.duration import format_duration, parse_duration
from tocsin.errors import InvalidSchedule


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("500ms", timedelta(milliseconds=500)),
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("2h", timedelta(hours=2)),
        ("1d", timedelta(days=1)),
        ("1w", timedelta(weeks=1)),
        ("1h30m", timedelta(minutes=90)),
        ("90m", timedelta(minutes=90)),
        ("1w2d3h4m5s6ms", timedelta(weeks=1, days=2, hours=3, minutes=4, seconds=5, milliseconds=6)),
        ("0s", timedelta()),
    ],
)
def test_a_duration_is_read(text: str, length: timedelta) -> None:
    assert parse_duration(text) == length


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("5", "has no unit"),
        ("1.5", "has no unit"),
        ("-5s", "is negative"),
        ("1.5h", "is not a duration"),
        ("5 m", "is not a duration"),
        ("5s ", "is not a duration"),
        ("30m1h", "is not a duration"),
        ("1h1h", "is not a duration"),
        ("5M", "is not a duration"),
        ("\N{ARABIC-INDIC DIGIT FIVE}s", "is not a duration"),
        ("five minutes", "is not a duration"),
        ("999999999999999w", "is too long"),
        ("9" * 5000 + "s", "is not a duration"),
    ],
)
def test_anything_else_is_refused_with_examples(text: str, says: str) -> None:
    with pytest.raises(InvalidSchedule, match=f"{says}; wanted a whole number with a unit, like 500ms"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0s", "500ms", "1m30s", "1h30m", "10d", "2w", "8d", "1d1ms"])
def test_the_shortest_text_is_written(text: str) -> None:
    assert format_duration(parse_duration(text)) == text


@given(st.timedeltas(timedelta(), timedelta.max))
def test_what_is_written_is_read_back_to_the_millisecond(length: timedelta) -> None:
    if length > timedelta.max - timedelta(seconds=1):
        return  # its rounding would leave timedelta's range
    assert abs(parse_duration(format_duration(length)) - length) <= timedelta(microseconds=500)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(seconds=-90), "-1m30s"),
        (timedelta(microseconds=400), "0s"),
        (timedelta(microseconds=-1), "0s"),
    ],
)
def test_lengths_that_cannot_be_read_back_are_still_shown(length: timedelta, text: str) -> None:
    assert format_duration(length) == text
