"""One installation behind several triggers: who shares it, who starts afresh, what is kept in a pause."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.engine.pausing import pause, resume
from tests.engine.rig import Rig
from tocsin.event import Accepted, Occurrence, State
from tocsin.registration import Registration
from tocsin.seams import FileMark
from tocsin.store import installations
from tocsin.trigger import Kind

W = '[workflows.w]\ncommand = ["true"]\n'
SOURCE = '[sources.downloads]\nfiles = { path = "/in" }\n'
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def named(*names: str) -> str:
    return "".join(f'[triggers.{name}]\nworkflow = "w"\nsource = "downloads"\n' for name in names)


def told(row: Registration, generation: int = 1) -> Occurrence:
    return Occurrence(
        registration_id=row.id,
        component="files",
        component_version=1,
        kind=Kind.FILE,
        delivery_id=f"/in/x:{generation}",
        occurred_at=NOON,
    )


def mark(generation: int = 1) -> FileMark:
    return FileMark(path=b"/in/x", generation=generation, size=1, mtime_ns=1, inode=1)


async def cursor(rig: Rig, row: Registration) -> object:
    return await rig.read(lambda tx: installations.cursor(tx, row.installation_id))


async def test_all_that_name_a_source_have_one_installation(rig: Rig) -> None:
    await rig.apply(W + SOURCE + named("a", "b"))
    a, b = await rig.named("a"), await rig.named("b")
    assert a.installation_id == b.installation_id
    assert (a.spec.source, a.spec.props["paths"]) == ("downloads", ["/in"])


async def test_another_setting_changes_all_of_them_and_keeps_the_installation(rig: Rig) -> None:
    await rig.apply(W + SOURCE + named("a", "b"))
    before = await rig.named("a")
    applied = await rig.apply(W + SOURCE.replace("/in", "/else") + named("a", "b"))
    assert [change.name for change in applied.plan.changed] == ["a", "b"]
    a, b = await rig.named("a"), await rig.named("b")
    assert {a.installation_id, b.installation_id} == {before.installation_id}
    assert a.spec.props["paths"] == b.spec.props["paths"] == ["/else"]


async def test_a_trigger_that_moves_to_a_source_leaves_its_own_installation(rig: Rig) -> None:
    own = '[triggers.a]\nworkflow = "w"\nfiles = { path = "/in" }\n'
    await rig.apply(W + SOURCE + own + named("b"))
    before, b = await rig.named("a"), await rig.named("b")
    assert before.installation_id != b.installation_id
    await rig.apply(W + SOURCE + named("a", "b"))
    assert (await rig.named("a")).installation_id == b.installation_id
    await rig.apply(W + SOURCE + own + named("b"))
    assert (await rig.named("a")).installation_id not in (before.installation_id, b.installation_id)


async def test_what_is_there_counts_as_known_only_when_nobody_watched(rig: Rig) -> None:
    await rig.apply(W + SOURCE + named("a", "b"))
    a, b = await rig.named("a"), await rig.named("b")
    await rig.bookmarks.baseline(a.installation_id, [mark()])
    known = await cursor(rig, a)
    await rig.disarm(a)
    await rig.enable(await rig.row(a.id))
    assert await cursor(rig, a) == known  # b went on watching
    await rig.disarm(await rig.row(a.id))
    await rig.disarm(b)
    await rig.enable(await rig.row(a.id))
    assert await cursor(rig, a) is None


async def test_a_newcomer_to_a_source_that_fed_nobody_starts_afresh(rig: Rig) -> None:
    await rig.apply(W + SOURCE + named("a"))
    a = await rig.named("a")
    await rig.bookmarks.baseline(a.installation_id, [mark()])
    await rig.apply(W + SOURCE)
    await rig.apply(W + SOURCE + named("b"))
    b = await rig.named("b")
    assert b.installation_id == a.installation_id
    assert await cursor(rig, b) is None


async def test_what_it_tells_a_paused_one_is_kept_for_the_end_of_the_pause(rig: Rig) -> None:
    """The source goes on for the others: nobody would tell it again."""
    await rig.apply(W + SOURCE + named("a", "b"))
    a, b = await rig.named("a"), await rig.named("b")
    await pause(rig, a)
    answers = await rig.bookmarks.record(a.installation_id, [mark()], [told(a), told(b)])
    assert all(isinstance(answer, Accepted) for answer in answers)
    assert await rig.read(lambda tx: installations.marks(tx, a.installation_id)) == {b"/in/x": mark()}
    states = {event.registration: event.state for event in await rig.events()}
    assert states["a"] is State.HELD
    await resume(rig, await rig.row(a.id))
    states = {event.registration: event.state for event in await rig.events()}
    assert states["a"] is not State.HELD


async def test_one_that_is_off_hears_nothing(rig: Rig) -> None:
    await rig.apply(W + SOURCE + named("a", "b"))
    a, b = await rig.named("a"), await rig.named("b")
    await rig.disarm(a)
    await rig.bookmarks.record(a.installation_id, [mark()], [told(a), told(b)])
    assert [event.registration for event in await rig.events()] == ["b"]
