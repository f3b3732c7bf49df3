"""`tocsin.dedupe`: what a strategy looks like in props, and which of two ids comes later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.dedupe import (
    MAX_DIGITS,
    Greatest,
    Last,
    Order,
    Strategy,
    Unique,
    is_above,
    is_given,
    place_of,
    strategy_of,
    written,
)

DECIMALS = st.from_regex(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?", fullmatch=True)
ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
MOMENTS = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 28), timezones=ZONES | st.just(UTC))  # noqa: DTZ001
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)


@pytest.mark.parametrize("strategy", [Unique(), Last(n=7), *(Greatest(order=order) for order in Order)])
def test_a_strategy_is_read_as_it_was_written(strategy: Strategy) -> None:
    assert strategy_of({"dedupe": {"header": "X-Id", **written(strategy)}}) == strategy


def test_props_that_say_nothing_mean_unique() -> None:
    assert strategy_of({}) == strategy_of({"dedupe": {"header": None, "payload": "id"}}) == Unique()
    assert place_of({}) == (None, None)
    assert place_of({"dedupe": {"payload": "id"}}) == (None, "id")


@given(id_=DECIMALS, mark=DECIMALS)
def test_numbers_are_compared_exactly(id_: str, mark: str) -> None:
    assert is_above(Order.NUMBER, id_, mark) is (Fraction(id_) > Fraction(mark))


@given(id_=MOMENTS, mark=MOMENTS, apart=st.integers(-2, 2), nanos=st.tuples(*[st.integers(0, 999)] * 2))
def test_times_are_compared_as_instants_to_the_last_digit(
    id_: datetime, mark: datetime, apart: int, nanos: tuple[int, int]
) -> None:
    for one, other in ((id_, mark), (mark + timedelta(microseconds=apart), mark.astimezone(UTC))):
        texts = [
            f"{at.replace(tzinfo=None).isoformat(timespec='microseconds')}{nano:03}{offset(at)}"
            for at, nano in zip((one, other), nanos, strict=True)
        ]
        assert is_above(Order.TIME, *texts) is ((one, nanos[0]) > (other, nanos[1]))


def offset(at: datetime) -> str:
    return at.isoformat()[-6:]


@given(id_=TEXT, mark=TEXT)
def test_texts_are_compared_by_code_point(id_: str, mark: str) -> None:
    assert is_above(Order.TEXT, id_, mark) is ([*map(ord, id_)] > [*map(ord, mark)])


@pytest.mark.parametrize(
    ("order", "id_", "mark", "above"),
    [
        (Order.NUMBER, "10", "9", True),
        (Order.TEXT, "10", "9", False),
        (Order.NUMBER, "1.0", "1", False),
        (Order.NUMBER, "007", "6", True),
        (Order.NUMBER, "9" * MAX_DIGITS, "9" * (MAX_DIGITS - 1), True),
        (Order.NUMBER, "1e999999999", "-1e999999999", True),
        (Order.NUMBER, "1e-999999999", "0", True),
        (Order.TIME, "2016-12-31T23:59:60.5Z", "2016-12-31T23:59:59.9Z", True),
        (Order.TIME, "2017-01-01T00:00:00Z", "2016-12-31T23:59:60.9Z", True),
        (Order.TIME, "2017-01-01T00:59:60+01:00", "2016-12-31T23:59:59Z", True),
        (Order.TIME, "2026-01-01 00:00:00z", "2026-01-01T01:00:00+01:00", False),
        (Order.TIME, "0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", False),
        (Order.NUMBER, "1", None, True),
        (Order.NUMBER, "1", "no number", True),
    ],
)
def test_which_comes_later(order: Order, id_: str, mark: str | None, above: bool) -> None:
    assert is_above(order, id_, mark) is above


@pytest.mark.parametrize(
    ("order", "id_"),
    [
        *(
            (Order.NUMBER, id_)
            for id_ in ("", " 1", "1_000", "NaN", "Infinity", "0x1f", "١", "1.", ".5", "1e1000000000")  # noqa: RUF001
        ),
        (Order.NUMBER, "9" * (MAX_DIGITS + 1)),
        *(
            (Order.TIME, id_)
            for id_ in (
                "",
                "2026-01-01",
                "2026-01-01T00:00:00",
                "2026-02-30T00:00:00Z",
                "2026-01-01T24:00:00Z",
                "2026-01-01T12:30:60Z",
                "2026-01-01T00:00:61Z",
                "2026-01-01T00:00Z",
                "0000-01-01T00:00:00Z",
                "1767225600",
            )
        ),
        (Order.TEXT, "\udcff"),
        (Order.TEXT, "x" * (MAX_DIGITS + 1)),
    ],
)
def test_what_cannot_be_read_is_neither_above_nor_below(order: Order, id_: str) -> None:
    assert is_above(order, id_, None) is None
    assert is_above(order, id_, "1") is None


def test_an_id_made_here_is_told_apart() -> None:
    assert [is_given(id_) for id_ in ("d-1", "body:ab:1", "sha256:ab")] == [True, False, False]
