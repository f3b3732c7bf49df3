"""Whether a delivery is its sender's: by a signature over the exact bytes, and by nothing else it says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from aiohttp import web

from tocsin.errors import SecretMissing, SignatureRejected
from tocsin.keysource import value_at
from tocsin.quarantine import Reason, Stray
from tocsin.registration import Registration
from tocsin.signature import Headers, Scheme, verify
from tocsin.trigger import Json
from tocsin.web.context import WebContext
from tocsin.web.delivery_ids import id_text
from tocsin.web.disclosure import safe_headers, safe_query
from tocsin.web.guards import LOGGER
from tocsin.web.refusals import STORE_RETRY_S, bad_signature, stale_timestamp, unavailable

ROUTE: Final = "/api/triggers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """What is known of who sent it. scheme: None for one that was not signed. sent_at: as it was signed."""

    scheme: Scheme | None = None
    sent_at: datetime | None = None

    def delivery_id(self, headers: Headers, payload: Json) -> str | None:
        """The id where this kind of sender puts it."""
        return None if self.scheme is None else first(self.scheme.delivery_id, headers, payload)

    def event_type(self, headers: Headers, payload: Json) -> str | None:
        """The type where this kind of sender puts it."""
        return None if self.scheme is None else first(self.scheme.event_type, headers, payload)

    def challenge(self, payload: Json) -> str | None:
        """The text that a sender wants to have back before it sends anything else."""
        key = None if self.scheme is None else self.scheme.challenge
        if key is None or not isinstance(payload, Mapping) or payload.get("type") != "url_verification":
            return None
        found = payload.get(key)
        return found if isinstance(found, str) else None


class Verifier:
    """Verifies; what fails is kept, bounded, for a person to look at."""

    def __init__(self, context: WebContext) -> None:
        self._context = context

    async def sender(self, request: web.Request, row: Registration, body: bytes) -> Sender:
        """Who sent it. Raises Refusal: 400 for a stale timestamp, 401, 503 when a secret cannot be had."""
        props: Mapping[str, Any] = row.spec.props
        if props.get("auth") != "signed":
            return Sender()
        scheme, now = Scheme.of(props["scheme"]), self._context.clock.now()
        secrets = await self._secrets(row, props["secrets"])
        try:
            verified = verify(scheme, headers_of(request), body, secrets, now=now)
        except SignatureRejected as rejected:
            await self._keep(request, row, body, str(rejected))
            raise (stale_timestamp if rejected.stale else bad_signature)(str(rejected)) from rejected
        return Sender(scheme=scheme, sent_at=verified.sent_at)

    async def _secrets(self, row: Registration, references: list[str]) -> list[str]:
        try:
            return list(await asyncio.to_thread(self._context.secrets.values, references))
        except SecretMissing as error:
            LOGGER.error("%s: a delivery cannot be verified: %s", row.spec.name, error)
            message = "the delivery cannot be verified now; send it again"
            raise unavailable(message, retry_after_s=STORE_RETRY_S) from error

    async def _keep(self, request: web.Request, row: Registration, body: bytes, why: str) -> None:
        stray = Stray(
            route=ROUTE,
            reason=Reason.FAILED_VERIFICATION,
            detail=why,
            installation_id=row.installation_id,
            registration_id=row.id,
            headers=safe_headers(request.headers.items()),
            query=safe_query(request.query.items()),
            body=body or None,
        )
        await self._context.controls.quarantine.keep(stray)


def headers_of(request: web.Request) -> dict[str, list[str]]:
    """Names in lower case; of each the values in their order."""
    found: dict[str, list[str]] = {}
    for name, value in request.headers.items():
        found.setdefault(name.lower(), []).append(value)
    return found


def first(places: tuple[str, ...], headers: Headers, payload: Json) -> str | None:
    """The text at the first of these places that has one; two different headers name nothing."""
    for place in places:
        kind, _, name = place.partition(":")
        if kind == "header":
            values = set(headers.get(name, ()))
            text = values.pop().strip() if len(values) == 1 else ""
        else:
            text = id_text(value_at(payload, name))
        if text:
            return text
    return None
