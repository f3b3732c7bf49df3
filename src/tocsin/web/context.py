"""What the room is given: the engine's parts it may use, and how much a stranger may ask of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tocsin.engine.controls import Controls
from tocsin.notices import Notice
from tocsin.seams import Accept, Clock, SecretReferences
from tocsin.settings import MIB, EngineSettings
from tocsin.store.connection import Store
from tocsin.trigger import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class WebContext:
    """The engine as HTTP sees it.

    secrets: what deliveries are verified with. api_token: what a bearer has to show; an empty one fits
    nobody. is_accepting: False while draining. request_stop: asks the engine to end, at once when its
    argument is True. health: more facts for `GET /api/health`; anyone may read them.
    listen: hands over every notice from then on.
    """

    store: Store
    accept: Accept
    controls: Controls
    clock: Clock
    settings: EngineSettings
    api_token: str
    is_accepting: Callable[[], bool]
    request_stop: Callable[[bool], None]
    secrets: SecretReferences
    health: Callable[[], Mapping[str, Json]]
    listen: Callable[[Callable[[Notice], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Time and room for one peer.

    idle_seconds: for the whole of a request's headers, and between two requests. body_seconds: for
    the whole of a body. lingering_seconds: for the rest of a body that was refused unread.
    connections: over TCP, at one time. body_bytes: of all that deliveries hold in memory at one time.
    """

    idle_seconds: float = 3.0  # no sender needs more; a slow one holds its connection no longer
    body_seconds: float = 30.0  # 1 MiB over a phone's uplink; a silent sender is cut off within a minute
    lingering_seconds: float = 5.0  # a sender that is still sending gets to see the answer
    body_bytes: int = 256 * MIB  # every connection with the largest body would be 2 GiB
    connections: int = 512  # half of the usual 1024 descriptors; runs, logs and files need the rest
