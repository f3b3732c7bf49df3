"""Filters and schemas at the door: judged outside the transaction, whatever kind the trigger is of."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Any

from tests.engine.rig import Rig, ended, scheduled, spec
from tests.engine.test_polling import FEED, poll, polls
from tests.fakes import succeeded
from tests.store.raw import on_writer
from tocsin.engine.admission import admit
from tocsin.engine.judging import ROUNDS, Batch, Verdict, Wanted, write_judged
from tocsin.event import Accepted, Duplicate, Filtered, Limited, Origin, Quarantined
from tocsin.notices import DeliveryFiltered, DeliveryQuarantined
from tocsin.registration import Registration
from tocsin.seams import FileMark
from tocsin.store import ledger, quarantine, registrations
from tocsin.store.connection import Tx
from tocsin.trigger import Every, Json, Kind, Rate

CREATED = 'event.raw_payload.action == "created"'
ORDER: dict[str, Json] = {"type": "object", "required": ["id"]}


async def journal(rig: Rig, what: str) -> list[str]:
    return [row[0] for row in await on_writer(rig.store, f"SELECT reason FROM journal WHERE what = '{what}'")]  # noqa: S608


async def edit(rig: Rig, row: Registration, **changes: Any) -> None:
    """Another wording of a trigger."""
    wanted = replace(row.spec, **changes)

    def step(tx: Tx) -> None:
        registrations.update_spec(
            tx, row.id, wanted, installation_id=row.installation_id, workflow_version=row.workflow_version
        )

    await rig.write(step)


async def test_what_the_filter_does_not_fit_is_a_line_in_the_journal(rig: Rig) -> None:
    row = await rig.add(spec(filter=CREATED))
    assert await rig.accept(row, "d1", payload={"action": "closed"}) == Filtered()
    assert await rig.accept(row, "d2", payload={}) == Filtered()
    assert isinstance(await rig.accept(row, "d3", payload={"action": "created"}), Accepted)
    assert await journal(rig, "filtered") == ["filter: false", "filter: there is no action"]
    assert [event.delivery_id for event in await rig.events()] == ["d3"]
    assert rig.notices.of(DeliveryFiltered)[0].reason == "filter: false"


async def test_what_was_filtered_is_taken_once_the_filter_is_gone(rig: Rig) -> None:
    row = await rig.add(spec(filter="false"))
    assert await rig.accept(row, "d1") == Filtered()
    await edit(rig, row, filter=None)
    assert isinstance(await rig.accept(row, "d1"), Accepted)


async def test_a_person_and_a_replay_get_what_they_ask_for(rig: Rig) -> None:
    row = await rig.add(spec(filter="false", schema={"type": "string"}))
    for origin in (Origin.MANUAL, Origin.REPLAY):
        assert isinstance(await rig.accept(row, origin, origin=origin), Accepted)
    for origin in (Origin.CATCH_UP, Origin.SELF, Origin.LIVE):
        assert await rig.accept(row, origin, origin=origin) == Filtered()


async def test_a_payload_of_another_shape_is_kept_aside(rig: Rig) -> None:
    row = await rig.add(spec(schema=ORDER))
    answer = await rig.accept(row, "d1", payload={"no": 1}, body=b'{"no":1}', safe_headers={"x-event": "e"})
    assert isinstance(answer, Quarantined)
    assert answer.reason == "schema_invalid"
    kept = await rig.read(lambda tx: quarantine.by_id(tx, answer.quarantine_id))
    assert kept is not None
    assert kept.stray.detail == "$: 'id' is a required property"
    assert (kept.registration, kept.stray.payload, kept.stray.body) == ("t", {"no": 1}, b'{"no":1}')
    assert kept.stray.headers == {"x-event": "e"}
    assert rig.notices.of(DeliveryQuarantined)[0].quarantine_id == answer.quarantine_id
    assert await rig.accept(row, "d1", payload={"no": 1}) == answer, "kept once, however often it comes"
    assert await rig.events() == []


async def test_an_event_says_what_its_own_trigger_found(rig: Rig) -> None:
    rows = [await rig.add(spec("with", source="s", schema=ORDER)), await rig.add(spec("without", source="s"))]
    answers = await rig.acceptor.accept_all([rig.occurrence(row, payload={"id": 1}) for row in rows])
    assert not isinstance(answers, Limited)
    found = [answer for answer in answers if isinstance(answer, Accepted)]
    assert len(found) == 2
    for answer, status in zip(found, ("valid", "unchecked"), strict=True):
        told = await rig.read(lambda tx, id_=answer.event_id: ledger.envelope_of(tx, id_))  # type: ignore[misc]
        assert told["schema_status"] == status
    assert await rig.count("SELECT count(*) FROM deliveries") == 1


async def test_three_triggers_with_filters_of_their_own_share_one_delivery(rig: Rig) -> None:
    wanted = {"a": CREATED, "b": "false", "c": None}
    rows = [await rig.add(spec(name, source="s", filter=text)) for name, text in wanted.items()]
    occurrences = [rig.occurrence(row, payload={"action": "created"}) for row in rows]
    answers = await rig.acceptor.accept_all(occurrences)
    assert not isinstance(answers, Limited)
    assert [type(answer) for answer in answers] == [Accepted, Filtered, Accepted]
    assert await rig.count("SELECT count(*) FROM deliveries") == 1


async def test_only_what_somebody_wants_counts_for_the_rate(rig: Rig) -> None:
    row, rate = await rig.add(spec(filter=CREATED)), Rate(count=1, per=timedelta(minutes=1))
    for delivery in ("d1", "d2"):
        answers = await rig.acceptor.accept_all([rig.occurrence(row, delivery, payload={})], rate=rate)
        assert answers == [Filtered()]
    wanted = [rig.occurrence(row, "d3", payload={"action": "created"})]
    assert not isinstance(await rig.acceptor.accept_all(wanted, rate=rate), Limited)
    again = [rig.occurrence(row, "d4", payload={"action": "created"})]
    assert isinstance(await rig.acceptor.accept_all(again, rate=rate), Limited)


async def test_types_that_the_source_is_not_asked_for_are_filtered(rig: Rig) -> None:
    row = await rig.add(spec(props={"events": ["push"]}))
    assert await rig.accept(row, "d1", event_type="issues") == Filtered()
    assert await rig.accept(row, "d2") == Filtered()
    assert isinstance(await rig.accept(row, "d3", event_type="push"), Accepted)
    assert await journal(rig, "filtered") == [
        "event type 'issues', which is not among `events`",
        "no event type, which is not among `events`",
    ]


async def test_a_filter_that_is_edited_while_it_judges_is_asked_again(rig: Rig) -> None:
    row = await rig.add(spec(filter="true"))
    answer, _ = await asyncio.gather(rig.accept(row, "d1"), edit(rig, row, filter="false"))
    assert answer == Filtered()


async def test_a_polls_item_is_remembered_so_that_an_edited_filter_fires_nothing_old(rig: Rig) -> None:
    row, source = await rig.add(replace(FEED, filter='event.raw_payload.id == "b"')), polls(rig)
    answers = await source.accept_poll(poll(rig, row, "a", "b", then=1))
    assert [type(answer) for answer in answers] == [Filtered, Accepted]
    await edit(rig, row, filter="true")
    answers = await source.accept_poll(poll(rig, row, "a", "b", cursor=1, then=2))
    assert [type(answer) for answer in answers] == [Duplicate, Duplicate]
    assert isinstance(answers[0], Duplicate)
    assert answers[0].reason == "filtered"


async def test_a_file_that_is_not_wanted_leaves_its_mark(rig: Rig) -> None:
    row = await rig.add(
        spec(kind=Kind.FILE, component="files", filter='event.raw_payload.name.endsWith(".pdf")')
    )
    mark = FileMark(path=b"/x.txt", generation=1, size=1, mtime_ns=1, inode=1)
    occurrence = rig.occurrence(row, "f1", payload={"name": "x.txt"})
    assert await rig.bookmarks.record(row.installation_id, [mark], [occurrence]) == [Filtered()]
    assert await rig.count("SELECT count(*) FROM files") == 1


async def test_a_schedule_goes_on_past_what_its_filter_does_not_want(rig: Rig) -> None:
    row = await rig.add(
        scheduled(schedule=Every(every=timedelta(minutes=1)), filter='event.raw_payload.planned_at == ""')
    )
    rig.clock.advance(60)
    await rig.tick()
    assert await rig.events() == []
    assert await journal(rig, "filtered") == ["filter: false"]
    later = (await rig.row(row.id)).next_fire_at
    assert later is not None
    assert later > rig.clock.now()


async def test_a_chain_is_filtered_by_what_the_run_put_out(open_engine: Rig) -> None:
    rig = open_engine
    first = await rig.add(spec("first"))
    after: dict[str, Any] = {"kind": Kind.RUN, "component": "after", "workflow": "v"}
    props = {"trigger": "first", "on": "any"}
    for name, n in (("one", 1), ("two", 2)):
        await rig.add(spec(name, props=props, filter=f"event.raw_payload.result.n == {n}", **after))
    await ended(rig, succeeded(n=2), first)
    assert [event.registration for event in await rig.events()] == ["first", "two"]
    assert await journal(rig, "filtered") == ["filter: false"]
    assert await rig.count("SELECT count(*) FROM runs WHERE state = 'running'") == 1


async def test_what_is_another_question_each_time_is_judged_where_it_stands(rig: Rig) -> None:
    row, asked = await rig.add(spec(filter="event.raw_payload.n > 2")), count()

    def step(tx: Tx, batch: Batch) -> Verdict:
        found = registrations.by_id(tx, row.id) or row
        return batch.verdict(found, rig.occurrence(row, payload={"n": next(asked)}))

    assert await write_judged(rig.store, step, rig.clock.now()) == Wanted()
    assert next(asked) == ROUNDS + 1


async def test_without_a_batch_it_is_judged_in_the_transaction(rig: Rig) -> None:
    row = await rig.add(spec(filter="false"))
    occurrence, now = rig.occurrence(row), rig.clock.now()
    assert await rig.write(lambda tx: admit(tx, occurrence, now=now, announce=rig.notices)) == Filtered()
