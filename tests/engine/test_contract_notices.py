"""A broken contract is told when it is applied, and applied all the same."""

from __future__ import annotations

from tests.engine.rig import Rig
from tocsin.engine.verbs import VERBS
from tocsin.notices import ConfigApplied, ContractBroken

FILE = """
[workflows.w]
command = ["true"]
outputs = ["state"]
[triggers.t]
workflow = "w"
manual = true
"""


async def test_whoever_holds_a_state_is_named_and_the_file_takes_effect(rig: Rig) -> None:
    await rig.apply(FILE)
    await rig.controls.states.put("t", '{"v": 1}')
    applied = await rig.apply(FILE.replace('outputs = ["state"]\n', ""))
    [problem] = applied.plan.broken
    assert (problem.line, problem.key) == (2, "workflows.w.outputs")
    assert rig.notices.of(ContractBroken) == [ContractBroken(warning=str(problem))]
    assert isinstance(rig.notices.all[-1], ConfigApplied)
    assert (await rig.named("t")).workflow_version == 2
    assert (await rig.apply(FILE.replace('outputs = ["state"]\n', ""))).plan.broken == ()


async def test_a_client_is_told_too(rig: Rig) -> None:
    await rig.apply(FILE)
    await rig.controls.states.put("t", "1")
    rig.configure(FILE.replace('["state"]', "[]"))
    document = await VERBS["plan"](rig.controls, {})
    assert isinstance(document, dict)
    [warning] = document["warnings"]
    assert "state is not declared any more, but kept for t" in str(warning)
