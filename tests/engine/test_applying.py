"""A configuration into rows: what is added, changed, switched off and hidden, and what is left alone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from tests.engine.rig import Rig
from tests.fakes import failed, succeeded
from tests.store.raw import on_writer
from tocsin.errors import ConfigInvalid
from tocsin.identity import token_hash
from tocsin.notices import ConfigApplied, Disarmed, EventDropped
from tocsin.registration import DisabledReason, RowOrigin
from tocsin.store import journal, registrations, workflows
from tocsin.trigger import Cron, Kind

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
W = '[workflows.w]\ncommand = ["true"]\n'


def trigger(name: str = "t", body: str = 'cron = "0 9 * * *"') -> str:
    return f'[triggers.{name}]\nworkflow = "w"\n{body}\n'


class TestAdd:
    async def test_what_the_file_names_is_a_row(self, rig: Rig) -> None:
        await rig.apply(W + trigger(body='cron = "0 9 * * *"\ntags = ["a"]\nconfig = { out = "/srv" }'))
        row = await rig.named("t")
        assert re.fullmatch("trg_[0-9a-f]{32}", row.id)
        assert (row.spec.kind, row.spec.schedule) == (Kind.SCHEDULE, Cron(expr="0 9 * * *", tz="UTC"))
        assert (row.spec.tags, row.spec.config, row.origin) == (("a",), {"out": "/srv"}, RowOrigin.FILE)
        assert (row.next_fire_at, row.armed_at, row.enabled) == (NOON + 21 * HOUR, NOON, True)
        assert (row.schedule_revision, row.workflow_version) == (1, 1)

    async def test_one_that_is_written_as_off_is_off(self, rig: Rig) -> None:
        await rig.apply(W + trigger(body='cron = "0 9 * * *"\nenabled = false'))
        row = await rig.named("t")
        assert (row.enabled, row.disabled_reason) == (False, DisabledReason.CONFIG)
        assert row.next_fire_at is None

    async def test_a_webhook_gets_a_token_whose_hash_alone_is_in_the_database(self, rig: Rig) -> None:
        await rig.apply(W + trigger(body="webhook = {}"))
        row = await rig.named("t")
        token = rig.secrets.values[f"token/{row.id}"]
        assert len(token) >= 22
        assert await rig.read(lambda tx: journal.token_of(tx, row.id)) == token_hash(token)
        found = await rig.read(lambda tx: registrations.by_token(tx, token_hash(token)))
        assert found is not None
        assert found.id == row.id
        dump = await on_writer(rig.store, "SELECT * FROM tokens")
        assert token not in str(dump)

    async def test_others_get_none(self, rig: Rig) -> None:
        await rig.apply(W + trigger())
        assert rig.secrets.values == {}

    async def test_what_was_done_is_told(self, rig: Rig) -> None:
        applied = await rig.apply(W + trigger("a") + trigger("b"))
        assert [addition.name for addition in applied.plan.added] == ["a", "b"]
        path = str(rig.paths.config)
        assert rig.notices.of(ConfigApplied) == [ConfigApplied(path=path, added=2, changed=0, disabled=0)]
        assert rig.changes == [applied.loaded.configuration.engine]
        fact = await rig.read(lambda tx: journal.fact(tx, "config"))
        assert fact == {"path": path, "ok": True, "error": None}

    async def test_applying_again_changes_nothing(self, rig: Rig) -> None:
        text = W + trigger("a") + trigger("b", "webhook = {}") + trigger("c", "manual = true")
        await rig.apply(text)
        before = await rig.read(registrations.present), dict(rig.secrets.values)
        rig.clock.advance(HOUR)
        applied = await rig.apply(text)
        assert applied.plan.empty
        assert (await rig.read(registrations.present), rig.secrets.values) == before


class TestChange:
    async def test_another_schedule_is_another_revision_armed_now(self, rig: Rig) -> None:
        await rig.apply(W + trigger())
        before = await rig.named("t")
        rig.clock.advance(HOUR)
        await rig.apply(W + trigger(body='cron = "0 10 * * *"'))
        row = await rig.named("t")
        assert (row.id, row.schedule_revision) == (before.id, 2)
        assert (row.next_fire_at, row.armed_at) == (NOON + 22 * HOUR, NOON + HOUR)

    async def test_an_edit_of_anything_else_leaves_the_schedule_alone(self, rig: Rig) -> None:
        await rig.apply(W + trigger(body='every = "7m"'))
        before = await rig.named("t")
        rig.clock.advance(60)
        await rig.apply(W + trigger(body='every = "7m"\nmax_attempts = 9'))
        row = await rig.named("t")
        assert (row.next_fire_at, row.armed_at) == (before.next_fire_at, before.armed_at)
        assert (row.schedule_revision, row.spec.max_attempts) == (1, 9)

    async def test_state_counters_and_streak_stay(self, open_engine: Rig) -> None:
        await open_engine.apply(W + trigger(body="manual = true"))
        row = await open_engine.named("t")
        for outcome in (succeeded(state={"v": 1}), failed()):
            await open_engine.fire(row, outcome.verdict)
            await open_engine.settle(open_engine.taken.pop(), outcome)
        await open_engine.apply(W + trigger(body="manual = true\nmax_attempts = 9"))
        after = await open_engine.named("t")
        assert (after.state, after.run_count, after.consecutive_failures) == ({"v": 1}, 1, 1)
        assert after.last_fired_at == NOON

    async def test_a_planned_instant_of_the_old_schedule_is_not_one_of_the_new(self, rig: Rig) -> None:
        """The revision is part of the delivery id."""
        await rig.apply(W + trigger(body='cron = "* * * * *"'))
        rig.clock.advance(60)
        await rig.tick()
        await rig.apply(W + trigger(body='cron = "*/1 * * * *"'))
        rig.clock.advance(60)
        await rig.tick()
        assert [event.delivery_id.split(":")[0] for event in await rig.events()] == ["1", "2"]

    async def test_never_is_lifted_by_another_schedule(self, open_engine: Rig) -> None:
        await open_engine.apply(W + trigger())
        row = await open_engine.named("t")
        await open_engine.fire(row, "by hand")
        await open_engine.settle(open_engine.taken.pop(), succeeded(next_fire_at="never"))
        await open_engine.apply(W + trigger(body='cron = "0 9 * * *"\nmax_attempts = 9'))
        assert (await open_engine.named("t")).held_until_enabled
        await open_engine.apply(W + trigger(body='cron = "0 10 * * *"'))
        after = await open_engine.named("t")
        assert (after.held_until_enabled, after.next_fire_at) == (False, NOON + 22 * HOUR)

    async def test_a_workflows_version_rises_with_its_definition(self, rig: Rig) -> None:
        await rig.apply(W + trigger())
        await rig.apply('[workflows.w]\ncommand = ["false"]\n' + trigger())
        found = await rig.read(lambda tx: workflows.by_name(tx, "w"))
        assert found is not None
        assert (found[0].command, found[1]) == (("false",), 2)

    async def test_another_source_is_another_installation(self, rig: Rig) -> None:
        await rig.apply(W + trigger(body="manual = true"))
        before = await rig.named("t")
        await rig.apply(W + trigger(body="webhook = {}"))
        row = await rig.named("t")
        assert row.id == before.id
        assert row.installation_id != before.installation_id
        assert f"token/{row.id}" in rig.secrets.values

    async def test_another_folder_is_the_same_installation_with_other_props(self, rig: Rig) -> None:
        """What is new in it is the source's to tell: its marks stay."""
        await rig.apply(W + trigger(body='files = { path = "/a" }'))
        row = await rig.named("t")
        await rig.bookmarks.baseline(row.installation_id, [])
        await rig.apply(W + trigger(body='files = { path = "/b" }'))
        after = await rig.named("t")
        assert after.installation_id == row.installation_id
        assert after.spec.props["paths"] == ["/b"]
        assert await rig.bookmarks.load(row.installation_id) == {}


class TestOff:
    async def test_a_row_that_leaves_the_file_is_switched_off_and_what_waits_is_dropped(
        self, rig: Rig
    ) -> None:
        await rig.apply(W + trigger("a") + trigger("b", "manual = true"))
        row = await rig.named("b")
        await rig.fire(row, "by hand")
        await rig.apply(W + trigger("a"))
        after = await rig.named("b")
        assert (after.enabled, after.disabled_reason) == (False, DisabledReason.CONFIG)
        assert [(event.state.value, event.reason) for event in await rig.events()] == [("dropped", "config")]
        assert [notice.registration for notice in rig.notices.of(Disarmed)] == ["b"]
        assert len(rig.notices.of(EventDropped)) == 1

    async def test_it_returns_with_the_file_and_keeps_its_history(self, rig: Rig) -> None:
        await rig.apply(W + trigger())
        before = await rig.named("t")
        await rig.apply(W)
        rig.clock.advance(24 * HOUR)
        await rig.apply(W + trigger())
        row = await rig.named("t")
        assert (row.id, row.enabled, row.disabled_reason) == (before.id, True, None)
        assert row.next_fire_at == NOON + 45 * HOUR

    async def test_it_returns_as_it_is_written_now(self, rig: Rig) -> None:
        await rig.apply(W + trigger())
        await rig.apply(W)
        await rig.apply(W + trigger(body='cron = "0 10 * * *"'))
        row = await rig.named("t")
        assert (row.enabled, row.next_fire_at) == (True, NOON + 22 * HOUR)

    async def test_the_file_may_switch_a_row_off_and_on(self, rig: Rig) -> None:
        off = W + trigger(body='cron = "0 9 * * *"\nenabled = false')
        await rig.apply(W + trigger())
        await rig.apply(off)
        assert (await rig.named("t")).disabled_reason is DisabledReason.CONFIG
        await rig.apply(W + trigger())
        assert (await rig.named("t")).enabled

    @pytest.mark.parametrize(
        "reason", [reason for reason in DisabledReason if reason is not DisabledReason.CONFIG]
    )
    async def test_no_other_disarm_is_lifted_by_applying(self, rig: Rig, reason: DisabledReason) -> None:
        await rig.apply(W + trigger())
        await rig.disarm(await rig.named("t"), reason)
        for text in (W + trigger(), W + trigger(body='cron = "0 10 * * *"'), W, W + trigger()):
            await rig.apply(text)
            row = await rig.named("t")
            assert (row.enabled, row.disabled_reason) == (False, reason)
        assert row.next_fire_at is None or not row.enabled


class TestPrune:
    async def test_it_hides_what_left_the_file_and_frees_the_name(self, rig: Rig) -> None:
        await rig.apply(W + trigger(body="webhook = {}"))
        old = await rig.named("t")
        await rig.accept(old, "waits")
        await rig.apply(W, prune=True)
        gone = await rig.row(old.id)
        assert gone.removed_at == rig.clock.now()
        assert gone.status(rig.clock.now()) == "removed"
        assert rig.secrets.values == {}
        assert [(event.state.value, event.reason) for event in await rig.events()] == [("dropped", "removed")]
        await rig.apply(W + trigger(body="webhook = {}"))
        assert (await rig.named("t")).id != old.id

    async def test_it_takes_those_along_that_were_off_already(self, rig: Rig) -> None:
        await rig.apply(W + trigger())
        await rig.disarm(await rig.named("t"), DisabledReason.FAILURES)
        await rig.apply(W, prune=True)
        assert await rig.read(registrations.present) == []

    async def test_rows_that_did_not_come_from_the_file_are_left_alone(self, rig: Rig) -> None:
        rig.configure(W)
        await rig.controls.configuring.add("mine", {"workflow": "w", "manual": True}, base=rig.paths.home)
        await rig.apply(W, prune=True)
        assert (await rig.named("mine")).enabled


class TestAllOrNothing:
    async def test_a_name_that_somebody_made_by_hand_stops_everything(self, rig: Rig) -> None:
        rig.configure(W)
        await rig.controls.configuring.add("mine", {"workflow": "w", "manual": True}, base=rig.paths.home)
        with pytest.raises(ConfigInvalid, match="mine"):
            await rig.apply(W + trigger("new") + trigger("mine"))
        assert [row.spec.name for row in await rig.read(registrations.present)] == ["mine"]

    async def test_a_file_with_a_mistake_changes_nothing(self, rig: Rig) -> None:
        await rig.apply(W + trigger())
        before = await rig.read(registrations.present)
        with pytest.raises(ConfigInvalid):
            await rig.apply(W + trigger("a") + trigger("b", 'cron = "nonsense"'))
        assert await rig.read(registrations.present) == before

    async def test_a_mistake_is_remembered_until_a_good_file_comes(self, rig: Rig) -> None:
        try:
            await rig.apply(W + trigger("b", 'cron = "nonsense"'))
        except ConfigInvalid as error:
            await rig.controls.configuring.note_rejected(error.problems)
        fact = await rig.read(lambda tx: journal.fact(tx, "config"))
        assert isinstance(fact, dict)
        assert fact["ok"] is False
        assert "nonsense" in str(fact["error"])
        await rig.apply(W)
        assert await rig.read(lambda tx: journal.fact(tx, "config")) == {
            "path": str(rig.paths.config),
            "ok": True,
            "error": None,
        }

    async def test_planning_changes_nothing(self, rig: Rig) -> None:
        rig.configure(W + trigger())
        applied = await rig.controls.configuring.plan(by_hand=False)
        assert [addition.first for addition in applied.plan.added] == [NOON + 21 * HOUR]
        assert await rig.read(registrations.present) == []
        assert rig.changes == []
