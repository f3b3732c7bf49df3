"""Signed deliveries: the vectors of CASES, and headers as a provider would make them now."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.web.rig import JSON, Rig
from tocsin.presets import PRESETS
from tocsin.signature import Scheme, sign

A, B = "shared-key-A7", "shared-key-B9"
S1, S2 = "whsec_MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u", "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"
AT = 1700000000
B1 = b'{"event":"build.done","id":42}'


def signed(preset: str, *secrets: str) -> dict[str, Any]:
    """Props of a source that is signed so. secrets: references."""
    return {"auth": "signed", "scheme": PRESETS[preset].document(), "secrets": list(secrets or ["env:A"])}


def hub(body: bytes, key: str = A) -> dict[str, str]:
    """The header of github's preset."""
    return {"X-Hub-Signature-256": f"sha256={hmac.new(key.encode(), body, hashlib.sha256).hexdigest()}"}


def set_clock(rig: Rig, seconds: int = AT) -> None:
    """The rig's clock stands at this second."""
    rig.clock.jump(datetime.fromtimestamp(seconds, UTC) - rig.clock.now())


def headers_of(
    rig: Rig, preset: str, body: bytes, secret: str, *, delivery_id: str, event_type: str | None = None
) -> Mapping[str, str]:
    """A delivery as the provider would send it now."""
    scheme = PRESETS[preset]
    said = dict(zip(firsts(scheme), (delivery_id, event_type), strict=True))
    told = {name: value for name, value in said.items() if name and value}
    return {**JSON, **sign(scheme, body, secret, delivery_id=delivery_id, now=rig.clock.now()), **told}


def firsts(scheme: Scheme) -> list[str]:
    """The headers that id and type stand in; "" where they do not."""
    places = (next(iter(scheme.delivery_id), ""), next(iter(scheme.event_type), ""))
    kinds = [place.partition(":") for place in places]
    return [name if kind == "header" else "" for kind, _, name in kinds]
