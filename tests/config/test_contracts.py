"""What a workflow declares is a contract with the triggers that rely on it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.config.loading import NOW
from tocsin.config.contracts import broken
from tocsin.registration import Registration
from tocsin.settings import Configuration, EngineSettings, Workflow
from tocsin.trigger import Json, Kind, TriggerSpec


def row(name: str, *, state: Json = None, **spec: Any) -> Registration:
    plain = TriggerSpec(name=name, workflow="w", kind=Kind.MANUAL, component="manual")
    return Registration(
        id=f"trg_{name}",
        spec=replace(plain, **spec),
        installation_id="ins_1",
        workflow_version=1,
        state=state,
        armed_at=NOW,
        created_at=NOW,
    )


def warnings(before: Workflow, after: Workflow, *rows: Registration) -> list[str]:
    wanted = Configuration(
        path=Path("tocsin.toml"), engine=EngineSettings(), workflows={after.name: after}, triggers={}
    )
    found = list(broken(rows, {before.name: before}, wanted, lambda *_: ("tocsin.toml", 7)))
    assert all(problem.severity == "warning" for problem in found)
    return [str(problem) for problem in found]


def workflow(*outputs: str, inputs: tuple[str, ...] = (), name: str = "w") -> Workflow:
    return Workflow(name=name, outputs=outputs, inputs=inputs)


def test_a_state_that_is_no_longer_declared_names_those_that_hold_one() -> None:
    found = warnings(workflow("state"), workflow(), row("a", state={"v": 1}), row("b"), row("c", state=0))
    said = "state is not declared any more, but kept for a, c from earlier runs"
    assert found == [f"tocsin.toml:7: warning: workflows.w.outputs: {said}"]


def test_a_state_that_nobody_holds_is_missed_by_nobody() -> None:
    assert warnings(workflow("state"), workflow(), row("a")) == []


def test_another_output_is_missed_by_its_triggers_and_by_those_that_follow() -> None:
    rows = (
        row("a"),
        row("after-w", workflow="v", kind=Kind.RUN, component="after", props={"workflow": "w", "on": "any"}),
        row("after-a", workflow="v", kind=Kind.RUN, component="after", props={"trigger": "a", "on": "any"}),
        row("after-x", workflow="v", kind=Kind.RUN, component="after", props={"trigger": "x", "on": "any"}),
    )
    [found] = warnings(workflow("total", "cost_usd", "state"), workflow("state"), *rows)
    assert found.endswith(
        "outputs: no longer declared: total, cost_usd; may be counted on by a, after-w, after-a"
    )


def test_an_output_of_a_workflow_that_no_trigger_runs_is_free() -> None:
    assert warnings(workflow("total"), workflow(), row("a", workflow="v")) == []


def test_asking_for_a_state_that_nobody_writes_names_those_without_one() -> None:
    [found] = warnings(workflow(), workflow(inputs=("state",)), row("a"), row("b", state=1))
    assert found.endswith("inputs: state is asked for, and nothing writes one for a")
    assert warnings(workflow(), workflow("state", inputs=("state",)), row("a")) == []


@pytest.mark.parametrize("outputs", [(), ("state",), ("total", "state")])
def test_more_outputs_break_nothing(outputs: tuple[str, ...]) -> None:
    after = workflow(*outputs, "more")
    assert warnings(workflow(*outputs), after, row("a", state=1)) == []


def test_a_new_workflow_breaks_nothing() -> None:
    assert warnings(workflow("total", name="other"), workflow(), row("a")) == []


def test_of_many_triggers_ten_are_named() -> None:
    [found] = warnings(workflow("total"), workflow(), *(row(f"t{n:02}") for n in range(12)))
    assert found.endswith("t08, t09 and 2 more")
