"""Throws bad deliveries at every address of a real engine: no 500, no hang, and it is alive at the end.

`python -m tests.bench.fuzz_hooks [MINUTES] [SEED]` prints how many of which status came back. A
finding is printed with the bytes that were sent and ends the run with exit code 1.
"""

from __future__ import annotations

import random
import socket
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from tests.crash.rig import Home
from tests.crash.test_hooks import CONFIG, SECRET, address
from tocsin.clock import SystemClock
from tocsin.presets import PRESETS
from tocsin.signature import sign

PATIENCE_S = 40.0  # a body may take 30 s; the server is to cut off what takes longer
NAMES = ("github", "slack", "plain", "partner", "shop")
KEYS = {"github": "key", "slack": "key", "partner": SECRET, "shop": "shop-key"}
SCHEMES = {"github": "github", "slack": "slack", "partner": "standard-webhooks", "shop": "shopify"}
TYPES = (
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain",
    "application/json; charset=utf-16",
    'application/json; charset="',
    "application/xml",
    "\xff",
    "",
)
BODIES = (
    b"",
    b"{}",
    b'{"id":8202522731445525542,"kind":"second"}',
    b"[" * 20_000 + b"]" * 20_000,
    b"9" * 5_000,
    b'{"a":NaN}',
    b'{"open":',
    b"\xef\xbb\xbf{}",
    b"a=1&a=2&" + b"b=%ff&" * 50,
    b'"\\ud800"',
    b"\x1f\x8b\x08\x00garbage",
    b'{"type":"url_verification","challenge":[]}',
    b"x" * 1_200_000,
)
HEADERS = (
    "Content-Encoding: gzip",
    "Content-Encoding: gzip, gzip",
    "Content-Encoding: br",
    "Prefer: wait=0",
    "Prefer: wait=1",
    "Prefer: wait=999999999999",
    "Prefer: wait=-1; x=\xff",
    "Expect: 100-continue",
    "Expect: nonsense",
    "Origin: http://evil.example",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: chunked, chunked",
    "X-GitHub-Event: " + "x" * 5000,
    "X-GitHub-Delivery: \x80\xff",
    "webhook-id: ",
    "webhook-timestamp: 99999999999999999999",
    "webhook-signature: " + "v1,A " * 1000,
    "X-Shopify-Shop-Domain: \xe9",
    "Host: evil.example",
    "Authorization: Bearer x",
    "Content-Length: 3",
    "Content-Length: -1",
    ": empty",
    "no colon",
)
METHODS = ("POST",) * 12 + ("GET", "PUT", "OPTIONS", "HEAD", "post", "FOO\xff", "")


def request(dice: random.Random, path: str, name: str, host: str) -> bytes:
    """One request; some are sound but for one thing."""
    body = dice.choice(BODIES)
    if dice.random() < 0.3:
        body = bytes(dice.randrange(256) for _ in range(dice.randrange(200)))
    lines = [f"{dice.choice(METHODS)} {mutated(dice, path)} HTTP/1.{dice.choice('110')}"]
    lines += [f"Host: {host}"] if dice.random() < 0.97 else []
    lines += [f"Content-Type: {dice.choice(TYPES)}"]
    if name in KEYS and dice.random() < 0.7:
        scheme, now = PRESETS[SCHEMES[name]], SystemClock().now()
        made = sign(scheme, body, KEYS[name], delivery_id=f"d{dice.randrange(50)}", now=now)
        lines += [f"{header}: {damaged(dice, value)}" for header, value in made.items()]
    lines += [f"Content-Length: {len(body)}"] if dice.random() < 0.98 else []
    lines += dice.sample(HEADERS, dice.choice((0, 0, 1, 1, 2, 3)))
    sent = "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body
    return sent[: dice.randrange(len(sent))] if dice.random() < 0.002 else sent


def mutated(dice: random.Random, path: str) -> str:
    if dice.random() < 0.85:
        return path
    at = dice.randrange(len(path))
    return path[:at] + dice.choice(("", "%00", "..", "?token=x", "\xff", "//", "x" * 9000)) + path[at:]


def damaged(dice: random.Random, value: str) -> str:
    if dice.random() < 0.8:
        return value
    at = dice.randrange(len(value))
    return dice.choice((value[:at], value[:at] + "\xff" + value[at:], value * 3, "", value.upper()))


def answered(dice: random.Random, host: str, port: int, sent: bytes) -> str:
    """The status line's number, `closed` without one; raises TimeoutError for a server that hangs.

    Each comes from another loopback address: a peer that is refused too often is not listened to.
    """
    source = (f"127.{dice.randrange(1, 255)}.{dice.randrange(256)}.{dice.randrange(1, 255)}", 0)
    with socket.create_connection((host, port), timeout=PATIENCE_S, source_address=source) as peer:
        try:
            peer.sendall(sent)
            if dice.random() < 0.05:
                peer.shutdown(socket.SHUT_WR)
            found = peer.recv(65_536)
        except TimeoutError:
            raise
        except OSError:  # it hung up first
            return "closed"
    words = found.split(b" ", 2)
    return words[1].decode("latin-1") if len(words) > 1 else "closed"


def fuzz(minutes: float, seed: int) -> int:
    """Runs; the number of findings."""
    dice, counts = random.Random(seed), Counter[str]()  # noqa: S311 - to be repeated, not to be secret
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home", CONFIG)
        for name, value in (("partner", SECRET), ("github", "key"), ("shop", "shop-key")):
            home.tocsin("secret", "set", name, stdin=value)
        home.up()
        at = urlsplit(home.url())
        host, port = at.hostname or "", at.port or 0
        paths = {name: urlsplit(address(home, name)).path for name in NAMES}
        end = time.monotonic() + minutes * 60
        while time.monotonic() < end:
            name = dice.choice(NAMES)
            sent = request(dice, paths[name], name, at.netloc)
            status = answered(dice, host, port, sent)
            counts[status] += 1
            if status.startswith("5") and status != "503":
                sys.stdout.write(f"seed {seed}, {sum(counts.values())}: {status} for {sent[:2000]!r}\n")
                return 1
        alive = home.is_ready()
        audit = home.json("audit")["ok"]
        home.end()
    told = ", ".join(f"{status}: {count}" for status, count in counts.most_common())
    sys.stdout.write(f"seed {seed}: {sum(counts.values())} requests in {minutes:g} min; {told}; ")
    sys.stdout.write(f"engine alive: {alive}, audit ok: {audit}\n")
    return int(not (alive and audit))


if __name__ == "__main__":
    given = [float(one) for one in sys.argv[1:]]
    sys.exit(fuzz(given[0] if given else 1, int(given[1]) if len(given) > 1 else 1))
