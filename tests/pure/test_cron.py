"""`tocsin.cron`: the CR cases, aliases, the notes on clock changes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice

import pytest

from tocsin import cron
from tocsin.instants import rfc3339


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def fires(expr: str, tz: str, after: str, take: int) -> list[str]:
    """RFC 3339, without seconds and Z."""
    found = islice(cron.fires(cron.parse(expr), cron.zone(tz), at(after)), take)
    return [rfc3339(instant).removesuffix(":00Z") for instant in found]


CASES = """
CR-01a | */5 * * * * | Europe/Zurich | 2023-10-29T00:55Z
    2023-10-29T01:00 2023-10-29T01:05 2023-10-29T01:10
CR-01b | */5 * * * * | Europe/Zurich | 2023-10-29T01:30Z
    2023-10-29T01:35
CR-03 | 0 20 * * * | Europe/Paris | 2022-10-29T22:00Z
    2022-10-30T19:00 2022-10-31T19:00 2022-11-01T19:00
CR-05 | 0 8 * * 1 | Europe/Amsterdam | 2017-10-16T06:00Z
    2017-10-23T06:00 2017-10-30T07:00 2017-11-06T07:00 2017-11-13T07:00
CR-07 minutes | * * * * * | America/New_York | 2026-03-08T06:59Z
    2026-03-08T07:00 2026-03-08T07:01
CR-07 hours | 0 * * * * | America/New_York | 2026-03-08T06:30Z
    2026-03-08T07:00 2026-03-08T08:00
CR-09 | 1 2 * * * | Europe/Paris | 2021-10-30T12:00Z
    2021-10-31T00:01 2021-11-01T01:01
CR-11a | 0 1 4 11 * | America/Sao_Paulo | 2018-11-04T02:00Z
    2018-11-04T03:00
CR-11b | 0 1 * * 0 | America/Sao_Paulo | 2018-11-04T02:00Z
    2018-11-04T03:00
CR-13 | 0 6 * * * | America/Santiago | 2018-08-12T06:00Z
    2018-08-12T09:00 2018-08-13T09:00
CR-15 | 30 2-23/4 * * * | Australia/Sydney | 2019-10-05T14:00Z
    2019-10-05T16:00 2019-10-05T19:30 2019-10-05T23:30 2019-10-06T03:30 2019-10-06T07:30
CR-17a | 0 7 * * * | Europe/Prague | 2022-03-26T06:00Z
    2022-03-27T05:00
CR-17b | 0 18 * * * | Europe/London | 2025-03-29T18:00Z
    2025-03-30T17:00
CR-17c | 0 17 * * * | America/New_York | 2016-11-05T21:00Z
    2016-11-06T22:00
CR-17d | * * * 5 * | America/Los_Angeles | 2022-02-22T18:39:51Z
    2022-05-01T07:00
CR-21 | 48 14 31 jun sun | UTC | 2020-06-01T00:00Z
    2020-06-07T14:48 2020-06-14T14:48 2020-06-21T14:48 2020-06-28T14:48 2021-06-06T14:48
CR-21 weekday side | 0 0 30 2 1 | UTC | 2026-01-01T00:00Z
    2026-02-02T00:00
CR-23 alone | 0 9 * * 7 | UTC | 2026-01-01T00:00Z
    2026-01-04T09:00
CR-23 list | 0 0 * * 6,7 | UTC | 2026-01-01T00:00Z
    2026-01-03T00:00 2026-01-04T00:00 2026-01-10T00:00 2026-01-11T00:00
CR-23 range | 1 0 * * 5-7 | UTC | 2026-01-01T00:00Z
    2026-01-02T00:01 2026-01-03T00:01 2026-01-04T00:01 2026-01-09T00:01
CR-23 no Monday | 15 21 * * 2-7 | UTC | 2026-01-04T22:00Z
    2026-01-06T21:15 2026-01-07T21:15 2026-01-08T21:15 2026-01-09T21:15 2026-01-10T21:15 2026-01-11T21:15
    2026-01-13T21:15
CR-23 daily | 0 0 * * 0-7 | UTC | 2026-01-03T00:00Z
    2026-01-04T00:00 2026-01-05T00:00 2026-01-06T00:00
CR-25 | 0 0 * * sun-sun | UTC | 2026-01-01T00:00Z
    2026-01-04T00:00 2026-01-11T00:00 2026-01-18T00:00
CR-33 leap | 0 0 29 2 * | UTC | 2021-12-07T12:00Z
    2024-02-29T00:00
CR-33 century | 0 0 29 2 * | UTC | 2096-03-01T00:00Z
    2104-02-29T00:00
CR-33 on the day | 0 0 29 2 * | UTC | 2024-02-29T00:30Z
    2028-02-29T00:00
CR-33 fifth | 0 0 * 2 MON#5 | UTC | 2020-01-01T00:00Z
    2044-02-29T00:00 2072-02-29T00:00 2112-02-29T00:00
CR-35 step | 0 4 1-31/5 * * | Asia/Seoul | 2022-02-27T16:00Z
    2022-02-28T19:00 2022-03-05T19:00 2022-03-10T19:00
CR-35 31st | 0 0 31 * * | UTC | 2026-01-31T00:00Z
    2026-03-31T00:00 2026-05-31T00:00 2026-07-31T00:00 2026-08-31T00:00 2026-10-31T00:00
DESIGN 7 | 30 2 * * * | Europe/Berlin | 2026-10-24T00:00:00Z
    2026-10-24T00:30 2026-10-25T00:30 2026-10-26T01:30
59/15 is one minute | 59/15 * * * * | UTC | 2026-01-01T00:00Z
    2026-01-01T00:59 2026-01-01T01:59
6/1 is Saturday | 0 0 * * 6/1 | UTC | 2026-01-01T00:00Z
    2026-01-03T00:00 2026-01-10T00:00
fri-sun | 0 0 * * Fri-SUN | UTC | 2026-01-01T00:00Z
    2026-01-02T00:00 2026-01-03T00:00 2026-01-04T00:00
star rule | 0 0 */2 * sun | UTC | 2026-01-01T00:00Z
    2026-01-11T00:00 2026-01-25T00:00
star rule, weekday | 0 0 13 * */5 | UTC | 2026-01-01T00:00Z
    2026-02-13T00:00 2026-03-13T00:00
either day | 0 0 13 * fri | UTC | 2026-01-10T00:00Z
    2026-01-13T00:00 2026-01-16T00:00
1-31 is restricted | 0 0 1-31 * fri | UTC | 2026-01-10T00:00Z
    2026-01-11T00:00 2026-01-12T00:00
last day | 0 0 L * * | UTC | 2026-01-31T00:00Z
    2026-02-28T00:00 2026-03-31T00:00
nearest workday | 0 0 1W,15w * * | UTC | 2026-02-01T00:00Z
    2026-02-02T00:00 2026-02-16T00:00 2026-03-02T00:00
last Friday | 0 0 * * L5 | UTC | 2026-02-01T00:00Z
    2026-02-27T00:00 2026-03-27T00:00
second Tuesday | 0 0 * * tue#2 | UTC | 2026-02-01T00:00Z
    2026-02-10T00:00 2026-03-10T00:00
"""


def cases() -> Iterator[object]:
    """Above, each: id, expression, zone, start; indented, the instants that follow (UTC, without Z)."""
    for case in re.split(r"\n(?! )", CASES.strip()):
        head, *instants = case.splitlines()
        name, *told = (part.strip() for part in head.split("|"))
        yield pytest.param(*told, " ".join(instants).split(), id=name)


@pytest.mark.parametrize(("expr", "tz", "after", "expected"), list(cases()))
def test_case(expr: str, tz: str, after: str, expected: list[str]) -> None:
    assert fires(expr, tz, after, len(expected)) == expected


@pytest.fixture(params=["UTC", "Australia/Sydney", "America/New_York"])
def host_zone(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("host_zone")
def test_cr_19_the_host_zone_does_not_leak() -> None:
    assert fires("0 * * * *", "UTC", "2025-10-05T02:00Z", 1) == ["2025-10-05T03:00"]
    assert fires("30 2 * * *", "Europe/Berlin", "2026-10-25T00:00Z", 2) == [
        "2026-10-25T00:30",
        "2026-10-26T01:30",
    ]


@pytest.mark.parametrize(
    ("alias", "same"),
    [
        ("@Hourly", "0 * * * *"),
        ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * 0"),
        ("@annually", "0 0 1 1 *"),
    ],
)
def test_an_alias_is_its_fields(alias: str, same: str) -> None:
    after = "2026-02-03T04:05Z"
    assert fires(alias, "Europe/Berlin", after, 5) == fires(same, "Europe/Berlin", after, 5)


@pytest.mark.parametrize(
    ("expr", "tz", "planned", "note"),
    [
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-29T01:00Z",
            "02:30 does not exist on that day; fires at 03:00",
        ),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30Z", "first of two 02:30"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-26T01:30Z", None),
        ("0 3 * * *", "Europe/Berlin", "2026-03-29T01:00Z", None),
        ("*/30 * * * *", "Europe/Berlin", "2026-03-29T01:00Z", None),
        ("*/30 * * * *", "Europe/Berlin", "2026-10-25T01:30Z", "second of two 02:30"),
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-03T15:30Z",
            "02:15 does not exist on that day; fires at 02:30",
        ),
        (
            "0 9 * * *",
            "Pacific/Apia",
            "2011-12-30T10:00Z",
            "2011-12-30 09:00 does not exist on that day; fires at 2011-12-31 00:00",
        ),
    ],
)
def test_the_note_says_what_a_change_of_the_clock_does(
    expr: str, tz: str, planned: str, note: str | None
) -> None:
    assert cron.dst_note(cron.parse(expr), cron.zone(tz), at(planned)) == note


def test_far_counts_are_exact_and_quick() -> None:
    start = at("2025-06-01T00:00Z")
    found = cron.count(
        cron.parse("* * * * *"), cron.zone("Europe/Berlin"), first=start, until=start + timedelta(365)
    )
    assert found == 525_601
