"""What settled states mean against what is remembered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tocsin.engine.sources.files.changes import Change, Snapshot, plan
from tocsin.engine.sources.files.moves import Moves
from tocsin.engine.sources.files.payload import delivery_id, payload
from tocsin.engine.sources.files.scope import Scope
from tocsin.engine.sources.files.settling import Stamp
from tocsin.engine.sources.files.territory import Identity, Territory
from tocsin.seams import FileMark

ONE, TWO = Stamp(1, 1, 1), Stamp(2, 2, 2)


def mark(path: bytes, stamp: Stamp = ONE, *, generation: int = 1, gone: bool = False) -> FileMark:
    return FileMark(
        path=path,
        generation=generation,
        size=stamp.size,
        mtime_ns=stamp.mtime_ns,
        inode=stamp.inode,
        gone=gone,
    )


def planned(settled: dict[bytes, Stamp | None], *marks: FileMark) -> list[tuple[str, bytes, bytes | None]]:
    snapshot = Snapshot(marks)

    def source_of(_path: bytes, stamp: Stamp) -> bytes | None:
        found = snapshot.path_of(stamp)
        return found if found is not None and settled.get(found, stamp) is None else None

    return [(change.kind, change.path, change.src) for change in plan(settled, snapshot, source_of=source_of)]


def test_kinds() -> None:
    assert planned({b"/a": ONE}) == [("created", b"/a", None)]
    assert planned({b"/a": ONE}, mark(b"/a")) == []
    assert planned({b"/a": TWO}, mark(b"/a")) == [("modified", b"/a", None)]
    assert planned({b"/a": None}, mark(b"/a")) == [("deleted", b"/a", None)]
    assert planned({b"/a": None}) == []
    assert planned({b"/a": None}, mark(b"/a", gone=True)) == []
    assert planned({b"/a": ONE}, mark(b"/a", gone=True)) == [("created", b"/a", None)]


def test_a_move_is_one_change_in_either_order() -> None:
    assert planned({b"/a": None, b"/b": ONE}, mark(b"/a")) == [("moved", b"/b", b"/a")]
    assert planned({b"/b": ONE, b"/a": None}, mark(b"/a")) == [("moved", b"/b", b"/a")]


def test_a_file_can_only_have_been_moved_to_one_place() -> None:
    kinds = planned({b"/a": None, b"/b": ONE, b"/c": ONE}, mark(b"/a"))
    assert kinds == [("moved", b"/b", b"/a"), ("created", b"/c", None)]


def test_renaming_over_a_known_file_modifies_it() -> None:
    kinds = planned({b"/a": None, b"/b": ONE}, mark(b"/a"), mark(b"/b", TWO))
    assert kinds == [("modified", b"/b", None), ("deleted", b"/a", None)]


states = st.one_of(st.none(), st.builds(Stamp, *[st.integers(0, 2)] * 3))
paths = st.sampled_from([b"/a", b"/b", b"/c"])


@given(st.lists(st.dictionaries(paths, states, min_size=1), max_size=12))
def test_the_memory_follows_the_disk_and_generations_rise(history: list[dict[bytes, Stamp | None]]) -> None:
    snapshot = Snapshot()
    disk: dict[bytes, Stamp | None] = {}
    generations: dict[bytes, int] = {}
    deliveries: set[str] = set()
    for settled in history:
        disk |= settled
        for change in plan(settled, snapshot, source_of=lambda _path, _stamp: None):
            assert delivery_id(change.path, change.generation) not in deliveries
            deliveries.add(delivery_id(change.path, change.generation))
            for new in change.marks:
                assert new.generation == generations.get(new.path, 0) + 1
                generations[new.path] = new.generation
                snapshot.put(new)
        assert all(snapshot.knows(path, stamp) for path, stamp in disk.items())
        assert set(snapshot.paths()) == {path for path, stamp in disk.items() if stamp}


@given(st.lists(st.binary(min_size=1, max_size=6), unique=True), st.integers(1, 3))
def test_delivery_ids_are_text_and_tell_paths_apart(names: list[bytes], generation: int) -> None:
    ids = {delivery_id(b"/" + name, generation) for name in names}
    assert len(ids) == len(names)
    assert all(made.encode() for made in ids)  # storable: no lone surrogates


def test_a_time_beyond_the_calendar_is_null() -> None:
    change = Change(kind="created", path=b"/a", stamp=Stamp(0, 2**62, 1), marks=(mark(b"/a"),))
    assert payload(change)["mtime"] == "2116-02-20T23:53:38.427387Z"
    for odd in (2**68, -(2**68)):
        change = Change(kind="created", path=b"/a", stamp=Stamp(0, odd, 1), marks=(mark(b"/a"),))
        assert payload(change)["mtime"] is None


def test_a_chain_of_renames_keeps_its_first_name() -> None:
    moves = Moves()
    moves.note(b"/a", b"/b")
    moves.note(b"/b", b"/c")
    assert moves.source_of(b"/c") == b"/a"
    assert moves.source_of(b"/b") is None
    assert moves.target_of(b"/a") == b"/c"
    moves.note(b"/c", b"/a")
    assert moves.source_of(b"/a") is None
    assert moves.target_of(b"/a") is None


def test_renames_to_names_nobody_wants_do_not_pile_up() -> None:
    moves = Moves()
    for number in range(10_000):
        moves.note(b"/log", b"/log.%d" % number)
        moves.prune({b"/log.7"})
    assert moves.source_of(b"/log.7") == b"/log"
    assert len(moves) <= 4097


def test_territory_remembers_rules_per_root_and_retires_old_ones() -> None:
    before = Scope([b"/w"], recursive=False, match=["*.pdf"], ignore=[])
    written = Territory(()).missing(before, Identity(5, 6), before.roots)
    loaded = Territory(written)
    assert (loaded.is_new, loaded.device_of(before)) == (False, 5)
    assert loaded.saw(b"/w/a.pdf")
    assert not loaded.saw(b"/w/a.txt")
    assert loaded.missing(before, Identity(5, 6), before.roots) == []
    (moved,) = loaded.missing(before, Identity(5, 7), before.roots)
    assert (moved.generation, moved.inode) == (2, 7)
    after = Scope([b"/w"], recursive=False, match=[], ignore=[])
    fresh, retired = loaded.missing(after, Identity(5, 6), after.roots)
    assert (fresh.gone, retired.gone, retired.path) == (False, True, written[0].path)
    again = Territory([fresh, retired])
    assert again.saw(b"/w/a.txt")
    assert again.missing(after, Identity(5, 6), after.roots) == []
