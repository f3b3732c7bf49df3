"""File triggers and what their own runs write: declared, found out, and left alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.engine.rig import Rig, open_rig, spec
from tests.fakes import FakeClock, failed, succeeded
from tocsin.event import Answer, Declined, Filtered, Occurrence, State
from tocsin.notices import Disarmed
from tocsin.registration import DisabledReason, Registration
from tocsin.runs import Outcome
from tocsin.seams import FileMark
from tocsin.store import events, installations, journal, workflows
from tocsin.trigger import Json, Kind, Overlap


async def watching(rig: Rig, name: str = "t", **changes: Any) -> Registration:
    plain: dict[str, Any] = {"kind": Kind.FILE, "component": "files", "overlap": Overlap.ALLOW}
    return await rig.add(spec(name, **(plain | changes)))


class Folder:
    """Tells a trigger of files, as its source does. ago: seconds since the last one changed, when told."""

    def __init__(self, rig: Rig, row: Registration) -> None:
        self.rig = rig
        self.row = row
        self.generation = 0

    async def tell_batch(self, ago: dict[str, float]) -> Answer:
        """ago: seconds since each of the files last changed."""
        each = tuple(self.rig.clock.now() - timedelta(seconds=seconds) for seconds in ago.values())
        payload: Json = {"files": [{"path": path} for path in ago], "count": len(ago)}
        return await self.tell("batch", payload=payload, ago=min(ago.values()), changed_each=each)

    async def tell(
        self, path: str = "/in/a", *, ago: float | None = 1.5, payload: Json = None, **more: Any
    ) -> Answer:
        self.generation += 1
        told = self.rig.occurrence(self.row, f"{path}:{self.generation}", payload=payload or {"path": path})
        changed = None if ago is None else self.rig.clock.now() - timedelta(seconds=ago)
        mark = FileMark(path=path.encode(), generation=self.generation, size=1, mtime_ns=1, inode=1)
        (answer,) = await self.record([mark], [replace(told, changed_at=changed, **more)])
        return answer

    async def record(self, marks: list[FileMark], told: list[Occurrence]) -> Sequence[Answer]:
        return await self.rig.bookmarks.record(self.row.installation_id, marks, told)

    async def run(self, seconds: float, outcome: Outcome | None = None) -> None:
        """Let the run that was started last go on for so long, and end."""
        self.rig.clock.advance(seconds)
        await self.rig.settle(self.rig.taken.pop(), outcome or succeeded())


async def reason(rig: Rig, row: Registration) -> DisabledReason | None:
    return (await rig.row(row.id)).disabled_reason


class TestLoops:
    async def test_a_command_that_writes_its_own_input_is_switched_off(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await watching(rig)
        folder = Folder(rig, row)
        await folder.tell(ago=100)
        for _ in range(5):
            assert await reason(rig, row) is None
            await folder.run(0.01)
            rig.clock.advance(1.5)
            await folder.tell(ago=1.505)
        assert await reason(rig, row) is DisabledReason.LOOP
        assert await rig.states() == ["succeeded"] * 5 + ["dropped"]
        assert "each started by what the one before" in ((await rig.row(row.id)).last_error or "")
        assert (await rig.events())[-1].reason == "loop"
        (notice,) = rig.notices.of(Disarmed)
        assert notice.detail == "5 runs in a row, each started by what the one before had changed: /in/a"

    async def test_one_that_makes_a_new_file_each_time_too(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await watching(rig)
        folder = Folder(rig, row)
        await folder.tell("/in/0", ago=100)
        for number in range(1, 6):
            await folder.run(3)
            rig.clock.advance(1.5)
            await folder.tell(f"/in/{number}", ago=1.6)
        assert await reason(rig, row) is DisabledReason.LOOP

    async def test_a_batch_names_its_files(self, open_engine: Rig) -> None:
        rig = open_engine
        folder = Folder(rig, await watching(rig))
        await folder.tell_batch({"/in/a": 100})
        for _ in range(5):
            await folder.run(0.01)
            rig.clock.advance(1.5)
            await folder.tell_batch({"/in/old": 60, "/in/a": 1.505, "/in/b": 1.506})
        assert await reason(rig, folder.row) is DisabledReason.LOOP
        (notice,) = rig.notices.of(Disarmed)
        assert notice.detail.endswith("had changed: /in/a, /in/b")

    async def test_one_that_fails_each_time_too(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await watching(rig, max_attempts=1, disable_after=100)
        folder = Folder(rig, row)
        await folder.tell(ago=100)
        for _ in range(5):
            await folder.run(0.01, failed())
            rig.clock.advance(1.5)
            await folder.tell(ago=1.505)
        assert await reason(rig, row) is DisabledReason.LOOP

    async def test_what_a_loop_dropped_comes_back_when_asked_for(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await watching(rig, overlap=Overlap.QUEUE)
        folder = Folder(rig, row)
        await folder.tell(ago=100)
        for _ in range(5):
            await folder.run(0.01)
            rig.clock.advance(1.5)
            await folder.tell(ago=1.505)
        assert (await rig.states())[-1] == "dropped"
        rig.clock.advance(60)
        assert await rig.enable(await rig.row(row.id), requeue_dropped=True) == 1
        await folder.run(0.01)
        rig.clock.advance(1.5)
        await folder.tell(ago=1.505)
        assert await reason(rig, row) is None  # the links from before do not count

    async def test_the_links_survive_the_engine(self, tmp_path: Path) -> None:
        clock, row, folder = FakeClock(), None, None
        for life in range(6):
            async with open_rig(tmp_path, clock=clock) as rig:
                rig.open()
                row = row or await watching(rig)
                folder = folder or Folder(rig, row)
                folder.rig = rig
                assert await reason(rig, row) is None
                await folder.tell(ago=1.505 if life else 100)
                if life == 5:
                    assert await reason(rig, row) is DisabledReason.LOOP
                    return
                await folder.run(0.01)
            clock.advance(1.5)

    async def test_each_link_is_in_the_story_of_its_event(self, open_engine: Rig) -> None:
        folder = Folder(open_engine, await watching(open_engine))
        await folder.tell(ago=100)
        run_id = open_engine.taken[0].ref.run_id
        await folder.run(0.01)
        open_engine.clock.advance(1.5)
        await folder.tell(ago=1.505)
        event = (await open_engine.events())[-1]
        entries = await open_engine.read(lambda tx: journal.of_event(tx, event.id))
        assert [(entry.what, entry.reason) for entry in entries] == [("suspected own write", run_id)]

    async def test_what_was_before_it_was_armed_again_does_not_count(self, open_engine: Rig) -> None:
        rig = open_engine
        row = await watching(rig)
        folder = Folder(rig, row)
        await folder.tell(ago=100)
        for _ in range(4):
            await folder.run(0.01)
            rig.clock.advance(1.5)
            await folder.tell(ago=1.505)
        rig.clock.advance(0.001)
        await rig.disarm(row)
        rig.clock.advance(0.001)
        await rig.enable(await rig.row(row.id))
        await folder.run(0.01)
        rig.clock.advance(1.5)
        await folder.tell(ago=1.505)
        assert await reason(rig, row) is None


class TestPeople:
    async def test_saves_between_short_runs(self, open_engine: Rig) -> None:
        folder = Folder(open_engine, await watching(open_engine))
        for _ in range(30):
            await folder.tell()
            await folder.run(0.01)
            open_engine.clock.advance(4)
        assert await reason(open_engine, folder.row) is None

    async def test_saves_at_odd_moments_of_long_runs(self, open_engine: Rig) -> None:
        folder = Folder(open_engine, await watching(open_engine, overlap=Overlap.QUEUE))
        await folder.tell(ago=100)
        for into in (3, 21, 12, 27, 8, 17, 2, 29):
            open_engine.clock.advance(into)
            await folder.tell(ago=0)
            await folder.run(30 - into)
        assert await reason(open_engine, folder.row) is None

    async def test_a_command_that_writes_its_input_once(self, open_engine: Rig) -> None:
        """A formatter: the second run finds nothing to change."""
        folder = Folder(open_engine, await watching(open_engine))
        for _ in range(20):
            await folder.tell(ago=100)
            await folder.run(0.01)
            open_engine.clock.advance(1.5)
            await folder.tell(ago=1.505)
            await folder.run(0.01)
            open_engine.clock.advance(60)
        assert await reason(open_engine, folder.row) is None

    async def test_changes_during_several_runs_at_once(self, open_engine: Rig) -> None:
        folder = Folder(open_engine, await watching(open_engine))
        for _ in range(4):
            await folder.tell(ago=None)
        for _ in range(20):
            open_engine.clock.advance(1)
            await folder.tell(ago=0.5)
            await open_engine.settle(open_engine.taken.pop(0), succeeded())
        assert await reason(open_engine, folder.row) is None

    async def test_a_burst_while_one_runs(self, open_engine: Rig) -> None:
        """A folder is unpacked, again and again: the files of one burst have one run behind them."""
        folder = Folder(open_engine, await watching(open_engine, overlap=Overlap.QUEUE))
        await folder.tell("/in/first", ago=100)
        for number in range(100):
            open_engine.clock.advance(0.05)
            await folder.tell(f"/in/{number}", ago=0.01)
        assert await reason(open_engine, folder.row) is None

    async def test_batches_that_come_between_runs(self, open_engine: Rig) -> None:
        folder = Folder(open_engine, await watching(open_engine))
        for number in range(30):
            await folder.tell_batch({f"/in/{number}": 1.5, "/in/a": 1.6})
            await folder.run(0.01)
            open_engine.clock.advance(4)
        assert await reason(open_engine, folder.row) is None

    async def test_the_runs_of_another_trigger(self, open_engine: Rig) -> None:
        one, other = await watching(open_engine, "one"), await watching(open_engine, "other")
        first, second = Folder(open_engine, one), Folder(open_engine, other)
        for _ in range(8):
            await first.tell(ago=100)
            open_engine.clock.advance(0.005)
            await second.tell(ago=0)
            await open_engine.settle(open_engine.taken.pop(), succeeded())
            await first.run(0.01)
        assert await reason(open_engine, one) is await reason(open_engine, other) is None

    async def test_a_program_that_is_restarted_by_each_save(self, open_engine: Rig) -> None:
        folder = Folder(open_engine, await watching(open_engine, overlap=Overlap.REPLACE))
        await folder.tell(ago=100)
        for pause in (5, 30, 4, 60, 12, 9, 33, 4) * 4:
            open_engine.clock.advance(pause)
            await folder.tell(ago=1.5)
        assert await reason(open_engine, folder.row) is None


class TestDeclared:
    @pytest.mark.parametrize(
        ("payload", "is_own"),
        [
            ({"path": "/in/out/x.pdf"}, True),
            ({"path": "/in/x.pdf"}, False),
            ({"path": "/in/out/\ufffd", "path_base64": "L2luL291dC//"}, True),
            ({"path": "/in/\ufffd", "path_base64": "L2luL/8="}, False),
        ],
    )
    async def test_what_the_workflow_writes_starts_nothing(
        self, open_engine: Rig, payload: Json, *, is_own: bool
    ) -> None:
        await open_engine.workflow(writes=("/in/out/**",))
        row = await watching(open_engine)
        answer = await Folder(open_engine, row).tell(payload=payload)
        assert isinstance(answer, Filtered) is is_own
        assert len(await open_engine.events()) == (not is_own)
        marks = await open_engine.read(lambda tx: installations.marks(tx, row.installation_id))
        assert len(marks) == 1  # it is known either way
        assert await open_engine.count("SELECT count(*) FROM journal WHERE what = 'own write'") == is_own

    async def test_triggers_of_other_workflows_hear_of_it(self, open_engine: Rig) -> None:
        await open_engine.workflow(writes=("/in/**",))
        await open_engine.workflow("v")
        row = await watching(open_engine, workflow="v")
        assert not isinstance(await Folder(open_engine, row).tell(), Filtered)

    async def test_they_are_left_out_of_a_batch(self, open_engine: Rig) -> None:
        await open_engine.workflow(writes=("/in/out/**",))
        folder = Folder(open_engine, await watching(open_engine))
        own, other = {"path": "/in/out/a"}, {"path": "/in/b"}
        await folder.tell(payload={"files": [own, other], "count": 2})
        event: Any = open_engine.taken[0].params["event"]
        assert event["raw_payload"] == {"files": [other], "count": 1}
        assert await folder.tell(payload={"files": [own], "count": 1}) == Filtered()

    async def test_when_they_changed_does_not_matter_for_the_rest_of_a_batch(self, open_engine: Rig) -> None:
        """A run writes what it may, at the same moment of each; beside it somebody else's files come in."""
        await open_engine.workflow(writes=("/in/out/**",))
        folder = Folder(open_engine, await watching(open_engine))
        await folder.tell(ago=100)
        for number in range(30):
            await folder.run(0.01)
            open_engine.clock.advance(1.5)
            await folder.tell_batch({"/in/out/x": 1.505, f"/in/{number}": 1.55})
        assert await reason(open_engine, folder.row) is None
        event = (await open_engine.events())[-1]
        entries = await open_engine.read(lambda tx: journal.of_event(tx, event.id))
        assert [(entry.what, entry.reason) for entry in entries] == [("own write", "w writes /in/out/x")]

    async def test_a_workflow_without_them_keeps_its_version(self, rig: Rig) -> None:
        version = await rig.workflow()
        assert await rig.workflow(writes=()) == version
        assert await rig.workflow(writes=("/x",)) == version + 1
        found = await rig.read(lambda tx: workflows.by_name(tx, "w"))
        assert found is not None
        assert found[0].writes == ("/x",)


async def test_a_trigger_that_was_switched_off_hears_nothing(open_engine: Rig) -> None:
    row = await watching(open_engine)
    await open_engine.disarm(row, DisabledReason.LOOP)
    assert await Folder(open_engine, row).tell() == Declined(reason="loop")
    assert await open_engine.read(events.unfinished) == 0
    assert State.PENDING not in await open_engine.states()
