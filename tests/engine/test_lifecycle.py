"""Which sources run: those of active rows, each on its own, with what ails them written down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.engine.pausing import pause, resume
from tests.engine.rig import Rig, spec
from tests.fakes import DEADLINE_S, succeeded
from tests.store.raw import on_writer
from tocsin.engine import lifecycle
from tocsin.engine.lifecycle import Lifecycle
from tocsin.errors import StoreUnusable
from tocsin.notices import SourceFailed, SourceRecovered
from tocsin.registration import Registration
from tocsin.seams import Source
from tocsin.store import installations
from tocsin.store.connection import on_thread
from tocsin.trigger import Json, Kind, TriggerSpec


class FakeSource:
    """Implements `seams.Source`; runs until it is told to fail."""

    def __init__(self, registrations: Sequence[Registration]) -> None:
        self.registrations = registrations
        self.at_rest = True
        self.watching = asyncio.Event()
        self.runs = 0
        self.is_running = False
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        self.runs += 1
        self.is_running = True
        self.watching.set()
        try:
            await self._end
        finally:
            self.is_running = False
            self._end = asyncio.get_running_loop().create_future()

    def serve(self, registrations: Sequence[Registration]) -> None:
        self.registrations = registrations

    def fail(self, error: Exception) -> None:
        self.watching.clear()
        self._end.set_exception(error)


class Sources:
    """A lifecycle of fake sources."""

    def __init__(self, rig: Rig, group: asyncio.TaskGroup) -> None:
        self.rig = rig
        self.made: list[FakeSource] = []
        self.lifecycle = Lifecycle(
            store=rig.store, announce=rig.notices, factories={"files": self._make}, group=group
        )

    def _make(self, registrations: Sequence[Registration]) -> Source:
        self.made.append(FakeSource(registrations))
        return self.made[-1]

    async def look(self) -> list[str]:
        """One round; the names of the sources that run after it."""
        assert await self.lifecycle.once(self.rig.clock.now()) == 1.0
        await asyncio.sleep(0)  # new tasks take their first step
        return [source.registrations[0].spec.name for source in self.made if source.is_running]


@asynccontextmanager
async def sources(rig: Rig) -> AsyncIterator[Sources]:
    async with asyncio.timeout(DEADLINE_S), asyncio.TaskGroup() as group:
        made = Sources(rig, group)
        yield made
        await made.lifecycle.stop()
        assert not any(source.is_running for source in made.made)


def failed(row: Registration, error: str) -> SourceFailed:
    return SourceFailed(installation_id=row.installation_id, source=row.spec.name, error=error)


def files(name: str = "inbox", **props: Json) -> TriggerSpec:
    return spec(name, kind=Kind.FILE, component="files", props={"paths": ["/in"], **props})


async def test_active_rows_of_known_components_have_a_source(rig: Rig) -> None:
    for trigger in (files("a"), files("b"), spec("hook")):
        await rig.add(trigger)
    await rig.disarm(await rig.add(files("off")))
    async with sources(rig) as found:
        assert await found.look() == ["a", "b"]
        assert await found.look() == ["a", "b"]
        assert len(found.made) == 2


async def test_a_row_that_is_turned_off_loses_its_source_and_gets_another_when_it_is_on(rig: Rig) -> None:
    row = await rig.add(files())
    async with sources(rig) as found:
        assert await found.look() == ["inbox"]
        await rig.disarm(row)
        assert await found.look() == []
        rig.clock.advance(1)
        await rig.enable(row)
        assert await found.look() == ["inbox"]
        await rig.remove(row)
        assert await found.look() == []


async def test_other_props_are_another_source(rig: Rig) -> None:
    row = await rig.add(files())
    async with sources(rig) as found:
        await found.look()
        await rig.write(lambda tx: installations.update_props(tx, row.installation_id, {"paths": ["/else"]}))
        await found.look()
        assert [source.is_running for source in found.made] == [False, True]
        assert found.made[1].registrations[0].spec.props == {"paths": ["/else"]}


async def test_one_that_was_off_between_two_looks_starts_anew(rig: Rig) -> None:
    """It has to begin from what is there now."""
    row = await rig.add(files())
    async with sources(rig) as found:
        await found.look()
        rig.clock.advance(1)
        await rig.disarm(row)
        await rig.enable(row)
        await found.look()
        assert [source.is_running for source in found.made] == [False, True]


async def test_what_a_run_changes_in_its_row_leaves_its_source_alone(open_engine: Rig) -> None:
    row = await open_engine.add(files())
    async with sources(open_engine) as found:
        await found.look()
        await open_engine.bookmarks.baseline(row.installation_id, [])
        await open_engine.accept(row)
        await open_engine.settle(open_engine.taken.pop(), succeeded(state=1, next_fire_at="1h"))
        await found.look()
        assert len(found.made) == 1


async def test_a_source_that_fails_is_told_of_and_tried_again_beside_the_others(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "BACKOFF_CEILING_S", 0)
    await rig.add(files("bad"))
    await rig.add(files("good"))
    async with sources(rig) as found:
        await found.look()
        bad, good = found.made
        bad.fail(OSError("the folder is gone"))
        notice = await rig.notices.wait_for(SourceFailed)
        assert (notice.source, notice.error) == ("bad", "OSError: the folder is gone")
        await bad.watching.wait()
        assert (bad.runs, good.runs) == (2, 1)
        assert await found.look() == ["bad", "good"]


class TestRest:
    async def test_all_are_at_rest_or_none_is(self, rig: Rig) -> None:
        for name in ("a", "b"):
            await rig.add(files(name))
        async with sources(rig) as found:
            await found.look()
            assert found.lifecycle.is_at_rest
            found.made[1].at_rest = False
            assert not found.lifecycle.is_at_rest

    async def test_waiting_for_sources_ends_when_all_watch_or_the_time_is_up(self, rig: Rig) -> None:
        await rig.add(files())
        async with sources(rig) as found:
            await found.lifecycle.watch(DEADLINE_S)  # nobody to wait for
            await found.look()
            await found.lifecycle.watch(DEADLINE_S)
            found.made[0].watching.clear()
            await found.lifecycle.watch(0.01)


class TestAilments:
    async def test_what_ails_a_source_is_its_rows_error_until_it_is_well(self, rig: Rig) -> None:
        row = await rig.add(files())
        async with sources(rig) as found:
            found.lifecycle.attend(failed(row, "gone"))
            await found.look()
            ill = await rig.row(row.id)
            assert (ill.last_error, ill.status(rig.clock.now())) == ("gone", "error")
            found.lifecycle.attend(SourceRecovered(installation_id=row.installation_id, source="inbox"))
            await found.look()
            well = await rig.row(row.id)
            assert (well.last_error, well.status(rig.clock.now())) == (None, "active")

    async def test_they_are_kept_until_they_can_be_written(self, rig: Rig) -> None:
        row = await rig.add(files())
        async with sources(rig) as found:
            found.lifecycle.attend(failed(row, "gone"))
            await on_writer(rig.store, "PRAGMA query_only = ON")
            with pytest.raises(StoreUnusable):
                await found.look()
            await on_writer(rig.store, "PRAGMA query_only = OFF")
            await found.look()
            assert (await rig.row(row.id)).last_error == "gone"

    async def test_news_that_come_while_they_are_written_are_not_lost(self, rig: Rig) -> None:
        rows = [await rig.add(files(name)) for name in ("a", "b")]
        loop = asyncio.get_running_loop()
        async with sources(rig) as found:
            news = [failed(rows[1], "new"), failed(rows[0], "newer")]

            def trace(statement: str) -> None:
                while news and statement.startswith("UPDATE installations"):
                    loop.call_soon_threadsafe(found.lifecycle.attend, news.pop())

            found.lifecycle.attend(failed(rows[0], "old"))
            await on_thread(rig.store._writer, lambda connection: connection.set_trace_callback(trace))
            await found.look()
            assert [(await rig.row(row.id)).last_error for row in rows] == ["old", None]
            await found.look()
            assert [(await rig.row(row.id)).last_error for row in rows] == ["newer", "new"]

    async def test_one_of_a_removed_trigger_is_nobodys(self, rig: Rig) -> None:
        async with sources(rig) as found:
            found.lifecycle.attend(SourceFailed(installation_id="ins_x", source="nobody", error="gone"))
            assert await found.look() == []


async def test_a_paused_one_is_stopped_and_the_same_source_goes_on(rig: Rig) -> None:
    """It knows how far it had looked: what changed meanwhile is told, whatever `start` says."""
    row = await rig.add(files())
    async with sources(rig) as found:
        await found.look()
        await pause(rig, row, until=rig.clock.now() + timedelta(minutes=1))
        assert await found.look() == []
        assert found.lifecycle.is_at_rest
        rig.clock.advance(60)
        assert await found.look() == ["inbox"], "its end is seen whoever resumes it"
        await pause(rig, row)
        await found.look()
        await resume(rig, row)
        assert await found.look() == ["inbox"]
        assert [source.runs for source in found.made] == [3]


async def test_one_that_is_paused_from_the_start_has_no_source(rig: Rig) -> None:
    row = await rig.add(files())
    await pause(rig, row)
    async with sources(rig) as found:
        assert await found.look() == []
        assert found.made == []
        await resume(rig, row)
        assert await found.look() == ["inbox"]


async def test_other_props_or_another_arming_in_a_pause_are_another_source(rig: Rig) -> None:
    row = await rig.add(files())
    async with sources(rig) as found:
        await found.look()
        await pause(rig, row)
        await found.look()
        rig.clock.advance(1)
        await rig.disarm(row)
        await rig.enable(row)
        await resume(rig, row)
        assert await found.look() == ["inbox"]
        assert [source.is_running for source in found.made] == [False, True]


async def test_one_that_drifted_watches_nothing(rig: Rig) -> None:
    await rig.add(files())
    async with sources(rig) as found:
        await found.look()
        await on_writer(rig.store, "UPDATE registrations SET drifted_at = 1, component_version = 0")
        assert await found.look() == []


class TestSharedSources:
    async def test_one_source_speaks_for_all_that_name_it(self, rig: Rig) -> None:
        for name in ("a", "b"):
            await rig.add(replace(files(name), source="downloads"))
        async with sources(rig) as found:
            await found.look()
            assert [names(source) for source in found.made] == [["a", "b"]]

    async def test_it_goes_on_for_one_that_is_paused_and_stops_with_the_last(self, rig: Rig) -> None:
        a, b = [await rig.add(replace(files(name), source="downloads")) for name in ("a", "b")]
        async with sources(rig) as found:
            await found.look()
            await pause(rig, a)
            assert await found.look() == ["a"]
            assert names(found.made[0]) == ["a", "b"]  # what it tells a waits for the end of the pause
            await rig.disarm(b)
            assert await found.look() == []

    async def test_a_newcomer_joins_without_a_restart(self, rig: Rig) -> None:
        await rig.add(replace(files("a"), source="downloads"))
        async with sources(rig) as found:
            await found.look()
            rig.clock.advance(1)
            await rig.add(replace(files("b"), source="downloads"))
            await found.look()
            assert [names(source) for source in found.made] == [["a", "b"]]


def names(source: FakeSource) -> list[str]:
    return [row.spec.name for row in source.registrations]
