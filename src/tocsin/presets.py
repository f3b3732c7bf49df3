"""How the providers sign and describe a delivery, each by its own page. Pure; read by ``signature``.

Headers are lower-case. A path leads to a place in the payload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """header: where the signature stands. id_header, type_header, sent_header: what else a delivery says.

    id_path, type_path: the same in the payload, for providers that have no header for it.
    """

    header: str
    prefix: str = ""
    encoding: str = "hex"
    id_header: str | None = None
    type_header: str | None = None
    sent_header: str | None = None
    id_path: str | None = None
    type_path: str | None = None


PRESETS: Final[Mapping[str, Preset]] = {
    "standard-webhooks": Preset(
        header="webhook-signature",
        encoding="base64",
        id_header="webhook-id",
        sent_header="webhook-timestamp",
        type_path="type",
    ),
    "github": Preset(
        header="x-hub-signature-256",
        prefix="sha256=",
        id_header="x-github-delivery",
        type_header="x-github-event",
    ),
    "stripe": Preset(header="stripe-signature", id_path="id", type_path="type"),
    "slack": Preset(
        header="x-slack-signature",
        prefix="v0=",
        sent_header="x-slack-request-timestamp",
        id_path="event_id",
        type_path="event.type",
    ),
    "shopify": Preset(
        header="x-shopify-hmac-sha256",
        encoding="base64",
        id_header="x-shopify-webhook-id",
        type_header="x-shopify-topic",
        sent_header="x-shopify-triggered-at",
    ),
    "gitlab": Preset(header="x-gitlab-token", id_header="x-gitlab-event-uuid", type_header="x-gitlab-event"),
    "generic": Preset(header="x-signature"),
}
