"""Hands a delivery to the triggers that it is for, through the one door, once for each source."""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.components import VERSIONS
from tocsin.engine.accept import BINDING
from tocsin.errors import StoreUnusable
from tocsin.event import Answer, Declined, Occurrence
from tocsin.normalizing import normalized
from tocsin.ratelimit import of_props
from tocsin.registration import Registration
from tocsin.store import registrations
from tocsin.trigger import Json, Kind
from tocsin.web.addresses import COMPONENT, Address, Source
from tocsin.web.arrival import Arrival
from tocsin.web.context import WebContext
from tocsin.web.delivery_ids import DeliveryId, DeliveryIds, scope
from tocsin.web.describing import Described, described
from tocsin.web.guards import LOGGER
from tocsin.web.outcomes import Outcome, outcome_of, refuse_limited
from tocsin.web.proving import Proof
from tocsin.web.refusals import STORE_RETRY_S, unavailable
from tocsin.web.standing import active, refuse_off


class Handing:
    """The step behind all checks."""

    def __init__(self, context: WebContext) -> None:
        self._context = context
        self._ids = DeliveryIds(store=context.store, clock=context.clock)

    async def hand(self, address: Address, proof: Proof, arrival: Arrival, payload: Json) -> list[Outcome]:
        """What each trigger that is on says, by source and name, after the commit. Raises Refusal."""
        outcomes: list[Outcome] = []
        for source in proof.sources:
            rows = active(Proof(sources=[source]), arrival.at)
            if rows:
                outcomes += await self._tell(address, proof, arrival, payload, source, rows)
        if not outcomes:
            await self._refuse_changed(proof, arrival)
        return outcomes

    async def _tell(
        self,
        address: Address,
        proof: Proof,
        arrival: Arrival,
        payload: Json,
        source: Source,
        rows: Sequence[Registration],
    ) -> list[Outcome]:
        told = described(source.props, arrival, payload)
        connection = scope(address.provider, proof.connection)
        id_ = await self._ids.of(source, arrival, payload, offered=told.delivery_id, connection=connection)
        occurrences = [
            occurrence_of(row, address, proof, arrival, payload, source=source, id_=id_, told=told)
            for row in rows
        ]
        answers = await self._accept(source, occurrences)
        note_mismatches(rows, answers)
        return [
            outcome_of(given, arrival.base, by_body=id_.by_body)
            for given in answers
            if not isinstance(given, Declined)  # turned off or paused a moment ago
        ]

    async def _accept(self, source: Source, occurrences: Sequence[Occurrence]) -> Sequence[Answer]:
        rate = of_props(source.props)
        try:
            return refuse_limited(await self._context.accept.accept_all(occurrences, rate=rate))
        except StoreUnusable as error:
            LOGGER.error("a delivery was not taken: %s", error)
            message = "the delivery could not be written down; send it again"
            raise unavailable(message, retry_after_s=STORE_RETRY_S) from error

    async def _refuse_changed(self, proof: Proof, arrival: Arrival) -> None:
        """Nobody takes it any more: say why, by the rows as they are now."""
        ids = [row.id for source in proof.sources for row in source.rows]
        found = await self._context.store.read(lambda tx: [registrations.by_id(tx, id_) for id_ in ids])
        rows = [row for row in found if row is not None]
        changed = Source(installation_id="", props={}, rows=rows)
        accepting = self._context.is_accepting()
        refuse_off(Proof(sources=[changed]), self._context.clock.now(), is_accepting=accepting)


def note_mismatches(rows: Sequence[Registration], answers: Sequence[Answer]) -> None:
    """A line for each that is another kind of trigger by now."""
    for row, given in zip(rows, answers, strict=True):
        if isinstance(given, Declined) and given.reason == BINDING:
            LOGGER.warning("%s: %s, not %s, so its address is void", row.id, row.spec.component, COMPONENT)


def occurrence_of(
    row: Registration,
    address: Address,
    proof: Proof,
    arrival: Arrival,
    payload: Json,
    *,
    source: Source,
    id_: DeliveryId,
    told: Described,
) -> Occurrence:
    """What one trigger is told."""
    sent_at = None if proof.verified is None else proof.verified.sent_at
    return Occurrence(
        registration_id=row.id,
        component=COMPONENT,
        component_version=VERSIONS[COMPONENT],
        kind=Kind.WEBHOOK,
        delivery_id=id_.id,
        given_id=id_.given,
        occurred_at=sent_at or arrival.at,
        payload=payload,
        body=arrival.body or None,
        connection=proof.connection,
        provider=address.provider,
        mode=address.mode,
        event_type=told.event_type,
        normalized=normalized(source.props, payload),
        safe_headers=arrival.safe_headers,
        safe_query=arrival.safe_query,
    )
