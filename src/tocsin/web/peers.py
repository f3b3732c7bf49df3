"""How often one peer may be refused: in memory, so that a stranger's nonsense costs no disk.

Only what is refused is counted. A peer may be a tunnel that speaks for many, so whoever is over the
limit is still listened to: what is good is taken, what is refused is answered 429, and nothing of it is
kept or logged.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address
from math import ceil
from typing import Final

from tocsin.ratelimit import step
from tocsin.seams import Clock
from tocsin.trigger import Rate

REFUSED: Final = Rate(count=600, per=timedelta(minutes=1))  # INTERFACE section 3
MAX_PEERS: Final = 10_000  # some 2 MB; whoever was refused longest ago is forgotten first
SITE_BITS: Final = 64  # of an IPv6 address: the rest is the sender's own to choose (RFC 4291, 2.5.4)


class Peers:
    """Who was refused how often of late."""

    def __init__(self, clock: Clock, rate: Rate = REFUSED) -> None:
        self._clock = clock
        self._rate = rate
        self._kept: OrderedDict[str, datetime] = OrderedDict()

    def note(self, peer: str | None) -> int | None:
        """Count a refusal. None while they are few, else after how many seconds one more is."""
        if peer is None:  # this user's own socket
            return None
        key, now = site(peer), self._clock.now()
        kept, wait = step(self._rate, self._kept.get(key), now)
        if kept is None:
            return ceil(wait.total_seconds())
        self._kept[key] = kept
        self._kept.move_to_end(key)
        if len(self._kept) > MAX_PEERS:
            self._kept.popitem(last=False)
        return None

    def is_over(self, peer: str | None) -> bool:
        """Whether one more refusal is too many now."""
        kept = None if peer is None else self._kept.get(site(peer))
        return kept is not None and step(self._rate, kept, self._clock.now())[0] is None


def site(peer: str) -> str:
    """Whom an address stands for."""
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:  # an IPv4 peer of a server that listens to both
        return str(address.ipv4_mapped)
    return str(IPv6Address(int(address) >> SITE_BITS << SITE_BITS))
