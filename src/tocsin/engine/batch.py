"""What the occurrences of one transaction have in common, handed from door to door by whoever admits them."""

from __future__ import annotations

from tocsin.event import Occurrence


class Batch:
    """Knows the deliveries that are recorded: what arrived once is one row, however many it feeds."""

    def __init__(self) -> None:
        self._deliveries: dict[tuple[str, str, str], str] = {}

    def delivery(self, installation_id: str, occurrence: Occurrence) -> str | None:
        """The row of this delivery; None when it has none yet."""
        return self._deliveries.get((installation_id, occurrence.kind, occurrence.delivery_id))

    def delivered(self, installation_id: str, occurrence: Occurrence, id_: str) -> None:
        """It has one now."""
        self._deliveries[installation_id, occurrence.kind, occurrence.delivery_id] = id_
