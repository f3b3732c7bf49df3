"""The source components there are, and the version of each. Used on every floor.

A version rises only when the shape or the identity of the component's events changes. A trigger
keeps the version that it was made for: it takes nothing in from another one until a person has
confirmed that (`tocsin rebind`, or `tocsin apply` by hand).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VERSIONS: Final[Mapping[str, int]] = {
    "cron": 1,
    "every": 1,
    "at": 1,
    "files": 1,
    "webhook": 1,
    "after": 1,
    "manual": 1,
}


def version_of(component: str) -> int | None:
    """The version in this tocsin; None for a component that it does not have."""
    return VERSIONS.get(component)
