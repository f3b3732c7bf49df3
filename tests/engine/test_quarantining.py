"""The quarantine: what is kept of what, how much of it, and what a person makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.engine.rig import Rig, spec
from tests.engine.test_judging import ORDER, edit
from tests.engine.test_polling import FEED, poll, polls
from tests.store.raw import on_writer
from tocsin.engine.quarantining import Decision, Replayed
from tocsin.errors import NotFound, Refused
from tocsin.event import Duplicate, Quarantined
from tocsin.quarantine import Kept, Reason, Standing, Stray
from tocsin.registration import DisabledReason, Registration
from tocsin.settings import Retention
from tocsin.store import audit, ledger, quarantine

UNVERIFIED = Stray(
    route="/api/triggers", reason=Reason.FAILED_VERIFICATION, body=b'{"n": 1}', delivery_id="d1"
)
EVERYTHING = "SELECT count(*) + (SELECT count(*) FROM events) + (SELECT count(*) FROM seen) FROM journal"


async def kept(rig: Rig, id_: str) -> Kept:
    found = await rig.read(lambda tx: quarantine.by_id(tx, id_))
    assert found is not None
    return found


async def invalid(rig: Rig, row: Registration, delivery: str = "d1", **more: Any) -> str:
    """A delivery of another shape than its trigger's schema asks for."""
    answer = await rig.accept(row, delivery, **{"payload": {"no": 1}, "body": b'{"no":1}', **more})
    assert isinstance(answer, Quarantined)
    return answer.quarantine_id


async def replayed(rig: Rig, id_: str, *, vouched: bool = False) -> Sequence[Decision]:
    [found] = await rig.controls.quarantine.replay([id_], vouched=vouched)
    return found.decisions


class TestKeeping:
    async def test_of_a_stranger_only_the_beginning_is_kept(self, rig: Rig) -> None:
        id_ = await rig.controls.quarantine.keep(replace(UNVERIFIED, body=b"x" * 100_000))
        found = await kept(rig, id_)
        assert (found.size, len(found.stray.body or b""), found.truncated) == (100_000, 65_536, True)

    async def test_of_anybody_else_up_to_a_mebibyte(self, rig: Rig) -> None:
        for size, truncated in ((1024 * 1024, False), (1024 * 1024 + 1, True)):
            stray = replace(UNVERIFIED, reason=Reason.OVERFLOW, body=b"x" * size)
            assert (await kept(rig, await rig.controls.quarantine.keep(stray))).truncated is truncated

    async def test_the_oldest_of_a_source_gives_way_and_is_counted(
        self, rig: Rig, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(quarantine, "UNVERIFIED", 3)
        row = await rig.add()
        mine = [
            await rig.controls.quarantine.keep(replace(UNVERIFIED, installation_id=row.installation_id))
            for _ in range(5)
        ]
        other = await rig.controls.quarantine.keep(UNVERIFIED)
        left = await rig.read(lambda tx: quarantine.listed(tx, standing=None, reason=None, limit=99))
        assert [one.id for one in left] == [other, *reversed(mine[2:])]
        assert await rig.read(quarantine.given_way) == {"failed_verification": 2}

    @pytest.mark.parametrize(("cap", "most"), [("ALL", 3), ("ALL_BYTES", 3 * len(UNVERIFIED.body or b""))])
    async def test_there_is_room_for_so_many_in_all(
        self, rig: Rig, monkeypatch: pytest.MonkeyPatch, cap: str, most: int
    ) -> None:
        monkeypatch.setattr(quarantine, cap, most)
        precious = await rig.controls.quarantine.keep(replace(UNVERIFIED, reason=Reason.OVERFLOW))
        later = [await rig.controls.quarantine.keep(UNVERIFIED) for _ in range(5)]
        left = await rig.read(lambda tx: quarantine.listed(tx, standing=None, reason=None, limit=99))
        assert [one.id for one in left] == [later[4], later[3], precious], "its own reason gives way first"

    async def test_it_is_given_up_when_it_is_old(self, rig: Rig) -> None:
        old = await rig.controls.quarantine.keep(UNVERIFIED)
        rig.clock.advance(timedelta(days=31))
        young = await rig.controls.quarantine.keep(UNVERIFIED)
        report, _ = await rig.keeper.collect_some(Retention())
        assert report.quarantined == 1
        assert await rig.read(lambda tx: quarantine.by_id(tx, old)) is None
        assert (await kept(rig, young)).standing is Standing.WAITING


class TestReplay:
    async def test_with_the_schema_mended_it_becomes_the_event_that_it_should_have_been(
        self, rig: Rig
    ) -> None:
        row = await rig.add(spec(schema=ORDER))
        id_ = await invalid(rig, row, safe_headers={"x-event": "e"}, event_type="push")
        await edit(rig, row, schema={"type": "object"})
        [decision] = await replayed(rig, id_)
        assert (decision.registration, decision.answer) == ("t", "accepted")
        [event] = await rig.events()
        assert decision.event_id == event.id
        told = await rig.read(lambda tx: ledger.delivery_of(tx, event.id))
        assert told.body == b'{"no":1}'
        assert told.envelope["safe_headers"] == {"x-event": "e"}
        assert (told.envelope["event_type"], told.envelope["schema_status"]) == ("push", "valid")
        found = await kept(rig, id_)
        assert (found.standing, found.events, found.stray.body) == (Standing.REPLAYED, (event.id,), None)
        again = await rig.accept(row, "d1", payload={"no": 1})
        assert again == Duplicate(event_id=event.id, run_id=event.run_id)
        [note] = await on_writer(
            rig.store, "SELECT reason, event_id FROM journal WHERE what LIKE 'replayed%'"
        )
        assert note == (id_, event.id)
        assert (await rig.read(audit.audited)).problems == []
        assert rig.changes[-1] is None

    async def test_it_starts_its_run_without_waiting_for_a_tick(self, open_engine: Rig) -> None:
        row = await open_engine.add(spec(schema=ORDER))
        id_ = await invalid(open_engine, row)
        await edit(open_engine, row, schema=None)
        await replayed(open_engine, id_)
        assert len(await open_engine.take()) == 1

    async def test_what_still_does_not_fit_goes_on_waiting(self, rig: Rig) -> None:
        row = await rig.add(spec(schema=ORDER))
        id_ = await invalid(rig, row)
        [decision] = await replayed(rig, id_)
        assert (decision.answer, decision.reason) == ("quarantined", "$: 'id' is a required property")
        assert (await kept(rig, id_)).standing is Standing.WAITING
        assert len(await rig.read(quarantine.waiting_ids)) == 1

    async def test_all_triggers_of_a_source_are_asked(self, rig: Rig) -> None:
        rows = [await rig.add(spec(name, source="hooks")) for name in "abc"]
        await edit(rig, rows[1], filter="event.raw_payload.n == 2")
        await rig.disarm(rows[2], DisabledReason.USER)
        stray = replace(UNVERIFIED, installation_id=rows[0].installation_id)
        id_ = await rig.controls.quarantine.keep(stray)
        decisions = await replayed(rig, id_, vouched=True)
        assert [(one.registration, one.answer, one.reason) for one in decisions] == [
            ("a", "accepted", None),
            ("b", "filtered", "filter: false"),
            ("c", "declined", "user"),
        ]
        assert (await rig.events())[0].delivery_id == "d1"

    async def test_what_nobody_could_verify_wants_somebody_who_answers_for_it(self, rig: Rig) -> None:
        row = await rig.add()
        id_ = await rig.controls.quarantine.keep(replace(UNVERIFIED, installation_id=row.installation_id))
        with pytest.raises(Refused, match="could not be verified"):
            await replayed(rig, id_)
        assert [one.answer for one in await replayed(rig, id_, vouched=True)] == ["accepted"]

    async def test_a_body_that_is_no_json_travels_in_base64(self, rig: Rig) -> None:
        row = await rig.add()
        stray = replace(UNVERIFIED, installation_id=row.installation_id, body=b"\xff")
        await replayed(rig, await rig.controls.quarantine.keep(stray), vouched=True)
        [event] = await rig.events()
        told = await rig.read(lambda tx: ledger.envelope_of(tx, event.id))
        assert told["raw_payload"] == {"raw_base64": "/w=="}

    async def test_what_cannot_be_replayed_says_why_and_nothing_else_is(self, rig: Rig) -> None:
        row = await rig.add()
        whose = {"installation_id": row.installation_id, "reason": Reason.OVERFLOW}
        fine = await rig.controls.quarantine.keep(replace(UNVERIFIED, **whose))  # type: ignore[arg-type]
        cut = await rig.controls.quarantine.keep(replace(UNVERIFIED, body=b"x" * 100_000))
        lost = await rig.controls.quarantine.keep(replace(UNVERIFIED, reason=Reason.UNKNOWN_TOPIC))
        for id_, why in ((cut, "only the beginning"), (lost, "nobody knows whose it is")):
            with pytest.raises(Refused, match=why):
                await rig.controls.quarantine.replay([fine, id_], vouched=True)
        with pytest.raises(NotFound):
            await rig.controls.quarantine.replay([fine, "qua_none"], vouched=True)
        assert await rig.events() == []
        await replayed(rig, fine)
        with pytest.raises(Refused, match="was replayed already"):
            await replayed(rig, fine)

    async def test_a_polls_item_can_be_had_after_all(self, rig: Rig) -> None:
        row = await rig.add(replace(FEED, schema={"required": ["x"]}))
        [answer] = await polls(rig).accept_poll(poll(rig, row, "a", then=1))
        assert isinstance(answer, Quarantined)
        [again] = await polls(rig).accept_poll(poll(rig, row, "a", cursor=1, then=2))
        assert isinstance(again, Duplicate)
        await edit(rig, row, schema=None)
        assert [one.answer for one in await replayed(rig, answer.quarantine_id)] == ["accepted"]
        [once_more] = await polls(rig).accept_poll(poll(rig, row, "a", cursor=2, then=3))
        assert isinstance(once_more, Duplicate)
        assert (await rig.read(audit.audited)).problems == []


async def test_a_rehearsal_says_what_a_replay_would_do_and_changes_nothing(rig: Rig) -> None:
    rows = [await rig.add(spec(name, source="hooks")) for name in "abc"]
    await edit(rig, rows[1], schema=ORDER)
    first = await rig.accepted(rows[2], "d1")
    id_ = await rig.controls.quarantine.keep(replace(UNVERIFIED, installation_id=rows[0].installation_id))
    before, told = await rig.count(EVERYTHING), len(rig.notices.all)
    for _ in range(2):
        [found] = await rig.controls.quarantine.rehearse([id_])
        assert isinstance(found, Replayed)
        assert [(one.answer, one.reason) for one in found.decisions] == [
            ("accepted", None),
            ("quarantined", "$: 'id' is a required property"),
            ("duplicate", None),
        ]
        assert found.decisions[2].event_id == first.event_id
    assert await rig.count(EVERYTHING) == before
    assert len(rig.notices.all) == told
    assert (await kept(rig, id_)).standing is Standing.WAITING


async def test_what_is_dropped_leaves_a_line_and_no_body(rig: Rig) -> None:
    ids = [await rig.controls.quarantine.keep(UNVERIFIED) for _ in range(3)]
    assert await rig.controls.quarantine.drop(ids[:1], everything=False) == ids[:1]
    found = await kept(rig, ids[0])
    assert (found.standing, found.stray.body) == (Standing.DROPPED, None)
    with pytest.raises(Refused, match="was dropped already"):
        await rig.controls.quarantine.drop(ids[:1], everything=False)
    assert await rig.controls.quarantine.drop([], everything=True) == ids[1:]
    assert await rig.read(quarantine.waiting) == 0


async def test_an_audit_misses_the_event_of_a_replay(rig: Rig) -> None:
    row = await rig.add(spec(schema=ORDER))
    id_ = await invalid(rig, row)
    await on_writer(
        rig.store,
        f"UPDATE quarantine SET state = 'replayed', settled_at = 1, events = '[\"evt_{'9' * 32}\"]'",  # noqa: S608
    )
    [problem] = (await rig.read(audit.audited)).problems
    assert (problem.check, problem.id) == ("lost replays", id_)
