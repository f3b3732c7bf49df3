"""`POST /api/triggers/{token}`: one delivery, from its first header to the committed event.

Checks stand in the order of DESIGN section 10; those that need no body come before it is read.
"""

from __future__ import annotations

import re
from math import ceil
from typing import Final

from aiohttp import web

from tocsin.components import VERSIONS
from tocsin.engine.accept import BINDING
from tocsin.errors import StoreUnusable
from tocsin.event import (
    Accepted,
    Answer,
    Declined,
    Duplicate,
    Filtered,
    Limited,
    Occurrence,
    Quarantined,
    Skipped,
    Unreadable,
)
from tocsin.identity import token_hash
from tocsin.ratelimit import of_props
from tocsin.registration import Registration
from tocsin.store import registrations
from tocsin.trigger import Json, Kind, Rate
from tocsin.web.answers import answer
from tocsin.web.body import decode
from tocsin.web.context import Limits, WebContext
from tocsin.web.delivery_ids import DeliveryId, DeliveryIds, id_header
from tocsin.web.disclosure import safe_headers, safe_query
from tocsin.web.guards import LOGGER, is_over_socket
from tocsin.web.reading import HARD_LIMIT, read_body, refuse_declared
from tocsin.web.refusals import (
    DRAINING_RETRY_S,
    LONGEST_RETRY_S,
    STORE_RETRY_S,
    bad_body,
    gone,
    left_of,
    not_found,
    paused,
    rate_limited,
    unavailable,
)
from tocsin.web.verifying import Sender, Verifier, headers_of

COMPONENT: Final = "webhook"
TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")  # base64url (RFC 4648), as `identity.new_token` makes them


class Ingress:
    """Takes deliveries."""

    def __init__(self, context: WebContext, limits: Limits) -> None:
        self._context = context
        self._limits = limits
        self._verifier = Verifier(context)
        self._ids = DeliveryIds(store=context.store, clock=context.clock)

    async def post(self, request: web.Request) -> web.Response:
        """202 for a new event, 200 for a known one; whatever is said was committed before. Raises Refusal."""
        refuse_declared(request, HARD_LIMIT)
        row = await self._registration(request.match_info["token"])
        limit = self._limit(row)
        refuse_declared(request, limit)
        body = await read_body(request, limit=limit, seconds=self._limits.body_seconds)
        sender = await self._verifier.sender(request, row, body)
        self._refuse_off(row)
        payload = decode(
            body,
            content_type=request.headers.get("Content-Type"),
            content_encoding=", ".join(request.headers.getall("Content-Encoding", ())),
            limit=limit,
        )
        challenge = sender.challenge(payload)
        if challenge is not None:
            return answer(200, {"challenge": challenge})
        return await self._take(request, row, sender, payload, body)

    async def _registration(self, token: str) -> Registration:
        """The row behind a token. A lookup by hash tells nothing of the tokens there are by its timing."""
        if not TOKEN.fullmatch(token):
            raise not_found("trigger")
        hash_ = token_hash(token)
        row = await self._context.store.read(lambda tx: registrations.by_token(tx, hash_))
        if row is None:
            raise not_found("trigger")
        return row

    def _limit(self, row: Registration) -> int:
        """The trigger's own cap, in bytes."""
        own = row.spec.props.get("body_limit")
        return min(own if isinstance(own, int) else self._context.settings.body_limit, HARD_LIMIT)

    def _refuse_off(self, row: Registration) -> None:
        now = self._context.clock.now()
        if row.off_reason(now) is not None:
            raise gone()
        if row.is_paused(now):
            raise paused(retry_after_s=left_of(row.paused_until, now))
        if not self._context.is_accepting():
            raise unavailable("the engine is about to stop; send it again", retry_after_s=DRAINING_RETRY_S)
        if row.halt(now) is not None:
            message = "this trigger waits for its owner; send it again later"
            raise unavailable(message, retry_after_s=LONGEST_RETRY_S)

    async def _take(
        self, request: web.Request, row: Registration, sender: Sender, payload: Json, body: bytes
    ) -> web.Response:
        headers = request.headers.getall(id_header(row) or "", [])
        lists = headers_of(request)
        sent = sender.delivery_id(lists, payload)
        id_ = await self._ids.of(row, headers=headers, payload=payload, body=body, sent=sent)
        occurrence = Occurrence(
            registration_id=row.id,
            component=COMPONENT,
            component_version=VERSIONS[COMPONENT],
            kind=Kind.WEBHOOK,
            delivery_id=id_.id,
            given_id=id_.given,
            occurred_at=sender.sent_at or self._context.clock.now(),
            event_type=sender.event_type(lists, payload),
            payload=payload,
            body=body or None,
            safe_headers=safe_headers(request.headers.items()),
            safe_query=safe_query(request.query.items()),
        )
        given = await self._accept(occurrence, of_props(row.spec.props))
        if isinstance(given, Declined):  # it was turned off or paused a moment ago
            await self._refuse_declined(row, given.reason)
        return self._answer(request, id_, given)

    async def _refuse_declined(self, row: Registration, reason: str) -> None:
        if reason == BINDING:
            LOGGER.warning("%s: a delivery for what is no webhook any more", row.spec.name)
        changed = await self._context.store.read(lambda tx: registrations.by_id(tx, row.id))
        if changed is not None:
            self._refuse_off(changed)

    async def _accept(self, occurrence: Occurrence, rate: Rate | None) -> Answer:
        try:
            given = await self._context.accept.accept_all([occurrence], rate=rate)
            return given if isinstance(given, Limited) else given[0]
        except StoreUnusable as error:
            LOGGER.error("a delivery was not taken: %s", error)
            message = "the delivery could not be written down; send it again"
            raise unavailable(message, retry_after_s=STORE_RETRY_S) from error

    def _answer(self, request: web.Request, id_: DeliveryId, given: Answer) -> web.Response:
        """INTERFACE section 6: the original ids for a duplicate; how it was told apart when by its body."""
        how = {"dedupe": "body"} if id_.by_body else {}
        match given:
            case Accepted(event_id=event_id, run_id=run_id):
                return answer(202, self._ids_of(request, event_id, run_id) | {"duplicate": False} | how)
            case Duplicate(event_id=event_id, run_id=run_id, reason=reason):
                why = {} if reason is None else {"reason": reason}
                return answer(200, self._ids_of(request, event_id, run_id) | {"duplicate": True} | why | how)
            case Skipped(event_id=event_id, reason=reason):
                return answer(202, self._ids_of(request, event_id, None) | {"skipped": reason} | how)
            case _:
                return self._no_event(given)

    def _no_event(self, given: Declined | Filtered | Quarantined | Limited | Unreadable) -> web.Response:
        match given:
            case Filtered():
                return answer(200, {"filtered": True})
            case Quarantined(quarantine_id=quarantine_id, reason=reason):
                return answer(202, {"quarantine_id": quarantine_id, "reason": reason})
            case Limited(retry_after=retry_after):
                raise rate_limited(retry_after_s=ceil(retry_after.total_seconds()))
            case Declined():
                raise gone()
            case Unreadable(reason=reason):
                raise bad_body(reason)

    def _ids_of(self, request: web.Request, event_id: str, run_id: str | None) -> dict[str, Json]:
        run: dict[str, Json] = {} if run_id is None else {"run_id": run_id}
        url = self._base(request) + f"/api/events/{event_id}"
        return {"event_id": event_id, **run, "status_url": url}

    def _base(self, request: web.Request) -> str:
        """public_url, else the address that the sender used (a known one, or it were not here)."""
        if self._context.settings.public_url is not None:
            return self._context.settings.public_url.rstrip("/")
        return "" if is_over_socket(request) else f"http://{request.headers['Host']}"
