"""How known senders sign, and where they put a delivery's id and type. Pure.

From the senders' own pages as of November 2026; the names are those of `webhook.preset`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tocsin.signature import WHSEC, Scheme

STANDARD: Final = Scheme(  # Standard Webhooks 1.0, also Svix and those that follow it
    preset="standard-webhooks",
    header="webhook-signature",
    prefix="v1,",
    separator=" ",
    encoding="base64",
    signed_text="{id}.{timestamp}.{body}",
    timestamp_header="webhook-timestamp",
    id_header="webhook-id",
    secret_prefix=WHSEC,
    delivery_id=("header:webhook-id",),
    event_type=("payload:type",),
)
GITHUB: Final = Scheme(
    preset="github",
    header="x-hub-signature-256",
    prefix="sha256=",
    delivery_id=("header:x-github-delivery",),
    event_type=("header:x-github-event",),
)
STRIPE: Final = Scheme(
    preset="stripe",
    header="stripe-signature",
    prefix="v1=",
    signed_text="{timestamp}.{body}",
    timestamp_key="t",
    delivery_id=("payload:id",),
    event_type=("payload:type",),
)
SLACK: Final = Scheme(
    preset="slack",
    header="x-slack-signature",
    prefix="v0=",
    signed_text="v0:{timestamp}:{body}",
    timestamp_header="x-slack-request-timestamp",
    delivery_id=("payload:event_id", "payload:trigger_id"),
    event_type=("payload:event.type", "payload:type"),
    challenge="challenge",
)
SHOPIFY: Final = Scheme(
    preset="shopify",
    header="x-shopify-hmac-sha256",
    encoding="base64",
    delivery_id=("header:x-shopify-event-id", "header:x-shopify-webhook-id"),
    event_type=("header:x-shopify-topic",),
)
GITLAB: Final = Scheme(  # its secret token is sent as it is
    preset="gitlab",
    header="x-gitlab-token",
    encoding="plain",
    delivery_id=("header:idempotency-key", "header:x-gitlab-event-uuid"),
    event_type=("header:x-gitlab-event",),
)
PRESETS: Final[Mapping[str, Scheme]] = {
    scheme.preset: scheme for scheme in (STANDARD, GITHUB, STRIPE, SLACK, SHOPIFY, GITLAB)
}
GENERIC: Final = "generic"
