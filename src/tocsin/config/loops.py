"""Chains of triggers that lead back to where they began. Pure; a warning of ``lint``'s.

A chain alternates: a trigger follows a workflow or a trigger, a workflow is run by its triggers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from tocsin.trigger import TriggerSpec

_Node: TypeAlias = tuple[str, str]
"""("workflow", name) or ("trigger", name), as an `after` names what it follows."""


def looping(triggers: Iterable[TriggerSpec]) -> Iterator[str]:
    """The names of triggers whose own runs can fire them again through others, in the order given."""
    specs = list(triggers)
    causes = _causes(specs)
    for spec in specs:
        if spec.component == "after" and _reaches(("trigger", spec.name), causes):
            yield spec.name


def _causes(specs: Iterable[TriggerSpec]) -> Mapping[_Node, list[_Node]]:
    """What each node follows directly."""
    causes: dict[_Node, list[_Node]] = {}
    for spec in specs:
        node = ("trigger", spec.name)
        causes.setdefault(("workflow", spec.workflow), []).append(node)
        causes[node] = _followed(spec) if spec.component == "after" else []
    return causes


def _followed(spec: TriggerSpec) -> list[_Node]:
    return [(thing, str(name)) for thing, name in spec.props.items() if thing in ("workflow", "trigger")]


def _reaches(start: _Node, causes: Mapping[_Node, list[_Node]]) -> bool:
    """Whether following causes from `start` comes back to it."""
    met: set[_Node] = set()
    ahead = list(causes[start])
    while ahead:
        node = ahead.pop()
        if node not in met:
            met.add(node)
            ahead += causes.get(node, ())
    return start in met
