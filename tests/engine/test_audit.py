"""`audit` finds nothing in what an engine leaves, whatever was going on, and names each planted fault."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import pytest

from tests.engine.rig import Rig, claimed, ended, scheduled, spec
from tests.fakes import failed, succeeded
from tests.store.raw import beside
from tocsin.quarantine import Reason, Stray
from tocsin.registration import Registration
from tocsin.runs import Outcome, Verdict
from tocsin.store.audit import CHECKS, audited
from tocsin.trigger import Overlap


async def everything(rig: Rig) -> None:
    """One event of each kind of life."""
    good, _ = await ended(rig, succeeded(), await rig.add(spec("good")))
    await rig.controls.second_thoughts.replay([(await rig.events(good))[0].id], cause=None)
    await rig.take()
    await rig.settle(rig.taken.pop(), succeeded())
    bad = await rig.add(spec("bad", max_attempts=2))
    await ended(rig, Outcome(verdict=Verdict.INTERRUPTED), bad)
    rig.clock.advance(10)
    await rig.take()
    await rig.settle(rig.taken.pop(), failed())
    rig.clock.advance(10)
    await rig.take()
    await rig.settle(rig.taken.pop(), Outcome(verdict=Verdict.LOST))
    await ended(rig, failed(), await rig.add(spec("retrying")))
    await claimed(rig, await rig.add(spec("busy")))
    await rig.accept(await rig.named("busy"), "behind")
    skips = await rig.add(scheduled("skips", overlap=Overlap.SKIP))
    for n in range(3):
        await rig.accept(skips, f"1:{n}")
    rig.taken.clear()
    last = await rig.add(spec("last", props={"dedupe": {"strategy": "last", "n": 1}}))
    for delivery in ("a", "b", "a"):
        await rig.accept(last, delivery, given_id=delivery)
        await rig.settle(rig.taken.pop(), succeeded())
    await quarantined(rig, await rig.add(spec("kept")))
    await rig.disarm(await rig.named("retrying"))


async def quarantined(rig: Rig, row: Registration) -> None:
    """One that was replayed."""
    stray = Stray(route="r", reason=Reason.FLOOD, registration_id=row.id, body=b"1")
    await rig.controls.quarantine.replay([await rig.controls.quarantine.keep(stray)], vouched=False)
    await rig.take()
    await rig.settle(rig.taken.pop(), succeeded())


EVENT = "(SELECT id FROM event_rows WHERE registration = '{}' ORDER BY seq LIMIT 1)"
ROWS = {name: EVENT.format(name) for name in ("good", "bad", "busy", "retrying")} | {
    "held": "(SELECT id FROM events WHERE state = 'held')",
    "skipped": "(SELECT id FROM events WHERE state = 'skipped')",
}

FAULTS: Sequence[tuple[str, str]] = [
    ("integrity", "UPDATE events SET count = 0"),
    ("references", "DELETE FROM deliveries WHERE id = (SELECT delivery FROM events WHERE id = {good})"),
    ("lost events", "DELETE FROM events WHERE id = {skipped}"),
    ("lost replays", "UPDATE quarantine SET events = '[]'"),
    ("lost replays", "DELETE FROM events WHERE id = (SELECT json_extract(events, '$[0]') FROM quarantine)"),
    ("keys", "DELETE FROM seen WHERE event_id = {good}"),
    ("keys", "UPDATE seen SET registration_id = 'trg_other' WHERE event_id = {good}"),
    ("keys", "UPDATE seen SET generation = 1 WHERE generation = 2"),
    ("repeated", "UPDATE events SET delivery_id = 'behind' WHERE id = {busy}"),
    ("unlike delivery", "UPDATE events SET delivery_id = 'other' WHERE id = {good}"),
    ("stray deliveries", "UPDATE events SET delivery = 'other' WHERE id = {good}"),
    ("lost payloads", "UPDATE deliveries SET pruned_at = 1 WHERE delivery_id = 'behind'"),
    ("successes", "UPDATE events SET run_id = NULL WHERE id = {good}"),
    ("successes", "UPDATE runs SET state = 'failed' WHERE event_id = {good}"),
    ("successes", "DELETE FROM runs WHERE event_id = {good}"),
    ("successes", "UPDATE events SET state = 'succeeded' WHERE id = {bad}"),
    ("failures", "UPDATE events SET state = 'failed', reason = 'x' WHERE id = {good}"),
    ("failures", "UPDATE events SET state = 'failed' WHERE id = {skipped}"),
    ("unheard successes", "UPDATE runs SET state = 'succeeded' WHERE event_id = {bad}"),
    ("unexplained", "UPDATE events SET reason = NULL WHERE id = {skipped}"),
    ("unexplained", "UPDATE events SET reason = NULL WHERE id = {held}"),
    ("attempts", "UPDATE events SET attempts = 3 WHERE id = {bad}"),
    ("attempts", "UPDATE events SET attempts = 1 WHERE id = {held}"),
    ("attempts", "UPDATE events SET attempts = 0 WHERE id = {busy}"),
    ("gaps", "UPDATE runs SET attempt = 3 WHERE event_id = {bad} AND attempt = 2"),
    ("gaps", "DELETE FROM runs WHERE event_id = {bad} AND attempt = 1"),
    ("started twice", "UPDATE runs SET state = 'lost' WHERE event_id = {bad} AND state = 'cancelled'"),
    ("started twice", "UPDATE runs SET attempt = 3 WHERE event_id = {bad} AND state = 'cancelled'"),
    ("misnamed", "UPDATE runs SET engine_key = 'x' WHERE event_id = {good}"),
    ("running", "UPDATE runs SET state = 'running', finished_at = NULL WHERE event_id = {retrying}"),
    ("claimed", "UPDATE events SET claim_owner = NULL WHERE id = {busy}"),
    ("claimed", "UPDATE runs SET state = 'failed', finished_at = 1 WHERE event_id = {busy}"),
    ("claimed", "DELETE FROM runs WHERE event_id = {busy}"),
    ("crowded lanes", "UPDATE events SET state = 'pending', next_fire_at = 0 WHERE id = {held}"),
    ("stuck lanes", "UPDATE events SET lane = 'other' WHERE id = {held}"),
    ("stuck lanes", "UPDATE events SET lane = NULL WHERE id = {held}"),
    ("untimed", "UPDATE events SET state = 'pending', next_fire_at = NULL WHERE id = {held}"),
    ("untimed", "UPDATE events SET settled_at = NULL WHERE id = {good}"),
    ("stray costs", "INSERT INTO costs SELECT 'run_1', id, workflow, '[]', 1, 0 FROM registrations LIMIT 1"),
    ("miscounted", "UPDATE registrations SET run_count = 3 WHERE name = 'good'"),
    ("miscounted", "UPDATE registrations SET run_count = 1 WHERE name = 'good'"),
]  # fmt: skip


def plant(connection: sqlite3.Connection, fault: str) -> None:
    """What no program of ours could write."""
    for statement in (
        "PRAGMA foreign_keys = OFF",
        "PRAGMA ignore_check_constraints = ON",
        "DROP TRIGGER events_move",
        fault.format(**ROWS),
    ):
        changed = connection.execute(statement).rowcount
    assert changed, fault


async def found(rig: Rig) -> dict[str, int]:
    """The checks that found something, and how much."""
    return {check: count for check, count in (await rig.read(audited)).counts().items() if count}


async def test_what_an_engine_leaves_is_whole(open_engine: Rig) -> None:
    await everything(open_engine)
    found = await open_engine.read(audited)
    assert found.ok, found.problems
    assert (found.events, found.deliveries, found.runs) == (12, 12, 12)
    states = set(await open_engine.states())
    assert states == {"succeeded", "failed", "dropped", "claimed", "held", "skipped"}


@pytest.mark.parametrize(("check", "fault"), FAULTS)
async def test_a_planted_fault_is_named(open_engine: Rig, check: str, fault: str) -> None:
    await everything(open_engine)
    with beside(open_engine.paths.database) as connection:
        plant(connection, fault)
    assert check in await found(open_engine)


def test_every_check_is_proved() -> None:
    assert {check for check, _ in FAULTS} == set(CHECKS)


async def test_many_faults_of_a_kind_are_cut_short(open_engine: Rig) -> None:
    with beside(open_engine.paths.database) as connection:
        row = await open_engine.add()
        for n in range(150):
            connection.execute(
                "INSERT INTO deliveries VALUES (:id, :installation, 'webhook', 'd', NULL, '{}', 0, NULL)",
                {"id": f"dlv_{n}", "installation": row.installation_id},
            )
    audit = await open_engine.read(audited)
    assert len(audit.problems) == 101
    assert audit.problems[-1].detail == "and 50 more"
