"""What an address leads to: one source, or several that share a provider, and the triggers they feed.

Called by ``ingress`` before a byte of the body is read. Knows nothing of what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tocsin.identity import token_hash
from tocsin.registration import Registration
from tocsin.store import installations, registrations
from tocsin.store.connection import Store, Tx
from tocsin.trigger import Json
from tocsin.web.reading import HARD_LIMIT
from tocsin.web.refusals import not_found

COMPONENT: Final = "webhook"
TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,256}")  # base64url (RFC 4648), as `identity.new_token` makes them
INSTALLATION: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
PROVIDER: Final = re.compile(r"[a-z0-9_-]{1,64}")


class Mode(StrEnum):
    """By which sort of way something came: DESIGN section 10."""

    TOKEN = "token"  # noqa: S105 - a word, no secret
    INSTANCE = "instance"
    SHARED = "shared"


MODES: Final = frozenset(Mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An installation. rows: the triggers that it feeds, by name, on or off."""

    installation_id: str
    props: Mapping[str, Json]
    rows: Sequence[Registration]

    @property
    def mode(self) -> Mode:
        """By which way it is told; a trigger of its own has a token unless it says otherwise."""
        return mode_of(self.props)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """route: by which way something comes, nothing secret in it. sources: one; more only when shared."""

    route: str
    mode: Mode
    sources: Sequence[Source]

    @property
    def provider(self) -> str | None:
        """Who sends there, as the sources name it; None where they do not."""
        return provider_of(self.sources[0].props)

    def limit(self, default: int) -> int:
        """The largest body that one of them takes, in bytes."""
        return max(min(limit_of(source.props, default), HARD_LIMIT) for source in self.sources)


async def at_token(store: Store, token: str) -> Address:
    """A trigger's own address. A lookup by hash tells nothing of the tokens there are by its timing.

    Raises Refusal; also for a trigger that is fed by a source, which has an address of its own.
    """
    if not TOKEN.fullmatch(token):
        raise not_found("trigger")
    hash_ = token_hash(token)
    row = await store.read(lambda tx: registrations.by_token(tx, hash_))
    if row is None or mode_of(row.spec.props) is not Mode.TOKEN:
        raise not_found("trigger")
    source = Source(installation_id=row.installation_id, props=row.spec.props, rows=[row])
    return Address(route="/api/triggers", mode=Mode.TOKEN, sources=[source])


async def at_instance(store: Store, id_: str) -> Address:
    """A `[sources]` table's address. Raises Refusal."""
    source = await store.read(lambda tx: source_of(tx, id_)) if INSTALLATION.fullmatch(id_) else None
    if source is None or source.mode is not Mode.INSTANCE:
        raise not_found("source")
    return Address(route="/trigger/instance", mode=Mode.INSTANCE, sources=[source])


async def at_provider(store: Store, provider: str) -> Address:
    """Where a provider sends for all who share it. Raises Refusal."""
    found = await store.read(lambda tx: sources_of(tx, provider)) if PROVIDER.fullmatch(provider) else []
    if not found:
        raise not_found("provider")
    return Address(route=f"/app-webhook/{provider}", mode=Mode.SHARED, sources=found)


def source_of(tx: Tx, id_: str) -> Source | None:
    """An installation with its triggers; removed ones are not among them."""
    props = installations.props_of(tx, id_, COMPONENT)
    if props is None:
        return None
    return Source(installation_id=id_, props=props, rows=registrations.of_installation(tx, id_))


def sources_of(tx: Tx, provider: str) -> list[Source]:
    """Every shared installation of a provider."""
    return [
        Source(installation_id=id_, props=props, rows=registrations.of_installation(tx, id_))
        for id_, props in installations.of_sources(tx, COMPONENT).items()
        if mode_of(props) is Mode.SHARED and provider_of(props) == provider
    ]


def mode_of(props: Mapping[str, Json]) -> Mode:
    """As the configuration wrote it."""
    written = props.get("mode")
    return Mode(written) if isinstance(written, str) and written in MODES else Mode.TOKEN


def provider_of(props: Mapping[str, Json]) -> str | None:
    """`provider` of a shared source, else the preset that its deliveries are signed by."""
    named, scheme = props.get("provider"), props.get("scheme")
    if named is None and isinstance(scheme, Mapping):
        named = scheme.get("preset")
    return named if isinstance(named, str) else None


def limit_of(props: Mapping[str, Json], default: int) -> int:
    """The source's own cap, in bytes."""
    own = props.get("body_limit")
    return own if isinstance(own, int) else default
