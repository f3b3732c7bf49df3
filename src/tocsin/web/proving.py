"""Whether a delivery comes from whom it says, and from which connection. Blocking: it runs in a thread.

Secrets may come from a program or a keyring, and a large body takes its time to be hashed. What is
found tells nothing of whether any trigger is on.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from tocsin.errors import SecretMissing, SignatureRejected
from tocsin.quarantine import Reason
from tocsin.seams import SecretReferences
from tocsin.signature import Scheme, Verified, verify
from tocsin.trigger import Json
from tocsin.web.accounts import in_headers, in_payload, is_account
from tocsin.web.addresses import Address, Mode, Source
from tocsin.web.arrival import Arrival

LOGGER: Final = logging.getLogger("tocsin.web")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """It may be taken. sources: those that it is for. verified: what the signature vouches for."""

    sources: Sequence[Source]
    verified: Verified | None = None
    connection: str | None = None


class Why(StrEnum):
    """Why nobody vouches for a delivery; `UNKNOWN`: the secret is not to be had."""

    FORGED = "forged"
    STALE = "stale"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Nobody vouches for it. message: for the sender; the same whatever became of the trigger."""

    why: Why = Why.FORGED
    message: str = "the signature fits none of the secrets"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unattributed:
    """Somebody vouches for it, but nobody can tell whose it is. detail: a sentence for a person."""

    reason: Reason
    detail: str
    verified: Verified


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One account of a shared source, with the references of its secrets."""

    name: str
    account: str | None
    secrets: Sequence[str]
    scheme: Scheme | None


Finding: TypeAlias = Proof | Rejected | Unattributed


def prove(address: Address, arrival: Arrival, known: SecretReferences) -> Finding:
    """Ask the secret of the source, or those of the connections that share it."""
    if address.mode is Mode.SHARED:
        return attribute(address, arrival, known)
    if is_open(address):
        return Proof(sources=address.sources)
    source = address.sources[0]
    found = checked(scheme_of(source.props), texts(source.props.get("secrets")), arrival, known)
    return found if isinstance(found, Rejected) else Proof(sources=address.sources, verified=found)


def is_open(address: Address) -> bool:
    """Whether the address is all that it takes: a token's, or one that is open to anybody."""
    auth = address.sources[0].props.get("auth", "token")
    return address.mode is not Mode.SHARED and (
        auth == "none" or (auth == "token" and address.mode is Mode.TOKEN)
    )


def attribute(address: Address, arrival: Arrival, known: SecretReferences) -> Finding:
    """The one connection whose secret fits, among those of the account that the delivery names.

    The payload is read only when somebody vouches for it.
    """
    everyone, claim = connections(address), in_headers(address.provider, arrival)
    asked = everyone if claim is None else of_account(everyone, claim)
    answers = {one.name: checked(one.scheme, one.secrets, arrival, known) for one in asked or everyone}
    fitting = {name: found for name, found in answers.items() if isinstance(found, Verified)}
    if fitting and claim is None:
        claim = in_payload(address.provider, arrival)
        asked = everyone if claim is None else of_account(everyone, claim)
    if fitting and not asked:
        detail = f"no connection is for the account {claim!a:.100}"
        verified = next(iter(fitting.values()))
        return Unattributed(reason=Reason.MISSING_SUBSCRIPTION, detail=detail, verified=verified)
    return chosen(address, {one.name: answers[one.name] for one in asked or everyone})


def chosen(address: Address, answers: Mapping[str, Verified | Rejected]) -> Finding:
    """The one whose secret fits, of those that were asked."""
    fitting = {name: found for name, found in answers.items() if isinstance(found, Verified)}
    if not fitting:
        return worst([found for found in answers.values() if isinstance(found, Rejected)])
    name, verified = next(iter(fitting.items()))
    if len(fitting) > 1:
        detail = f"the secrets of {', '.join(sorted(fitting))} fit"
        return Unattributed(reason=Reason.AMBIGUOUS_ATTRIBUTION, detail=detail, verified=verified)
    sources = [source for source in address.sources if name in names(source)]
    return Proof(sources=sources, verified=verified, connection=name)


def of_account(everyone: Sequence[Connection], claim: str) -> Sequence[Connection]:
    """The connections of an account; those that name none where no other is for it."""
    named = [one for one in everyone if is_account(one.account, claim)]
    return named or [one for one in everyone if one.account is None]


def worst(rejections: Sequence[Rejected]) -> Rejected:
    """One that could not be asked may have been the one: it can be sent again."""
    unknown = [one for one in rejections if one.why is Why.UNKNOWN]
    return (unknown or list(rejections) or [Rejected()])[0]


def checked(
    scheme: Scheme | None, references: Sequence[str], arrival: Arrival, known: SecretReferences
) -> Verified | Rejected:
    """Without a scheme or a secret nothing fits."""
    if scheme is None or not references:
        return Rejected()
    try:
        return verify(scheme, arrival.headers, arrival.body, known.values(references), now=arrival.at)
    except SecretMissing as error:
        LOGGER.warning("a delivery cannot be verified: %s", error)
        return Rejected(why=Why.UNKNOWN, message="this cannot be verified now; send it again")
    except SignatureRejected as error:
        return Rejected(why=Why.STALE if error.stale else Why.FORGED, message=str(error))


def connections(address: Address) -> list[Connection]:
    """Every connection that its sources share, each once."""
    found = {
        str(one.get("name")): Connection(
            name=str(one.get("name")),
            account=account if isinstance(account := one.get("account"), str) else None,
            secrets=texts(one.get("secrets")),
            scheme=scheme_of(source.props),
        )
        for source in address.sources
        for one in tables(source.props.get("connections"))
    }
    return list(found.values())


def names(source: Source) -> set[str]:
    """The connections of a source."""
    return {str(one.get("name")) for one in tables(source.props.get("connections"))}


def tables(written: Json) -> list[Mapping[str, Json]]:
    return [one for one in written if isinstance(one, Mapping)] if isinstance(written, list) else []


def texts(written: Json) -> list[str]:
    return [one for one in written if isinstance(one, str)] if isinstance(written, list) else []


def scheme_of(props: Mapping[str, Json]) -> Scheme | None:
    """How its deliveries are signed."""
    written = props.get("scheme")
    return Scheme.of(written) if isinstance(written, Mapping) else None
