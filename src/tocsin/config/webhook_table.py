"""The `webhook` table: who may post, how that is shown, and how it is signed. Read by ``tables``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)

from tocsin.config.problems import seen
from tocsin.config.source_tables import Table
from tocsin.config.values import Size, SomeDuration, SomeText
from tocsin.presets import GENERIC, PRESETS
from tocsin.signature import FIELD, TOLERANCE, Scheme
from tocsin.trigger import Json, Rate

REFERENCES: Final = ("env", "file", "keyring", "cmd", "store")
SECRET_NAME: Final = re.compile(r"(?!token/)[A-Za-z0-9][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9._-]{1,100})?")
RATE: Final = re.compile(r"([1-9][0-9]{0,5})/(s|min|h|d)")
UNITS: Final[Mapping[str, timedelta]] = {
    "s": timedelta(seconds=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
SIGNED: Final = 'auth = "hmac_sha256"'
HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")  # a token of RFC 9110
SIGNS: Final = frozenset({"header", "prefix", "encoding", "signed_text", "timestamp_header", "id_header"})


def _reference(value: str) -> str:
    """Never repeated to its author: it may be the secret itself, written by mistake."""
    kind, colon, name = value.partition(":")
    if kind not in REFERENCES or not colon or not name.strip():
        wanted = ", ".join(f"{one}:" for one in REFERENCES)
        raise ValueError(f'saw no reference, expected where the secret is ({wanted}), like "env:HOOK_SECRET"')
    if kind == "file" and not name.startswith(("/", "~")):
        raise ValueError("saw a file by a relative path, expected one from / or ~ on")
    if kind == "store" and not SECRET_NAME.fullmatch(name):
        raise ValueError("saw a name that cannot be one, expected letters, digits, dots, dashes, underscores")
    return value


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _rate(value: object) -> Rate:
    found = RATE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(f'saw {seen(value)}, expected so many per s, min, h or d, like "60/min"')
    return Rate(count=int(found[1]), per=UNITS[found[2]])


def _header(value: str) -> str:
    if not HEADER.fullmatch(value):
        raise ValueError(f"saw {seen(value)}, expected the name of a header")
    return value.lower()


References: TypeAlias = Annotated[
    list[Annotated[str, AfterValidator(_reference)]],
    Field(min_length=1),
    BeforeValidator(_several),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
    ),
]
RateText: TypeAlias = Annotated[
    Rate, PlainValidator(_rate), WithJsonSchema({"type": "string", "pattern": f"^{RATE.pattern}$"})
]
Preset: TypeAlias = Literal["standard-webhooks", "github", "stripe", "slack", "shopify", "gitlab", "generic"]
HeaderName: TypeAlias = Annotated[str, AfterValidator(_header)]


class NormalizeTable(Table):
    """A payload in your own names: `event.normalized_payload`."""

    model_config = ConfigDict(title="normalize")

    model: SomeText | None = Field(
        default=None,
        description="What the fields describe: `event.normalized_model_key`.",
        examples=["issue"],
    )
    fields: dict[str, SomeText] = Field(
        default={}, description="Names, and where each stands in the payload.", examples=[{"id": "issue.id"}]
    )
    hint: SomeText | None = Field(
        default=None, description="Where `event.reconciliation_hint` stands in the payload."
    )


class WebhookTable(Table):
    """Fires when something is posted to the trigger's address (`tocsin url NAME`)."""

    model_config = ConfigDict(title="webhook")

    auth: Literal["token", "hmac_sha256", "none"] | None = Field(
        default=None,
        description="token: the address is secret (default). hmac_sha256: deliveries are signed "
        "(default beside preset). none: anyone who learns the address may fire it.",
    )
    preset: Preset | None = Field(
        default=None, description="Who sends, and so how it signs.", examples=["github"]
    )
    secret: References | None = Field(
        default=None,
        description="Where the signing secret is: env:NAME, file:PATH, keyring:NAME, cmd:PROGRAM "
        "or store:NAME; a list while it is being rotated.",
        examples=["keyring:github-hook"],
    )
    header: HeaderName | None = Field(
        default=None, description="The header with the signature.", examples=["X-Signature"]
    )
    prefix: str = Field(default="", description="What stands before the signature.", examples=["sha256="])
    encoding: Literal["hex", "base64"] = Field(default="hex", description="How the signature is written.")
    signed_text: SomeText = Field(
        default="{body}", description="What is signed, of {body}, {timestamp} and {id}."
    )
    timestamp_header: HeaderName | None = Field(
        default=None, description="The header with the signed time, in seconds."
    )
    id_header: HeaderName | None = Field(default=None, description="The header with the delivery's id.")
    tolerance: SomeDuration = Field(default=TOLERANCE, description="How far the signed time may be from now.")
    events: list[SomeText] = Field(
        default=[], description="The types of event that count; default: all.", examples=[["push"]]
    )
    rate: RateText | None = Field(
        default=None, description="The most deliveries; more are told to come later.", examples=["60/min"]
    )
    normalize: NormalizeTable | None = Field(
        default=None,
        description="The payload in your own names, beside the raw one.",
        examples=[{"model": "issue", "fields": {"id": "issue.id"}}],
    )
    body_limit: Size | None = Field(
        default=None,
        description="The largest body taken; default: the engine's body_limit; at most 4MiB.",
        examples=["1MiB"],
    )

    @property
    def is_signed(self) -> bool:
        """Whether deliveries have to be signed."""
        return self.auth == "hmac_sha256" or (self.auth is None and self.preset is not None)

    @model_validator(mode="after")
    def _can_be_verified(self) -> Self:
        own = sorted(SIGNS & self.model_fields_set)
        if not self.is_signed:
            odd = [*(["preset"] if self.preset else []), *(["secret"] if self.secret else []), *own]
            if odd:
                raise ValueError(f"saw {odd[0]} without a signature, expected a preset or {SIGNED}")
            return self
        if self.secret is None:
            raise ValueError("saw no secret, expected one: nothing could be verified without it")
        if self.preset not in (None, GENERIC):
            if own:
                raise ValueError(f"saw {own[0]} beside preset {self.preset!r}, which says that itself")
            return self
        return self._says_enough()

    def _says_enough(self) -> Self:
        """A scheme of one's own."""
        if self.header is None:
            raise ValueError("saw no header, expected the header that holds the signature")
        for name, needed in (("timestamp", self.timestamp_header), ("id", self.id_header)):
            if (name in FIELD.findall(self.signed_text)) != (needed is not None) and name == "timestamp":
                raise ValueError("expected {timestamp} in signed_text and timestamp_header together")
            if name in FIELD.findall(self.signed_text) and needed is None:
                raise ValueError(f"saw {{{name}}} in signed_text, expected {name}_header too")
        if "body" not in FIELD.findall(self.signed_text):
            raise ValueError("saw a signed_text without {body}, expected one: anybody could send any body")
        return self

    def scheme(self) -> Scheme:
        """How a signed delivery is verified."""
        known = PRESETS.get(self.preset or GENERIC)
        scheme = known or Scheme(
            preset=GENERIC,
            header=self.header or "",
            prefix=self.prefix,
            encoding=self.encoding,
            signed_text=self.signed_text,
            timestamp_header=self.timestamp_header,
            id_header=self.id_header,
            delivery_id=(f"header:{self.id_header}",) if self.id_header else (),
        )
        return replace(scheme, tolerance_s=int(self.tolerance.total_seconds()))

    def props(self, body_limit: int) -> dict[str, Json]:
        """The installation's settings; keys that say nothing are left out. body_limit: the engine's."""
        found: dict[str, Json] = {
            "auth": "signed" if self.is_signed else self.auth or "token",
            "body_limit": self.body_limit or body_limit,
        }
        if self.is_signed:
            found |= {"scheme": self.scheme().document(), "secrets": list(self.secret or [])}
        if self.events:
            found |= {"events": list(self.events)}
        if self.normalize is not None:
            found |= {"normalize": self.normalize.model_dump(exclude_none=True)}
        if self.rate is not None:
            per_ms = self.rate.per // timedelta(milliseconds=1)
            found |= {"rate": {"count": self.rate.count, "per_ms": per_ms}}
        return found
