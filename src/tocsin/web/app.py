"""The routes, behind their guards."""

from __future__ import annotations

from aiohttp import web

from tocsin.web.context import Limits, WebContext
from tocsin.web.control import Control
from tocsin.web.guards import guards
from tocsin.web.ingress import Ingress
from tocsin.web.peers import Peers
from tocsin.web.reading import expect_later
from tocsin.web.status import Status

__all__ = ["Limits", "WebContext", "build"]


def build(context: WebContext, *, limits: Limits | None = None, host: str | None = None) -> web.Application:
    """The application. host: the one that is bound, when it is not the configured one."""
    limits = limits or Limits()
    settings = context.settings
    peers, bound = Peers(context.clock), host or settings.host
    app = web.Application(middlewares=guards(peers, host=bound, public_url=settings.public_url))
    ingress, control, status = Ingress(context, limits, peers), Control(context, limits), Status(context)
    app.router.add_post("/api/triggers/{token}", ingress.to_trigger, expect_handler=expect_later)
    app.router.add_post("/trigger/instance/{id}", ingress.to_instance, expect_handler=expect_later)
    app.router.add_post("/app-webhook/{provider}", ingress.to_provider, expect_handler=expect_later)
    app.router.add_post("/control/{verb}", control.post, expect_handler=expect_later)
    app.router.add_get("/api/health", status.health)
    app.router.add_get("/api/events/{event_id}", status.event)
    return app
