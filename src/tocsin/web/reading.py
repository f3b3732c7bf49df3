"""Reads a request's body within a size and a time, and asks for it only when it is wanted."""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import HttpProcessingError

from tocsin.settings import MIB
from tocsin.web.refusals import bad_body, too_large, too_slow
from tocsin.web.room import Take

HARD_LIMIT: Final = 4 * MIB  # what a source may allow at most (DESIGN section 21)


def refuse_declared(request: web.Request, limit: int) -> None:
    """Raise a Refusal when the announced length is over the limit: the body need not come at all."""
    if request.content_length is not None and request.content_length > limit:
        raise too_large(limit)


async def read_body(request: web.Request, *, limit: int, seconds: float, take: Take) -> bytes:
    """The exact bytes as sent, counted while they arrive, whatever was announced.

    Raises a Refusal: 413 over the limit, 408 when they do not end in time, 400 when they end early, 503
    when there is no room for them.
    """
    await invite(request)
    try:
        async with asyncio.timeout(seconds):
            return await counted(request, limit, take)
    except TimeoutError as error:
        raise too_slow(seconds) from error
    except (web.RequestPayloadError, HttpProcessingError, ConnectionError) as error:
        raise bad_body("the body ended before its announced end") from error


async def counted(request: web.Request, limit: int, take: Take) -> bytes:
    body = bytearray()
    async for chunk in request.content.iter_any():
        take(len(chunk))
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)


async def invite(request: web.Request) -> None:
    """Answer `Expect: 100-continue` (RFC 9110, 10.1.1) now that all checks without a body have passed."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.version >= HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # as aiohttp's own: the answer has not begun


async def expect_later(_request: web.Request) -> None:
    """In place of aiohttp's answer to `Expect`, which would come before every check."""
