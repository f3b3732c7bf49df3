"""What each source component's payload looks like, for `tocsin test` without a payload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tocsin.trigger import Json

PLANNED: Final[Mapping[str, Json]] = {"planned_at": "2026-01-01T00:00:00Z", "missed": 0}

SAMPLES: Final[Mapping[str, Json]] = {
    "cron": PLANNED,
    "every": PLANNED,
    "at": PLANNED,
    "files": {
        "event": "created",
        "path": "/tmp/sample.txt",  # noqa: S108 - a name that is shown, not a file that is made
        "name": "sample.txt",
        "src_path": None,
        "size": 12,
        "mtime": "2026-01-01T00:00:00Z",
        "is_dir": False,
    },
    "webhook": {"sample": True},
    "after": {
        "workflow": "sample",
        "registration": "sample",
        "run_id": "run_sample",
        "state": "succeeded",
        "exit_code": 0,
        "error": None,
        "result": {},
    },
    "manual": None,
}
