"""Budgets: what runs cost is counted once, and a trigger that has spent its share is turned off."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.engine.rig import Rig, claimed, ended, spec
from tests.fakes import failed, succeeded
from tests.store.raw import on_writer
from tocsin.budget import nanos
from tocsin.errors import Refused
from tocsin.event import Declined
from tocsin.notices import Disarmed, EventDropped
from tocsin.registration import DisabledReason, Registration
from tocsin.runs import Outcome, Outputs, RunState, Verdict
from tocsin.store import costs, registrations
from tocsin.trigger import Budget, BudgetPeriod, Overlap, TriggerSpec

COST = Outputs(cost_usd=0.5)


def budgeted(
    usd: float = 1.0, period: BudgetPeriod = BudgetPeriod.DAY, tz: str = "Europe/Berlin", **changes: Any
) -> TriggerSpec:
    return spec(
        budget=Budget(max_nanos=nanos(usd), period=period, tz=tz),
        **{"max_attempts": 3, "disable_after": 100, **changes},
    )


async def spend(rig: Rig, row: Registration, usd: float) -> None:
    """One run more, at this price."""
    await ended(rig, succeeded(cost_usd=usd), row)


async def spent(rig: Rig, row: Registration) -> int:
    after = await rig.row(row.id)
    return await rig.read(lambda tx: costs.spent(tx, after, rig.clock.now()))


async def test_ten_runs_of_a_tenth_use_up_a_dollar_exactly(open_engine: Rig) -> None:
    row = await open_engine.add(budgeted(1.0))
    for n in range(10):
        assert (await open_engine.row(row.id)).enabled, n
        await spend(open_engine, row, 0.1)
    after = await open_engine.row(row.id)
    assert (after.enabled, after.disabled_reason) == (False, DisabledReason.BUDGET)
    assert await spent(open_engine, row) == nanos(1)
    told = Disarmed(registration="t", reason="budget", detail="$1.00 of $1.00 today")
    assert told in open_engine.notices.all
    assert await open_engine.accept(row, "late") == Declined(reason="budget")


async def test_what_waits_is_dropped_with_the_reason_and_comes_back(open_engine: Rig) -> None:
    row = await open_engine.add(budgeted(1.0))
    for n in range(3):
        await open_engine.accept(row, f"d{n}")
    await open_engine.settle(open_engine.taken.pop(0), succeeded(cost_usd=1.2))
    assert [(event.state, event.reason) for event in await open_engine.events()] == [
        ("succeeded", None),
        ("dropped", "budget"),
        ("dropped", "budget"),
    ]
    open_engine.clock.advance(1)
    assert await open_engine.enable(row, requeue_dropped=True) == 2
    assert await open_engine.states() == ["succeeded", "claimed", "held"]


async def test_what_runs_at_the_same_time_is_the_most_that_is_spent_too_much(open_engine: Rig) -> None:
    row = await open_engine.add(budgeted(1.0, overlap=Overlap.ALLOW))
    for n in range(8):
        await open_engine.accept(row, f"d{n}")
    seats = len(open_engine.taken)
    assert seats == 4
    for claim in list(open_engine.taken):
        await open_engine.settle(claim, succeeded(cost_usd=1.0))
    assert len(open_engine.taken) == seats
    assert await open_engine.states() == ["succeeded"] * 4 + ["dropped"] * 4
    assert await spent(open_engine, row) == nanos(4)


@pytest.mark.parametrize("verdict", list(Verdict))
async def test_every_end_costs_what_it_says(open_engine: Rig, verdict: Verdict) -> None:
    row = await open_engine.add(budgeted(5))
    claim = await claimed(open_engine, row)
    open_engine.claims.close()
    assert await open_engine.settle(claim, Outcome(verdict=verdict, outputs=COST))
    assert await spent(open_engine, row) == nanos(0.5)


async def test_a_failed_run_and_its_retry_both_count(open_engine: Rig) -> None:
    row = await open_engine.add(budgeted(1.0))
    await ended(open_engine, failed(cost_usd=0.6), row)
    open_engine.clock.advance(10)
    await open_engine.take()
    await open_engine.settle(open_engine.taken.pop(), succeeded(cost_usd=0.6))
    after = await open_engine.row(row.id)
    assert (after.disabled_reason, await spent(open_engine, row)) == (DisabledReason.BUDGET, nanos(1.2))


async def test_a_retry_is_dropped_when_the_money_is_gone(open_engine: Rig) -> None:
    """Its event has not failed: it waits for the person who is to decide."""
    _, event = await ended(open_engine, failed(cost_usd=1.0), await open_engine.add(budgeted(1.0)))
    assert (event.state, event.reason) == ("dropped", "budget")


async def test_a_late_end_is_charged_once(open_engine: Rig) -> None:
    row = await open_engine.add(budgeted(5))
    claim = await claimed(open_engine, row)
    assert await open_engine.settle(claim, Outcome(verdict=Verdict.LOST, error="attempt lost"))
    assert await spent(open_engine, row) == 0
    for _ in range(2):
        assert not await open_engine.settle(claim, succeeded(cost_usd=0.5))
    assert await spent(open_engine, row) == nanos(0.5)


async def test_a_lost_run_costs_what_it_had_put_out(rig: Rig) -> None:
    row = await rig.add(budgeted(5))
    rig.open()
    claim = await claimed(rig, row)
    (rig.paths.runs / claim.ref.run_id).mkdir(parents=True)
    rig.claims.owner = "own_2"
    rig.claims.close()
    await rig.recovery(lambda _: (COST, None)).recover()
    [run] = await rig.runs(claim.event.id)
    assert (run.state, run.cost_usd, await spent(rig, row)) == (RunState.LOST, 0.5, nanos(0.5))


async def test_periods_roll_over_by_their_zones_calendar(open_engine: Rig) -> None:
    """Berlin's clock went forward in the night to Sunday 29 March 2026: that week had 167 hours."""
    open_engine.clock.jump(
        datetime(2026, 3, 29, 21, 59, tzinfo=UTC) - open_engine.clock.now()
    )  # Sunday, 23:59
    row = await open_engine.add(budgeted(2.0, BudgetPeriod.WEEK))
    await spend(open_engine, row, 1.5)
    assert await spent(open_engine, row) == nanos(1.5)  # a run ends ten seconds after its claim
    open_engine.clock.advance(50)  # Monday
    assert await spent(open_engine, row) == 0
    await spend(open_engine, row, 1.5)
    assert (await open_engine.row(row.id)).enabled
    await spend(open_engine, row, 0.5)
    assert (await open_engine.row(row.id)).disabled_reason is DisabledReason.BUDGET


class TestArmedAgain:
    async def test_enable_forgives_what_was_spent(self, open_engine: Rig) -> None:
        row = await open_engine.add(budgeted(1.0))
        await spend(open_engine, row, 1.5)
        open_engine.clock.advance(60)
        await open_engine.enable(row)
        after = await open_engine.row(row.id)
        assert (after.enabled, after.budget_from) == (True, open_engine.clock.now())
        assert await spent(open_engine, row) == 0
        await spend(open_engine, row, 0.9)
        assert (await open_engine.row(row.id)).enabled

    async def test_any_other_enable_forgives_nothing(self, open_engine: Rig) -> None:
        row = await open_engine.add(budgeted(1.0))
        await spend(open_engine, row, 0.9)
        await open_engine.disarm(row)
        open_engine.clock.advance(60)
        await open_engine.enable(row)
        assert ((await open_engine.row(row.id)).budget_from, await spent(open_engine, row)) == (
            None,
            nanos(0.9),
        )

    async def test_the_next_period_does_not_arm_it_by_itself(self, open_engine: Rig) -> None:
        row = await open_engine.add(budgeted(1.0))
        await spend(open_engine, row, 1.5)
        open_engine.clock.advance(timedelta(days=3))
        assert await open_engine.accept(row, "tomorrow") == Declined(reason="budget")

    async def test_a_fire_is_refused_with_the_way_out(self, rig: Rig) -> None:
        rig.configure(CONFIG.format(usd=1))
        await rig.controls.configuring.apply(prune=False, by_hand=True)
        rig.open()
        await rig.controls.fire("t", payload=None, key=None, cause=None)
        await rig.settle(rig.taken.pop(), succeeded(cost_usd=2))
        with pytest.raises(Refused, match="its budget is used up; `tocsin enable t`"):
            await rig.controls.fire("t", payload=None, key=None, cause=None)


CONFIG = """
[workflows.w]
command = ["true"]
[triggers.t]
workflow = "w"
manual = true
overlap = "allow"
max_usd = {usd}
budget_period = "month"
tz = "UTC"
"""


async def test_an_edit_never_lifts_it_and_a_smaller_budget_holds_before_the_next_run(rig: Rig) -> None:
    await rig.apply(CONFIG.format(usd=10))
    rig.open()
    row = await rig.named("t")
    await spend(rig, row, 2)
    rig.claims.close()
    for n in range(3):
        await rig.accept(row, f"waits {n}")
    await rig.apply(CONFIG.format(usd=2))
    rig.open()
    assert await rig.take() == []
    after = await rig.row(row.id)
    assert after.disabled_reason is DisabledReason.BUDGET
    assert await rig.states() == ["succeeded", "dropped", "dropped", "dropped"]
    assert len(rig.notices.of(EventDropped)) == 3
    await rig.apply(CONFIG.format(usd=500))
    assert (await rig.row(row.id)).disabled_reason is DisabledReason.BUDGET


async def test_a_row_names_the_workflow_and_the_tags_of_then(open_engine: Rig) -> None:
    row = await open_engine.add(spec(tags=("acme", "night")))
    await spend(open_engine, row, 0.25)
    await open_engine.write(
        lambda tx: registrations.update_spec(
            tx, row.id, spec(tags=("other",)), installation_id=row.installation_id, workflow_version=1
        )
    )
    columns = "workflow, tags, usd_nanos"
    assert await on_writer(open_engine.store, f"SELECT {columns} FROM costs") == [  # noqa: S608 - our own names
        ("w", '["acme","night"]', 250_000_000)
    ]


async def test_without_a_price_there_is_no_row_and_nothing_is_a_price_too(open_engine: Rig) -> None:
    row = await open_engine.add()
    await ended(open_engine, succeeded(), row)
    assert await open_engine.count("SELECT count(*) FROM costs") == 0
    await spend(open_engine, row, 0)
    assert await open_engine.count("SELECT count(*) FROM costs") == 1


async def test_sums_beyond_a_column_are_exact(open_engine: Rig) -> None:
    row = await open_engine.add(spec(tags=("a",)))
    for _ in range(12):
        await spend(open_engine, row, 999_999_999.5)
    for total in (costs.by_trigger, costs.by_tag, costs.by_workflow):
        [found] = await open_engine.read(lambda tx, total=total: total(tx, None))  # type: ignore[misc]
        assert (found.nanos, found.runs) == (12 * nanos(999_999_999.5), 12)
