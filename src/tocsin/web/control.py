"""`POST /control/{verb}`: what CLI, TUI and programs change, by the verbs of ``engine.verbs``.

Through the Unix socket (its file mode says who may) or with the API's bearer token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from aiohttp import web

from tocsin.engine.verbs import VERBS, error_document
from tocsin.errors import BadRequest, TocsinError
from tocsin.trigger import Json
from tocsin.web.answers import answer
from tocsin.web.body import parse_json, text_of
from tocsin.web.context import Limits, WebContext
from tocsin.web.guards import LOGGER, require_owner
from tocsin.web.reading import HARD_LIMIT, read_body, refuse_declared
from tocsin.web.refusals import Refusal, bad_body, not_found
from tocsin.web.room import Room

STOP: Final = "stop"


class Control:
    """Takes verbs."""

    def __init__(self, context: WebContext, limits: Limits) -> None:
        self._context = context
        self._limits = limits
        self._room = Room(limits.body_bytes)

    async def post(self, request: web.Request) -> web.StreamResponse:
        """`{"ok": result}`, or 400 with the error as ``engine.verbs.error_of`` reads it. Raises Refusal."""
        require_owner(request, self._context.api_token)
        verb = request.match_info["verb"]
        if verb != STOP and verb not in VERBS:
            raise not_found("verb")
        arguments = await self._arguments(request)
        if verb == STOP:
            return await self._stop(request, now=arguments.get("now") is True)
        try:
            return answer(200, {"ok": await self._call(verb, arguments)})
        except Refusal:
            raise
        except TocsinError as error:
            return answer(400, error_document(error))

    async def _arguments(self, request: web.Request) -> Mapping[str, Any]:
        """The body as a JSON object; none at all counts as an empty one."""
        refuse_declared(request, HARD_LIMIT)
        with self._room.share() as take:
            seconds = self._limits.body_seconds
            body = await read_body(request, limit=HARD_LIMIT, seconds=seconds, take=take)
            found = parse_json(text_of(body, "utf-8")) if body else {}
        if not isinstance(found, dict):
            raise bad_body("a verb's arguments are a JSON object")
        return found

    async def _call(self, verb: str, arguments: Mapping[str, Any]) -> Json:
        """Run a verb. Raises TocsinError, also for arguments that it has no use for."""
        try:
            return await VERBS[verb](self._context.controls, arguments)
        except KeyError as error:
            LOGGER.warning("control %s: %r", verb, error)
            raise BadRequest(f"{verb}: the argument {error} is missing") from error
        except (TypeError, ValueError, AttributeError) as error:
            LOGGER.warning("control %s: %r", verb, error)
            raise BadRequest(f"{verb}: an argument is of another type than it takes: {error}") from error

    async def _stop(self, request: web.Request, *, now: bool) -> web.StreamResponse:
        """Answer first: afterwards there may be nobody left to do it."""
        response = answer(200, {"ok": True})
        await response.prepare(request)
        await response.write_eof()
        self._context.request_stop(now)
        return response
