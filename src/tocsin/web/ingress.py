"""Deliveries, from their first header to the committed events: one way for all three addresses.

Checks stand in the order of DESIGN section 10; those that need no body come before it is read.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from tocsin.trigger import Json
from tocsin.web import addresses
from tocsin.web.addresses import Address
from tocsin.web.answers import answer
from tocsin.web.arrival import Arrival, arrival_of
from tocsin.web.body import decode
from tocsin.web.context import Limits, WebContext
from tocsin.web.describing import challenge_of
from tocsin.web.handing import Handing
from tocsin.web.outcomes import Outcome, is_known, said, said_ended, said_known
from tocsin.web.peers import Peers
from tocsin.web.preferring import wait_of
from tocsin.web.proving import Finding, Proof, Rejected, Unattributed, is_open, prove
from tocsin.web.reading import HARD_LIMIT, read_body, refuse_declared
from tocsin.web.room import Room, Take
from tocsin.web.standing import refuse_off
from tocsin.web.strays import Strays, has_takers
from tocsin.web.waiting import Waiting

PROOFS: Final = 4  # at a time; secrets that take long must leave threads to the engine


class Ingress:
    """Takes deliveries. Every method: 202 for what is new, 200 for what is known; raises Refusal.

    Whatever is said was committed before.
    """

    def __init__(self, context: WebContext, limits: Limits, peers: Peers) -> None:
        self._context = context
        self._limits = limits
        self._handing = Handing(context)
        self._strays = Strays(context.controls.quarantine, peers)
        self._waiting = Waiting(context.store, is_accepting=context.is_accepting)
        context.listen(self._waiting.hear)
        self._room = Room(limits.body_bytes)
        self._proving = asyncio.Semaphore(PROOFS)

    async def to_trigger(self, request: web.Request) -> web.Response:
        """`POST /api/triggers/{token}`."""
        refuse_declared(request, HARD_LIMIT)
        return await self._take(
            request, await addresses.at_token(self._context.store, request.match_info["token"])
        )

    async def to_instance(self, request: web.Request) -> web.Response:
        """`POST /trigger/instance/{id}`."""
        refuse_declared(request, HARD_LIMIT)
        return await self._take(
            request, await addresses.at_instance(self._context.store, request.match_info["id"])
        )

    async def to_provider(self, request: web.Request) -> web.Response:
        """`POST /app-webhook/{provider}`."""
        refuse_declared(request, HARD_LIMIT)
        return await self._take(
            request, await addresses.at_provider(self._context.store, request.match_info["provider"])
        )

    async def _take(self, request: web.Request, address: Address) -> web.Response:
        with self._room.share() as take:  # not while it waits
            arrival = await self._arrival(request, address, take)
            found = await self._record(request, address, arrival)
            del arrival
        return found if isinstance(found, web.Response) else await self._answer(request, found)

    async def _record(
        self, request: web.Request, address: Address, arrival: Arrival
    ) -> list[Outcome] | web.Response:
        """What each trigger says, or what is said where none is asked."""
        proof = await self._prove(address, arrival)
        if isinstance(proof, Rejected):
            raise await self._strays.rejected(address, arrival, proof, peer=request.remote)
        if isinstance(proof, Unattributed):
            return await self._strays.unattributed(address, arrival, proof)
        challenge = challenge_of(proof, arrival)
        if challenge is not None:
            return answer(200, {"challenge": challenge})
        if not has_takers(proof, arrival.at):
            return await self._strays.without_taker(address, arrival, proof)
        refuse_off(proof, arrival.at, is_accepting=self._context.is_accepting())
        return await self._handing.hand(address, proof, arrival, self._payload(address, arrival))

    async def _prove(self, address: Address, arrival: Arrival) -> Finding:
        """In a thread, unless the address is all that it takes."""
        if is_open(address):
            return Proof(sources=address.sources)
        async with self._proving:
            return await asyncio.to_thread(prove, address, arrival, self._context.secrets)

    async def _arrival(self, request: web.Request, address: Address, take: Take) -> Arrival:
        """The whole of it, within the caps."""
        limit = address.limit(self._context.settings.body_limit)
        refuse_declared(request, limit)
        body = await read_body(request, limit=limit, seconds=self._limits.body_seconds, take=take)
        public_url = self._context.settings.public_url
        return arrival_of(request, body, public_url=public_url, at=self._context.clock.now())

    def _payload(self, address: Address, arrival: Arrival) -> Json:
        """Raises Refusal for a body that is not what it says it is."""
        return decode(
            arrival.body,
            content_type=next(iter(arrival.header("content-type")), None),
            content_encoding=", ".join(arrival.header("content-encoding")),
            limit=address.limit(self._context.settings.body_limit),
        )

    async def _answer(self, request: web.Request, outcomes: list[Outcome]) -> web.Response:
        """At once, or at the end of what it set off when the caller would wait for that."""
        several = len(outcomes) > 1
        seconds = wait_of(request.headers.getall("Prefer", ()))
        if seconds is not None and is_known(outcomes):
            return said_known(outcomes, several=several)
        started = [one.event_id for one in outcomes if one.event_id is not None]
        if seconds is None or not started:
            return said(outcomes, several=several)
        ends = await self._waiting.ends(
            started, seconds=seconds, is_there=lambda: request.transport is not None
        )
        if ends is None:
            return said(outcomes, several=several)
        return said_ended(outcomes, {str(one["event_id"]): one for one in ends}, several=several)
