"""`[sources.NAME]` and `[connections.NAME]`: what several triggers share, and who sends to it.

Read by ``tables``; ``source_props`` makes an installation's settings of a source. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, Field, model_validator

from tocsin.config.problems import Fault, did_you_mean, seen
from tocsin.config.source_tables import DedupeTable, FilesTable, Table
from tocsin.config.values import Size, SomeText
from tocsin.config.webhook_table import Preset, RateText, References, WebhookTable
from tocsin.presets import GENERIC, PRESETS, STANDARD
from tocsin.trigger import Json


class ConnectionTable(Table):
    """One account at a provider."""

    model_config = ConfigDict(title="[connections.NAME]")

    provider: Preset = Field(description="Who sends.", examples=["shopify"])
    account: SomeText | None = Field(
        default=None,
        description="The account as its deliveries name it: a shop, an organisation, a workspace.",
        examples=["shop-a.myshopify.com"],
    )
    webhook_secret: References = Field(
        description="Where the signing secret is, as in a webhook's `secret`.", examples=["store:shop-a"]
    )


class SharedTable(Table):
    """One address for all accounts at a provider: `/app-webhook/PROVIDER`."""

    model_config = ConfigDict(title="shared")

    use: Preset = Field(description="Who sends, and so how it signs.", examples=["shopify"])
    connections: list[SomeText] = Field(
        min_length=1, description="The accounts that it is for.", examples=[["shop-a", "shop-b"]]
    )
    events: list[SomeText] = Field(default=[], description="The types of event that count; default: all.")
    rate: RateText | None = Field(
        default=None, description="The most deliveries; more are told to come later.", examples=["60/min"]
    )
    body_limit: Size | None = Field(
        default=None,
        description="The largest body taken; default: the engine's body_limit; at most 4MiB.",
        examples=["1MiB"],
    )


class InstanceTable(WebhookTable):
    """Something posted to a source's own address: signed as Standard Webhooks unless it says otherwise."""

    model_config = ConfigDict(title="webhook of a source")

    @model_validator(mode="before")
    @classmethod
    def _standard(cls, written: Any) -> Any:
        if isinstance(written, dict) and not {"preset", "auth"} & written.keys():
            return {"preset": STANDARD.preset, **written}
        return written


class SourceTable(Table):
    """One source for several triggers, which name it: exactly one of files, webhook and shared."""

    model_config = ConfigDict(title="[sources.NAME]")

    files: FilesTable | None = Field(
        default=None, description="Files that appear, change or go.", examples=[{"path": "~/Downloads"}]
    )
    webhook: InstanceTable | None = Field(
        default=None,
        description="Something posted to the source's address; signed as Standard Webhooks unless told.",
        examples=[{"secret": "store:partner"}],
    )
    shared: SharedTable | None = Field(
        default=None,
        description="Something that a provider posts for one of several accounts.",
        examples=[{"use": "shopify", "connections": ["shop-a", "shop-b"]}],
    )
    dedupe: DedupeTable | None = Field(
        default=None,
        description="How a repeated delivery is recognised; beside webhook or shared.",
        examples=[{"header": "X-Delivery"}],
    )


def instance_props(table: WebhookTable, body_limit: int) -> dict[str, Json]:
    """A source's own address."""
    return {"mode": "instance", **table.props(body_limit)}


def shared_props(
    table: SharedTable, connections: Mapping[str, ConnectionTable], body_limit: int
) -> dict[str, Json]:
    """One address for several accounts; the connections it names are known."""
    own = {"events": table.events, "rate": table.rate, "body_limit": table.body_limit}
    plain = WebhookTable(preset=table.use, secret=["env:_"]).model_copy(update=own)  # each has its own secret
    named = [(name, connections[name]) for name in table.connections]
    return {
        "mode": "shared",
        "provider": table.use,
        **plain.props(body_limit),
        "secrets": [],
        "connections": [
            {"name": name, "account": one.account, "secrets": list(one.webhook_secret)} for name, one in named
        ],
    }


def shared_faults(table: SourceTable, connections: Mapping[str, ConnectionTable | None]) -> Iterator[Fault]:
    """What a source says that cannot be."""
    if table.dedupe is not None and table.files is not None:
        yield Fault(keys=("dedupe",), message="saw dedupe beside files, expected it only beside a webhook")
    hook = table.webhook
    if hook is not None and hook.secret is None and hook.auth != "none":
        yield Fault(
            keys=("webhook",), message="saw no secret, expected one: a source's address is known to others"
        )
    if hook is not None and hook.auth == "token":
        message = 'saw "token", expected a signature or auth = "none": a source has no secret address'
        yield Fault(keys=("webhook", "auth"), message=message)
    if table.shared is not None:
        yield from connection_faults(table.shared, connections)


def connection_faults(
    table: SharedTable, connections: Mapping[str, ConnectionTable | None]
) -> Iterator[Fault]:
    """Connections that there are not, or that are another provider's."""
    if table.use == GENERIC or table.use not in PRESETS:
        wanted = ", ".join(PRESETS)
        yield Fault(keys=("shared", "use"), message=f"saw {seen(table.use)}, expected one of {wanted}")
    for index, name in enumerate(table.connections):
        keys = ("shared", "connections", index)
        found = connections.get(name)
        if name not in connections:
            hint = did_you_mean(name, connections) or known(connections)
            yield Fault(keys=keys, message=f"saw {seen(name)}, expected the name of a connection{hint}")
        elif found is not None and found.provider != table.use:
            message = f"saw {seen(name)}, a connection of {found.provider}, expected one of {table.use}"
            yield Fault(keys=keys, message=message)


def known(names: Collection[str]) -> str:
    return f" (there are: {', '.join(sorted(names)[:10])})" if names else " (there is none)"
