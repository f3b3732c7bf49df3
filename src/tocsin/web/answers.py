"""JSON responses, the only kind there is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from tocsin.trigger import Json
from tocsin.web.refusals import Refusal

COMMON_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Server": "tocsin",  # aiohttp's own names the versions of Python and itself to strangers
}


def answer(
    status: int, document: Mapping[str, Json], headers: Mapping[str, str] | None = None
) -> web.Response:
    """A JSON object with a status."""
    text = json.dumps(document, ensure_ascii=True, allow_nan=False)
    return web.Response(
        status=status,
        text=text,
        content_type="application/json",
        headers={**COMMON_HEADERS, **(headers or {})},
    )


def refused(refusal: Refusal) -> web.Response:
    """`{"error": CODE, "message": TEXT}`."""
    return answer(refusal.status, {"error": refusal.code, "message": str(refusal)}, refusal.headers)
