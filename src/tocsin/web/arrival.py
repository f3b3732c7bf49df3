"""One delivery as it came over the wire, without the library that read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from aiohttp import web

from tocsin.web.disclosure import safe_headers, safe_query
from tocsin.web.guards import is_over_socket


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """headers: lower-case name, values in order of arrival. body: the exact bytes. at: aware UTC.

    safe_headers, safe_query: what may be kept and shown. base: what a `status_url` begins with.
    """

    headers: Mapping[str, Sequence[str]]
    body: bytes
    safe_headers: Mapping[str, str]
    safe_query: Mapping[str, str]
    base: str
    at: datetime

    def header(self, name: str) -> Sequence[str]:
        """Every value of a header, whatever the case of its name."""
        return self.headers.get(name.lower(), ())


def arrival_of(request: web.Request, body: bytes, *, public_url: str | None, at: datetime) -> Arrival:
    """What a request brought."""
    headers: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        headers.setdefault(name.lower(), []).append(value)
    return Arrival(
        headers=headers,
        body=body,
        safe_headers=safe_headers(request.headers.items()),
        safe_query=safe_query(request.query.items()),
        base=base_of(request, public_url),
        at=at,
    )


def base_of(request: web.Request, public_url: str | None) -> str:
    """public_url, else the address that the sender used (a known one, or it were not here)."""
    if public_url is not None:
        return public_url.rstrip("/")
    return "" if is_over_socket(request) else f"http://{request.headers['Host']}"
