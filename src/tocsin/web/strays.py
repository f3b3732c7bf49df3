"""What becomes no event because nobody vouches for it, or nobody can tell whose it is: kept, and said.

Nothing is kept that may be secret: the headers and the query are those that a run may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from aiohttp import web

from tocsin.engine.quarantining import Quarantine
from tocsin.errors import StoreUnusable
from tocsin.quarantine import Reason, Stray
from tocsin.signature import Verified
from tocsin.web.accounts import read
from tocsin.web.addresses import Address, Mode, Source
from tocsin.web.answers import answer
from tocsin.web.arrival import Arrival
from tocsin.web.delivery_ids import given_id, scope, shown
from tocsin.web.describing import described
from tocsin.web.guards import LOGGER
from tocsin.web.peers import Peers
from tocsin.web.proving import Proof, Rejected, Unattributed, Why
from tocsin.web.refusals import STORE_RETRY_S, Refusal, bad_signature, gone, stale_timestamp, unavailable
from tocsin.web.standing import active

MAX_TAKERS: Final = 100  # triggers that one delivery is handed to


class Strays:
    """Keeps them."""

    def __init__(self, quarantine: Quarantine, peers: Peers) -> None:
        self._quarantine = quarantine
        self._peers = peers

    async def rejected(
        self, address: Address, arrival: Arrival, rejected: Rejected, *, peer: str | None
    ) -> Refusal:
        """What to say. What nobody signed, or not in time, is kept.

        Unless its peer is refused too often.
        """
        if rejected.why is Why.UNKNOWN:
            return unavailable(rejected.message, retry_after_s=STORE_RETRY_S)
        if not self._peers.is_over(peer):
            await self._keep_rejected(address, arrival, rejected)
        return (stale_timestamp if rejected.why is Why.STALE else bad_signature)(rejected.message)

    async def _keep_rejected(self, address: Address, arrival: Arrival, rejected: Rejected) -> None:
        reason, detail = Reason.FAILED_VERIFICATION, rejected.message
        stray = stray_of(address, arrival, reason, address.sources, verified=None, detail=detail)
        try:
            await self._quarantine.keep(stray)
        except StoreUnusable as error:  # the answer is the same
            LOGGER.warning("a delivery that nobody vouches for was not kept: %s", error)

    async def unattributed(self, address: Address, arrival: Arrival, found: Unattributed) -> web.Response:
        """202 with the id of what is kept."""
        stray = stray_of(address, arrival, found.reason, address.sources, found.verified, detail=found.detail)
        return await self._keep(stray)

    async def without_taker(self, address: Address, arrival: Arrival, proof: Proof) -> web.Response:
        """202 with the id of what is kept, for a delivery that is for nobody, or for too many.

        Raises Refusal (410) for the address of one source whose triggers were all removed.
        """
        takers = len(active(proof, arrival.at))
        if not takers and proof.connection is None:
            raise gone()
        reason = Reason.OVERFLOW if takers else Reason.MISSING_SUBSCRIPTION
        detail = f"for {takers} triggers, {MAX_TAKERS} are the most" if takers else "no trigger is fed by it"
        stray = stray_of(
            address,
            arrival,
            reason,
            proof.sources,
            proof.verified,
            detail=detail,
            connection=proof.connection,
        )
        return await self._keep(stray)

    async def _keep(self, stray: Stray) -> web.Response:
        try:
            id_ = await self._quarantine.keep(stray)
        except StoreUnusable as error:
            LOGGER.error("a delivery was not kept: %s", error)
            message = "the delivery could not be written down; send it again"
            raise unavailable(message, retry_after_s=STORE_RETRY_S) from error
        return answer(202, {"quarantine_id": id_, "reason": stray.reason})


def has_takers(proof: Proof, now: datetime) -> bool:
    """Whether it is for somebody, on or off, and not for too many."""
    return any(source.rows for source in proof.sources) and len(active(proof, now)) <= MAX_TAKERS


def stray_of(
    address: Address,
    arrival: Arrival,
    reason: Reason,
    sources: Sequence[Source],
    verified: Verified | None,
    *,
    detail: str | None = None,
    connection: str | None = None,
) -> Stray:
    """As it is kept. The payload only of what somebody vouches for."""
    payload = None if verified is None else read(arrival)
    props = sources[0].props
    told = described(props, arrival, payload)
    given = None
    if verified is not None:
        whose = scope(address.provider, connection)
        given = given_id(props, arrival, payload, offered=told.delivery_id, connection=whose)
    return Stray(
        route=address.route,
        reason=reason,
        detail=detail,
        provider=address.provider,
        connection=connection,
        installation_id=sources[0].installation_id if len(sources) == 1 else None,
        registration_id=sources[0].rows[0].id if address.mode is Mode.TOKEN else None,
        event_type=told.event_type,
        delivery_id=None if given is None else shown(given),
        given_id=given,
        occurred_at=None if verified is None else verified.sent_at,
        headers=arrival.safe_headers,
        query=arrival.safe_query,
        payload=payload,
        body=arrival.body or None,
    )
