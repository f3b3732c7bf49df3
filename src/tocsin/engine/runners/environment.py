"""The environment a run gets, and the cause that travels through it.

Used by ``invocation``; ``tocsin fire`` inside a run reads its cause back with `decode_cause`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tocsin.engine.runners.jsontext import compact
from tocsin.event import Cause
from tocsin.instants import rfc3339
from tocsin.runs import RunRequest

KEPT: Final = frozenset({"PATH", "HOME", "USER", "SHELL", "LANG", "TZ", "TMPDIR"})
KEPT_PREFIX: Final = "LC_"
OWN_PREFIX: Final = "TOCSIN_"

RUN_ID: Final = "TOCSIN_RUN_ID"  # also how what is left of a run is found after a crash
CAUSE: Final = "TOCSIN_CAUSE"


def params_path(run_dir: Path) -> Path:
    """Where a run finds its params document."""
    return run_dir / "params.json"


def output_path(run_dir: Path) -> Path:
    """Where a run appends its outputs; read again when the run was lost."""
    return run_dir / "output.jsonl"


def run_environment(request: RunRequest, base: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a run: the allow-list out of `base`, the workflow's own, tocsin's.

    Later ones win; a workflow cannot set a name that begins with `TOCSIN_`.
    """
    kept = {name: value for name, value in base.items() if name in KEPT or name.startswith(KEPT_PREFIX)}
    added = {name: value for name, value in request.workflow.env.items() if not name.startswith(OWN_PREFIX)}
    found = kept | added
    return found | {"PATH": _search_path(found.get("PATH", os.defpath))} | _facts(request)


def _search_path(path: str) -> str:
    """The path, with the directory that holds `tocsin` itself at its end."""
    own = str(Path(sys.executable).parent)
    return path if own in path.split(os.pathsep) else os.pathsep.join(filter(None, (path, own)))


def _facts(request: RunRequest) -> dict[str, str]:
    """tocsin's own variables (INTERFACE section 5)."""
    facts = {
        "TOCSIN_HOME": str(request.home),
        RUN_ID: request.run_id,
        "TOCSIN_EVENT_ID": request.event_id,
        "TOCSIN_REGISTRATION": request.registration,
        "TOCSIN_WORKFLOW": request.workflow.name,
        "TOCSIN_ATTEMPT": str(request.attempt),
        "TOCSIN_IDEMPOTENCY_KEY": request.idempotency_key,
        "TOCSIN_OUTPUT": str(output_path(request.run_dir)),
        "TOCSIN_PARAMS": str(params_path(request.run_dir)),
        "TOCSIN_ALLOW_DESTRUCTIVE": str(int(request.allow_destructive)),
        CAUSE: encode_cause(own_cause(request)),
    }
    return facts if request.planned_at is None else facts | {"TOCSIN_PLANNED_AT": rfc3339(request.planned_at)}


def own_cause(request: RunRequest) -> Cause:
    """The cause of whatever this run fires: the run itself, its registration last in the lineage."""
    behind = () if request.cause is None else request.cause.lineage
    return Cause(run_id=request.run_id, lineage=(*behind, request.registration_id))


def encode_cause(cause: Cause) -> str:
    """The cause as one line of ASCII."""
    return compact({"run_id": cause.run_id, "lineage": list(cause.lineage)}, ascii_only=True)


def decode_cause(text: str | None) -> Cause | None:
    """The cause that `encode_cause` wrote; None for anything else, a missing variable included."""
    try:
        found = json.loads(text or "")
        run_id, lineage = found["run_id"], found["lineage"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    if not (
        isinstance(run_id, str) and isinstance(lineage, list) and all(isinstance(i, str) for i in lineage)
    ):
        return None
    return Cause(run_id=run_id, lineage=tuple(lineage))
