"""Records into rows and back: nothing is lost or bent on the way."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tocsin.identity import INSTALLATION, REGISTRATION, new_id
from tocsin.instants import instant
from tocsin.registration import DisabledReason, Registration, RowOrigin
from tocsin.seams import FileMark
from tocsin.settings import Workflow
from tocsin.store import columns, installations, journal, registrations, workflows
from tocsin.store.connection import Step, Store, Tx, open_store
from tocsin.trigger import At, Cron, Every, Json, Kind, Misfire, MisfirePolicy, Overlap, Schedule, TriggerSpec

NOW = datetime(2026, 1, 1, 12, 0, 0, 123_456, tzinfo=UTC)
T = TypeVar("T")
EXAMPLES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = TEXT.filter(bool)
INSTANTS = st.integers(0, 2**54).map(instant)
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
LENGTHS = st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=36_525))
SCHEDULES: st.SearchStrategy[Schedule] = st.one_of(
    st.builds(Cron, expr=NAMES, tz=NAMES),
    st.builds(Every, every=LENGTHS, anchor=st.none() | INSTANTS),
    st.builds(At, at=INSTANTS),
)
POLICIES = st.builds(
    MisfirePolicy,
    misfire=st.sampled_from(Misfire),
    grace=st.integers(0, 10**9).map(lambda ms: timedelta(milliseconds=ms)),
    limit=st.integers(1, 1000),
)


def specs(
    kind: st.SearchStrategy[Kind], schedule: st.SearchStrategy[Schedule | None]
) -> st.SearchStrategy[TriggerSpec]:
    return st.builds(
        TriggerSpec,
        name=NAMES,
        workflow=st.just("w"),
        kind=kind,
        component=NAMES,
        component_version=st.integers(1, 9),
        props=OBJECTS,
        schedule=schedule,
        misfire=POLICIES,
        overlap=st.sampled_from(Overlap),
        serialize_key=st.none() | NAMES,
        tags=st.lists(TEXT, max_size=3).map(tuple),
        config=OBJECTS,
        max_attempts=st.integers(1, 100),
        disable_after=st.integers(1, 100),
        max_runs=st.none() | st.integers(1, 100),
        expires_at=st.none() | INSTANTS,
        enabled=st.booleans(),
    )


SPECS = st.one_of(
    specs(st.just(Kind.SCHEDULE), SCHEDULES),
    specs(st.sampled_from([kind for kind in Kind if kind is not Kind.SCHEDULE]), st.none()),
)


class Bench:
    """A store for many examples, driven from outside its loop."""

    def __init__(self, runner: asyncio.Runner, store: Store) -> None:
        self._runner = runner
        self._store = store
        self.write(lambda tx: workflows.put(tx, Workflow(name="w"), NOW))

    def write(self, step: Step[T]) -> T:
        return self._runner.run(self._store.write(step))

    def add(self, spec: TriggerSpec, reason: DisabledReason | None = None) -> Registration:
        """A registration of its own name, as it is read back."""
        id_, installation = new_id(REGISTRATION, NOW), new_id(INSTALLATION, NOW)

        def step(tx: Tx) -> Registration | None:
            installations.insert(tx, installation, spec, NOW)
            registrations.insert(
                tx,
                replace(spec, name=id_),
                id_=id_,
                installation_id=installation,
                workflow_version=1,
                next_fire_at=NOW,
                disabled_reason=reason,
                origin=RowOrigin.CLI,
                now=NOW,
            )
            return registrations.by_id(tx, id_)

        found = self.write(step)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        opening = open_store(Path(folder) / "tocsin.db")
        yield Bench(runner, runner.run(opening.__aenter__()))
        runner.run(opening.__aexit__(None, None, None))


class TestRegistrations:
    @EXAMPLES
    @given(spec=SPECS)
    def test_a_spec_comes_back_as_it_was_written(self, bench: Bench, spec: TriggerSpec) -> None:
        found = bench.add(spec).spec
        assert replace(found, name=spec.name) == spec

    @EXAMPLES
    @given(one=SPECS, other=SPECS)
    def test_another_wording_replaces_all_but_the_name(
        self, bench: Bench, one: TriggerSpec, other: TriggerSpec
    ) -> None:
        row = bench.add(one)

        def step(tx: Tx) -> Registration | None:
            registrations.update_spec(
                tx, row.id, other, installation_id=row.installation_id, workflow_version=7
            )
            installations.update_props(tx, row.installation_id, other.props)
            return registrations.by_id(tx, row.id)

        found = bench.write(step)
        assert found == replace(row, spec=replace(other, name=row.spec.name), workflow_version=7)

    @pytest.mark.parametrize("reason", [None, *DisabledReason])
    def test_a_new_row_is_on_unless_a_reason_is_given(
        self, bench: Bench, reason: DisabledReason | None
    ) -> None:
        row = bench.add(PLAIN, reason)
        assert row == Registration(
            id=row.id,
            spec=replace(PLAIN, name=row.id),
            installation_id=row.installation_id,
            workflow_version=1,
            next_fire_at=NOW,
            armed_at=NOW,
            enabled=reason is None,
            disabled_reason=reason,
            origin=RowOrigin.CLI,
            created_at=NOW,
        )

    @EXAMPLES
    @given(state=JSON)
    def test_a_state_comes_back_as_it_was_written(self, bench: Bench, state: Json) -> None:
        row = bench.add(PLAIN)

        def step(tx: Tx) -> Registration | None:
            registrations.write_state(tx, row.id, state)
            return registrations.by_id(tx, row.id)

        assert bench.write(step) == replace(row, state=state)

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]])
    def test_what_json_has_no_word_for_is_refused(self, bench: Bench, value: Json) -> None:
        row = bench.add(PLAIN)
        with pytest.raises(ValueError, match="not JSON compliant"):
            bench.write(lambda tx: registrations.write_state(tx, row.id, value))

    def test_text_of_every_kind_survives(self, bench: Bench) -> None:
        odd: dict[str, Json] = {"lone": "\ud800", "null": "a\0b", "high": "🔔", "key\n\u2028": "\x7f"}
        row = bench.add(replace(PLAIN, config=odd, serialize_key="k\n🔔"))
        assert (row.spec.config, row.spec.serialize_key) == (odd, "k\n🔔")


class TestWorkflows:
    FULL = Workflow(
        name="full",
        command=("echo", "{event.raw_payload}", ""),
        cwd=Path("/srv"),
        env={"A": "b=c"},
        timeout=timedelta(milliseconds=1500),
        kill_grace=timedelta(seconds=3),
        max_concurrent=2,
        inputs=("state",),
        outputs=("state", "cost_usd"),
        permanent_exit_codes=(65, 66),
    )

    BARE = Workflow(name="bare")
    SCRIPT = replace(BARE, name="script", shell="exit 3")  # noqa: S604 - a definition, not a call

    @pytest.mark.parametrize("workflow", [FULL, BARE, SCRIPT])
    def test_a_definition_comes_back_as_it_was_written(self, bench: Bench, workflow: Workflow) -> None:
        bench.write(lambda tx: workflows.put(tx, workflow, NOW))
        found = bench.write(lambda tx: workflows.by_name(tx, workflow.name))
        assert found is not None
        assert found[0] == workflow

    def test_the_version_rises_only_when_the_definition_changes(self, bench: Bench) -> None:
        def put(**changes: int) -> int:
            workflow = replace(self.FULL, name="rising", **changes)  # type: ignore[arg-type]
            return bench.write(lambda tx: workflows.put(tx, workflow, NOW))

        assert [put(), put(), put(max_concurrent=3), put(max_concurrent=3), put()] == [1, 1, 2, 2, 3]


class TestFileMarks:
    @EXAMPLES
    @given(
        st.builds(
            FileMark,
            path=st.binary(min_size=1, max_size=40),
            generation=st.integers(1, 2**62),
            size=st.integers(0, 2**63 - 1),
            mtime_ns=st.integers(-(2**63), 2**63 - 1),
            inode=st.integers(0, 2**64 - 1),
            gone=st.booleans(),
        )
    )
    def test_a_mark_comes_back_to_the_last_bit(self, bench: Bench, mark: FileMark) -> None:
        installation = bench.add(PLAIN).installation_id
        bench.write(lambda tx: installations.put_marks(tx, installation, [mark]))
        assert bench.write(lambda tx: installations.marks(tx, installation)) == {mark.path: mark}

    def test_paths_are_bytes_not_text(self, bench: Bench) -> None:
        installation = bench.add(PLAIN).installation_id
        paths = [b"/in/\xff\xfe", "/in/é".encode(), "/in/e\u0301".encode(), b"/in/a\nb", b"/in/A", b"/in/a"]
        marks = {
            path: FileMark(path=path, generation=1, size=0, mtime_ns=0, inode=2**64 - 1) for path in paths
        }
        bench.write(lambda tx: installations.put_marks(tx, installation, marks.values()))
        assert bench.write(lambda tx: installations.marks(tx, installation)) == marks


class TestFacts:
    @EXAMPLES
    @given(value=JSON)
    def test_a_fact_comes_back_and_the_last_one_counts(self, bench: Bench, value: Json) -> None:
        bench.write(lambda tx: journal.put_fact(tx, "f", "earlier"))
        bench.write(lambda tx: journal.put_fact(tx, "f", value))
        assert bench.write(lambda tx: journal.fact(tx, "f")) == value

    def test_a_cursor_comes_back_and_none_takes_it_away(self, bench: Bench) -> None:
        installation = bench.add(PLAIN).installation_id

        def move(cursor: Json) -> Json:
            bench.write(lambda tx: installations.move_cursor(tx, installation, cursor))
            return bench.write(lambda tx: installations.cursor(tx, installation))

        assert [move({"a": 1}), move(None), move([])] == [{"a": 1}, None, []]

    def test_lengths_are_kept_in_whole_milliseconds(self) -> None:
        assert columns.milliseconds(timedelta(seconds=1, microseconds=1999)) == 1001


PLAIN = TriggerSpec(name="t", workflow="w", kind=Kind.MANUAL, component="manual")
