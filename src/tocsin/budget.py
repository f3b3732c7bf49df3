"""Money: what a run cost in whole numbers, when a budget's period begins, and the words for both. Pure.

Used by ``settlement`` and ``engine.gates``, which turn off what has spent too much, and by the faces.
"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from decimal import Decimal
from typing import Final

from tocsin.trigger import NANOS, Budget, BudgetPeriod
from tocsin.zones import first_pass, wall_at, zone

MOST_USD: Final = 10**9  # dollars of one run; in billionths that fits a column, with room for a sum
CENT: Final = Decimal("0.01")
WORDS: Final = {BudgetPeriod.DAY: "today", BudgetPeriod.WEEK: "this week", BudgetPeriod.MONTH: "this month"}


def nanos(usd: float) -> int:
    """Billionths of a dollar, as the number was written: 0.1 is exactly a tenth."""
    return round(Decimal(str(usd)) * NANOS)


def exact(amount: int) -> str:
    """Billionths of a dollar as a decimal number of dollars without needless zeros: `4.37`, `5`."""
    return f"{Decimal(amount).scaleb(-9).normalize():f}"


def dollars(amount: int) -> str:
    """Billionths of a dollar for people, to the cent or, where that hides something, exact: `$4.37`."""
    number = Decimal(amount).scaleb(-9)
    return f"${number:.2f}" if number == number.quantize(CENT) else f"${exact(amount)}"


def spent_of(spent: int, budget: Budget) -> str:
    """`$4.37 of $5.00 this week`."""
    return f"{dollars(spent)} of {dollars(budget.max_nanos)} {WORDS[budget.period]}"


def is_used_up(budget: Budget | None, spent: int) -> bool:
    """Whether no run may begin any more; never without a budget."""
    return budget is not None and spent >= budget.max_nanos


def begins(budget: Budget, now: datetime) -> datetime:
    """When the period that contains `now` began: at midnight, Monday's for weeks, the 1st's for months.

    On the clock of the budget's zone; a midnight that it leaves out is the first instant after it.
    """
    tz = zone(budget.tz)
    return first_pass(tz, _first_day(budget.period, wall_at(tz, now)))


def begins_again(budget: Budget, now: datetime) -> datetime:
    """When the next period begins."""
    tz = zone(budget.tz)
    first = _first_day(budget.period, wall_at(tz, now))
    length = {BudgetPeriod.DAY: 1, BudgetPeriod.WEEK: 7, BudgetPeriod.MONTH: 32}[budget.period]
    return first_pass(tz, _first_day(budget.period, first + timedelta(days=length)))


def counted_from(budget: Budget, forgiven: datetime | None, now: datetime) -> datetime:
    """Since when spending counts. forgiven: when a person last armed the trigger after it was used up."""
    start = begins(budget, now)
    return start if forgiven is None else max(start, forgiven)


def _first_day(period: BudgetPeriod, wall: datetime) -> datetime:
    """Midnight of the period's first day, on the zone's clock."""
    midnight = datetime.combine(wall.date(), time())
    match period:
        case BudgetPeriod.DAY:
            return midnight
        case BudgetPeriod.WEEK:
            return midnight - timedelta(days=wall.weekday())
        case BudgetPeriod.MONTH:
            return midnight.replace(day=1)
