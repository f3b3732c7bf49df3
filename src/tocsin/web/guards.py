"""Who may speak here at all, and how every refusal is worded: middlewares, outermost first.

A server on loopback can be reached by every web page that the person opens; the Host header tells a
page that rebinds its name (421), Origin and Sec-Fetch-Site tell any other (403).
"""

from __future__ import annotations

import hmac
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import ip_address
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Middleware

from tocsin.errors import StoreUnusable
from tocsin.web.answers import refused
from tocsin.web.peers import Peers
from tocsin.web.refusals import (
    STORE_RETRY_S,
    Refusal,
    forbidden_host,
    forbidden_origin,
    method_not_allowed,
    not_found,
    refused_too_often,
    unauthorized,
    unavailable,
)

LOGGER: Final = logging.getLogger("tocsin.web")
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
WILDCARDS: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, never bound
HOST: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9_.-]+?)\.?)(?::\d{1,5})?"
)  # RFC 9110, 7.2
COUNTED: Final = range(400, 429)  # the peer's own doing; 429 of a source that is over its rate is not
OWN_SITE: Final = frozenset({"none", "same-origin"})  # another port of localhost is "same-site": not enough

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def guards(peers: Peers, *, host: str, public_url: str | None) -> list[Middleware]:
    """In the order in which they look. host: the one that is bound."""
    return [Answering(peers).answer_refusals, HostGuard(host=host, public_url=public_url).check, refuse_pages]


class Answering:
    """Words what was refused, and leaves a line that says what and to whom: unless it is too often."""

    def __init__(self, peers: Peers) -> None:
        @web.middleware
        async def answer_refusals(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                return await handler(request)
            except (Refusal, StoreUnusable, web.HTTPMethodNotAllowed, web.HTTPNotFound) as error:
                refusal = refusal_of(error, request.method)
            wait = peers.note(request.remote) if refusal.status in COUNTED else None
            if wait is not None:
                return refused(refused_too_often(retry_after_s=wait))
            LOGGER.info(
                "%s %s from %s: %d %s, %s",
                request.method,
                route_of(request),
                request.remote or "the socket",
                refusal.status,
                refusal.code,
                refusal,
            )
            return refused(refusal)

        self.answer_refusals: Middleware = answer_refusals


def refusal_of(error: Exception, method: str) -> Refusal:
    """What is said when this was raised."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, StoreUnusable):
        LOGGER.warning("the database does not answer: %s", error)
        return unavailable("the database does not answer; try again", retry_after_s=STORE_RETRY_S)
    if isinstance(error, web.HTTPMethodNotAllowed):
        return method_not_allowed(method, ", ".join(sorted(error.allowed_methods)))
    return not_found("thing")


def route_of(request: web.Request) -> str:
    """The route's pattern; never the path itself, which may hold a token."""
    resource = request.match_info.route.resource
    return "an unknown path" if resource is None else resource.canonical


class HostGuard:
    """Knows this server's names. The port is not looked at: tunnels and containers map it."""

    def __init__(self, *, host: str, public_url: str | None) -> None:
        public = None if public_url is None else urlsplit(public_url).hostname
        self._names = LOOPBACK | {host.lower(), (public or "localhost").lower()}
        self._is_wildcard = host in WILDCARDS

        @web.middleware
        async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
            if not is_over_socket(request) and not self.knows(request.headers.getall("Host", ())):
                raise forbidden_host()
            return await handler(request)

        self.check: Middleware = check

    def knows(self, hosts: Iterable[str]) -> bool:
        """Whether the one Host header names this server; bound to every address, any address does."""
        given = list(hosts)
        found = HOST.fullmatch(given[0].lower()) if len(given) == 1 else None
        if found is None:
            return False
        name = found["six"] or found["name"]
        return name in self._names or (self._is_wildcard and is_address(name))


def is_address(name: str) -> bool:
    """Whether it is a literal address: a page cannot rebind one."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@web.middleware
async def refuse_pages(request: web.Request, handler: Handler) -> web.StreamResponse:
    """No browser's page may speak here, whatever it has to say (W3C Fetch Metadata)."""
    if "Origin" in request.headers or request.headers.get("Sec-Fetch-Site", "none").lower() not in OWN_SITE:
        raise forbidden_origin()
    return await handler(request)


def is_over_socket(request: web.Request) -> bool:
    """Whether it came through the Unix socket, which only this user can open."""
    link = request.get_extra_info("socket")
    return link is not None and link.family == getattr(socket, "AF_UNIX", None)


def require_owner(request: web.Request, api_token: str) -> None:
    """Pass whoever comes through the Unix socket or shows the API's token. Raises a Refusal (401)."""
    if not is_over_socket(request) and not shows(request.headers.getall("Authorization", ()), api_token):
        raise unauthorized()


def shows(authorizations: Iterable[str], api_token: str) -> bool:
    """Exactly one header with exactly the token, compared in constant time; an empty token fits nothing."""
    given = list(authorizations)
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if scheme.lower() != "bearer" or not api_token:
        return False
    return hmac.compare_digest(token.strip().encode("utf-8", "surrogateescape"), api_token.encode())
