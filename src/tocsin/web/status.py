"""What can be asked over HTTP: whether the engine is well, and what became of one event."""

from __future__ import annotations

from aiohttp import web

from tocsin.event import UNFINISHED, Event
from tocsin.runs import Run
from tocsin.store import events, runs
from tocsin.store.connection import Tx
from tocsin.trigger import Json
from tocsin.web.answers import answer
from tocsin.web.context import WebContext
from tocsin.web.guards import require_owner
from tocsin.web.refusals import not_found


class Status:
    """Answers questions."""

    def __init__(self, context: WebContext) -> None:
        self._context = context

    async def health(self, _request: web.Request) -> web.Response:
        """`GET /api/health`, for anyone."""
        return answer(200, {"ok": True, **self._context.health()})

    async def event(self, request: web.Request) -> web.Response:
        """`GET /api/events/{event_id}`, where a delivery's `status_url` points. Raises Refusal."""
        require_owner(request, self._context.api_token)
        event_id = request.match_info["event_id"]
        document = await self._context.store.read(lambda tx: event_document(tx, event_id))
        if document is None:
            raise not_found("event")
        return answer(200, document)


def event_document(tx: Tx, event_id: str) -> dict[str, Json] | None:
    """An event with how its last run ended; None when there is none of this id."""
    event = events.by_id(tx, event_id) if event_id.isascii() else None
    if event is None:
        return None
    run = None if event.run_id is None else runs.by_id(tx, event.run_id)
    return {
        "event_id": event.id,
        "state": event.state,
        "run_id": event.run_id,
        "result": None if run is None else run.result,
        "exit_code": None if run is None else run.exit_code,
        "error": error_of(event, run),
    }


def error_of(event: Event, run: Run | None) -> str | None:
    """The last run's error; of an event that ended without one, why."""
    if run is not None:
        return run.error
    return None if event.state in UNFINISHED else event.reason
