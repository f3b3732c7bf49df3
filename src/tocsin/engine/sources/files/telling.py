"""What a files source says of itself: what ails it, and what a person should know once."""

from __future__ import annotations

from collections.abc import Mapping

from tocsin.engine.sources.files.payload import shown
from tocsin.notices import SourceFailed, SourceRecovered, Trouble
from tocsin.registration import Registration
from tocsin.seams import Announce


class Telling:
    """Speaks for one source; says the same thing once."""

    def __init__(self, registration: Registration, announce: Announce) -> None:
        self._name = registration.spec.source or registration.spec.name
        self._installation_id = registration.installation_id
        self._announce = announce
        self._told = ""
        self._unread: set[bytes] = set()
        self._remotes: set[bytes] = set()

    def ended(self) -> None:
        """Whoever runs the source again has told so: say when it is well."""
        self._told = "the source ended"

    def health(self, problem: str) -> None:
        """What ails it, or an empty text."""
        if problem and problem != self._told:
            self._announce(
                SourceFailed(installation_id=self._installation_id, source=self._name, error=problem)
            )
        elif self._told and not problem:
            self._announce(SourceRecovered(installation_id=self._installation_id, source=self._name))
        self._told = problem

    def unread(self, found: Mapping[bytes, OSError]) -> None:
        """Folders that cannot be read, with the reason."""
        for path in sorted(found.keys() - self._unread):
            self.trouble(f"{shown(path)} cannot be read: {found[path].strerror}")
        self._unread |= found.keys()

    def remote(self, path: bytes, kind: str, every: float) -> None:
        """A root on a network file system, and how often it is looked at, in seconds."""
        if path not in self._remotes:
            self._remotes.add(path)
            how = f"looking every {every:g} s, for the system does not tell of changes there"
            self.trouble(f"{shown(path)} is on a network file system ({kind}): {how}")

    def trouble(self, error: str) -> None:
        """Something that went wrong and is seen to."""
        self._announce(Trouble(where=f"files source of {self._name}", error=error))
