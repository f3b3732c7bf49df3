"""One connection: aiohttp's protocol with answers in JSON, and what the one too many is told."""

from __future__ import annotations

import asyncio
import json
from typing import Final

from aiohttp import web
from aiohttp.web_request import BaseRequest

from tocsin.web.answers import refused
from tocsin.web.context import Limits
from tocsin.web.guards import LOGGER
from tocsin.web.refusals import Code, Refusal, bad_body

CROWDED_BODY: Final = json.dumps(
    {"error": Code.UNAVAILABLE, "message": "too many connections; send it again"}
).encode()
CROWDED: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(CROWDED_BODY), CROWDED_BODY)
)


class Connection(web.RequestHandler):
    """A connection that is served.

    aiohttp's keep-alive time is also its deadline for a request's headers. The bytes of a body are
    left as they were sent.
    """

    __slots__ = ()

    def __init__(self, manager: web.Server, limits: Limits) -> None:
        super().__init__(
            manager,
            loop=asyncio.get_running_loop(),
            access_log=None,  # type: ignore[arg-type]  # documented to turn it off
            keepalive_timeout=limits.idle_seconds,
            lingering_time=limits.lingering_seconds,
            auto_decompress=False,
        )

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """What is not HTTP (400), and our own faults (500): in JSON, without a word of the cause."""
        if request.writer.output_size > 0:  # as aiohttp's own asks
            raise ConnectionError("an answer has begun already; there is no room for another")
        if status < 500:
            refusal = bad_body("this is no well-formed HTTP/1.1 request")
        else:
            LOGGER.error("a request failed", exc_info=exc)
            refusal = Refusal(500, Code.INTERNAL, "the engine failed to answer this; its log says why")
        response = refused(refusal)
        response.force_close()
        return response


class Crowded(asyncio.Protocol):
    """A connection too many: told so and closed, whatever it wanted."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Answer before the question."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream server makes no other
        transport.write(CROWDED)
        transport.close()
