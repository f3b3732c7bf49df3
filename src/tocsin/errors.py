"""Every error that tocsin raises on purpose, with its facts as fields.

Raised on all floors, worded here, turned into exit codes by ``cli.exits`` and into HTTP answers by
``web``. An outcome a caller has to expect (a duplicate, a skip, a refusal) is an answer in
``event``, not an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class TocsinError(Exception):
    """Base of all errors raised on purpose; its text is fit to be shown to a person."""


class BindingMismatch(TocsinError):
    """An occurrence claims a binding that is not its registration's. Nothing was recorded."""

    def __init__(self, *, registration_id: str, field: str, seen: str, wanted: str) -> None:
        super().__init__("Trigger event does not match its authorized subscription.")
        self.registration_id = registration_id
        self.field = field
        self.seen = seen
        self.wanted = wanted


class StaleCursor(TocsinError):
    """A poll read from a cursor that is not the source's any more. Nothing was recorded."""

    def __init__(self, *, installation_id: str) -> None:
        super().__init__("Polling cursor is stale or unauthorized.")
        self.installation_id = installation_id


class NotFound(TocsinError):
    """No row answers to this name, id or id prefix."""

    def __init__(self, *, thing: str, name: str, nearest: Sequence[str] = ()) -> None:
        hint = f" (did you mean {' or '.join(nearest)}?)" if nearest else ""
        super().__init__(f"no {thing} named {name!r}{hint}")
        self.thing = thing
        self.name = name
        self.nearest = tuple(nearest)


class Ambiguous(TocsinError):
    """An id prefix fits more than one row."""

    def __init__(self, *, thing: str, prefix: str, count: int) -> None:
        super().__init__(f"{prefix!r} fits {count} {thing}s; give more of the id")
        self.thing = thing
        self.prefix = prefix
        self.count = count


class Refused(TocsinError):
    """A rule of tocsin's own says no; the text names the rule and the way out."""


class BadRequest(TocsinError):
    """What was asked for cannot be understood; the text says what was seen and wanted."""


class LockHeld(TocsinError):
    """Another engine holds this home's lock."""

    def __init__(self, *, home: Path, pid: int | None, role: str = "engine") -> None:
        who = f"process {pid}" if pid else "another process"
        if role == "fire":
            text = f"a `tocsin fire` runs its events on {home} ({who}); wait for its end"
        else:
            text = f"an engine is already running on {home} ({who}); stop it with `tocsin down`"
        super().__init__(text)
        self.home = home
        self.pid = pid


class EngineUnreachable(TocsinError):
    """The engine holds its lock but does not answer, or none is running where one is needed."""


class StoreUnusable(TocsinError):
    """The database cannot be opened, is newer than this program, or is damaged."""


class SpawnFailed(TocsinError):
    """A run could not be started; it counts as a failed run.

    permanent: another attempt cannot help (for example a placeholder without a value).
    """

    def __init__(self, error: str, *, permanent: bool = False) -> None:
        super().__init__(error)
        self.permanent = permanent


class RunnerUnreachable(TocsinError):
    """What is to start runs cannot work now (a full disk, an engine that is down). No failed run."""


class InvalidSchedule(TocsinError):
    """A schedule that cannot be used. The text names the field, what was seen and what is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong in a configuration file.

    path: the file as given. line: 1-based, None when the file as a whole is meant.
    key: dotted, as written in the file (``triggers.brief.cron``). severity: "error" or "warning".
    """

    path: str
    line: int | None
    key: str
    message: str
    severity: str = "error"

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        mark = "warning: " if self.severity == "warning" else ""
        return f"{place}: {mark}{self.key}: {self.message}" if self.key else f"{place}: {mark}{self.message}"


class ConfigInvalid(TocsinError):
    """The configuration has errors; all of them, in file order, are in ``problems``."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class SignatureRejected(TocsinError):
    """A delivery whose signature does not hold. Its text is for the sender. stale: by its timestamp."""

    def __init__(self, message: str, *, stale: bool = False) -> None:
        super().__init__(message)
        self.stale = stale


class SecretMissing(TocsinError):
    """A secret that a reference names cannot be had. Never holds a value."""

    def __init__(self, reference: str, why: str) -> None:
        super().__init__(f"the secret {reference} cannot be had: {why}")
        self.reference = reference
