"""`tocsin.cron`: what is refused, with the field and what is wanted; hostile names of zones."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin import cron
from tocsin.errors import InvalidSchedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def refusal(expr: str) -> str:
    with pytest.raises(InvalidSchedule) as caught:
        cron.parse(expr)
    return str(caught.value)


@pytest.mark.parametrize(
    ("expr", "says"),
    [
        pytest.param("0 0 1 11-2/3 *", "month '11-2/3' runs backwards; wanted 1 to 12", id="CR-27"),
        pytest.param("0 0 1 11-3/3 *", "month '11-3/3' runs backwards; wanted 1 to 12", id="CR-27 march"),
        pytest.param("*/0 * * * *", "minute '*/0' has step 0", id="CR-29 zero"),
        pytest.param("5-5/0 * * * *", "minute '5-5/0' has step 0", id="CR-29 one value"),
        pytest.param("59-0/0 * * * *", "minute '59-0/0' runs backwards", id="CR-29 wrapped"),
        pytest.param("*/90 * * * *", "minute '*/90' has step 90, which must be from 1 to 59", id="CR-29 90"),
        pytest.param("*/60 * * * *", "minute '*/60' has step 60, which must be from 1 to 59", id="CR-29 60"),
        pytest.param(
            "*/30 * * * * *", "6 fields seen; five fields are expected and seconds are not", id="CR-31"
        ),
        pytest.param(
            "0 */5 * * * *", "6 fields seen; five fields are expected and seconds are not", id="CR-31 b"
        ),
        pytest.param("0 0 1 1 * 0 2026", "7 fields seen; five fields are expected", id="CR-31 seven"),
        pytest.param("H H * * *", "minute 'h' is not supported", id="CR-37 H"),
        pytest.param("R * * * *", "minute 'r' is not supported", id="CR-37 R"),
        ("0 h(1-5)/2 * * *", "hour 'h(1-5)/2' is not supported"),
        ("0 0 ? * 1", "day of month '?' is not supported"),
        ("0 22-2 * * *", "hour '22-2' runs backwards"),
        ("0 0 * * fri-mon", "day of week 'fri-mon' runs backwards"),
        ("0 0 * * 5-1", "day of week '5-1' runs backwards"),
        ("0 0 30 2 *", "day of month '30' never comes in month '2'"),
        ("0 0 31 4,6,9,11 */2", "day of month '31' never comes in month '4,6,9,11'"),
        ("0 0 * feb mon#6", "day of week 'mon#6' is not understood"),
        ("0 0 * * monday", "'monday' is not understood (did you mean mon?)"),
        ("0 0 * * 5L", "day of week '5l' is not understood; wanted 0 to 7 or sun to sat, mon#1 or L5"),
        ("0 0 * * 8", "day of week '8' is out of range"),
        ("0 0 * 13 *", "month '13' is out of range"),
        ("0 0 0 * *", "day of month '0' is out of range"),
        ("0 24 * * *", "hour '24' is out of range"),
        ("10-20/15 * * * *", "minute '10-20/15' has step 15, which must be from 1 to 10"),
        ("1,,2 * * * *", "minute '' is not understood"),
        ("@reboot", "alias '@reboot' is not a time"),
        ("@dialy", "(did you mean @daily?)"),
        ("0 9 * *", "4 fields seen; five fields are expected"),
        ("", "0 fields seen; five fields are expected"),
        ("٣ * * * *", "outside ASCII"),
        ("0 0 * * mon\N{NO-BREAK SPACE}", "outside ASCII"),
        ("0," * 200 + "0 * * * *", "wanted at most 256"),
    ],
)
def test_a_refusal_names_the_field_and_what_is_wanted(expr: str, says: str) -> None:
    assert says in refusal(expr)


@given(st.one_of(st.text(max_size=40), st.text(alphabet="0123456789*/,-#LWhr? sunmo@\t", max_size=30)))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expr = cron.parse(text)
    except InvalidSchedule:
        return
    start = at("2026-01-01T00:00Z")
    assert cron.next_fire(expr, cron.zone("UTC"), start) > start


def test_what_its_zones_clock_never_shows_is_refused_in_bounded_time() -> None:
    expr, tz = cron.parse("*/30 2 * 3 L0"), cron.zone("Europe/Berlin")  # the hour that is left out since 1981
    with pytest.raises(InvalidSchedule, match="never fires in Europe/Berlin"):
        cron.next_fire(expr, tz, at("2026-01-01T00:00Z"))


@pytest.mark.parametrize("after", [datetime(2026, 1, 1), datetime.min, datetime.max])  # noqa: DTZ001, DTZ901
def test_a_start_without_zone_is_refused(after: datetime) -> None:
    with pytest.raises(InvalidSchedule, match="no zone"):
        cron.next_fire(cron.parse("@daily"), cron.zone("UTC"), after)


@pytest.mark.parametrize("after", ["0001-01-01T00:00Z", "9999-12-31T23:59Z"])
def test_a_start_at_the_ends_of_the_calendar_is_refused(after: str) -> None:
    with pytest.raises(InvalidSchedule, match="is out of range"):
        cron.next_fire(cron.parse("@daily"), cron.zone("Pacific/Apia"), at(after))


HOSTILE = [
    "",
    ".",
    "..",
    "../x",
    "/etc/passwd",
    "\0",
    "Europe",
    "Europe//Berlin",
    "x" * 5000,
    "\udc80",
    "zone.tab",
]


@pytest.mark.parametrize(
    "name", [*HOSTILE, "localtime", "posixrules", "right/UTC", "posix/UTC", "Europe/Berlin "]
)
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidSchedule, match="unknown zone"):
        cron.zone(name)


def test_a_name_that_means_this_host_is_not_offered_again() -> None:
    with pytest.raises(InvalidSchedule) as caught:
        cron.zone("localtime")
    assert "did you mean localtime" not in str(caught.value)


@pytest.mark.parametrize("name", ["europe/berlin", "Europe/Berln", "EUROPE/BERLIN"])
def test_a_misspelt_zone_gets_its_nearest_name(name: str) -> None:
    with pytest.raises(InvalidSchedule, match=r"did you mean Europe/Berlin\?"):
        cron.zone(name)
