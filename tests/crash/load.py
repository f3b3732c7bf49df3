"""A home under load: senders, scripts and programs that go on however often the engine dies.

Each does as the real ones do: it sends again until it is answered for, with the same delivery id.
"""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Final

from tests.crash.rig import DEADLINE_S, Home

PAUSE_S: Final = 0.05  # between two tries; an engine is away for longer
PATIENCE_S: Final = 5 * DEADLINE_S  # some engines may die one after the other before one opens its doors

# One line as it begins and one as it ends. The lock goes with the last process of the run, however it dies.
# Some last longer than an engine is away: they would run beside their retry if nobody stopped them.
WORKER: Final = """
exec 9>>"$1/locks/$TOCSIN_EVENT_ID"
flock -n 9 || echo "overlap $TOCSIN_EVENT_ID $TOCSIN_RUN_ID" >>"$1/worked"
echo "begin $TOCSIN_EVENT_ID $TOCSIN_RUN_ID" >>"$1/worked"
case "$TOCSIN_EVENT_ID" in *[05]) sleep 2.5 ;; *) sleep 0.08 ;; esac
echo "end $TOCSIN_EVENT_ID $TOCSIN_RUN_ID" >>"$1/worked"
case "$2$TOCSIN_ATTEMPT" in flaky1) exit 1 ;; hopeless*) exit 65 ;; esac
"""

CONFIG: Final = """
[engine]
max_concurrent_runs = 6
max_concurrent_runs_per_workflow = 6

[workflows.work]
command = ["sh", "{here}/worker.sh", "{here}"]
kill_grace = "1s"

[workflows.flaky]
command = ["sh", "{here}/worker.sh", "{here}", "flaky"]

[workflows.hopeless]
command = ["sh", "{here}/worker.sh", "{here}", "hopeless"]
permanent_exit_codes = [65]

[defaults]
disable_after = 100000
max_attempts = {attempts}

[triggers.hook]
workflow = "work"
webhook = {{}}
dedupe = {{ header = "X-Delivery" }}

[triggers.flaky]
workflow = "flaky"
webhook = {{}}
dedupe = {{ header = "X-Delivery" }}

[triggers.hopeless]
workflow = "hopeless"
webhook = {{}}
dedupe = {{ header = "X-Delivery" }}

[triggers.first]
workflow = "work"
webhook = {{}}
dedupe = {{ header = "X-Delivery" }}
serialize_key = "lane"

[triggers.second]
workflow = "flaky"
webhook = {{}}
dedupe = {{ header = "X-Delivery" }}
serialize_key = "lane"

[triggers.inbox]
workflow = "work"
files = {{ path = "inbox", debounce = "50ms", settle = "50ms" }}

[triggers.tick]
workflow = "work"
every = "1s"

[triggers.hand]
workflow = "work"
manual = true

[triggers.then]
workflow = "work"
after = {{ trigger = "hook", on = "any" }}

[triggers.after-flaky]
workflow = "work"
after = {{ workflow = "flaky", on = "success" }}

[triggers.after-hopeless]
workflow = "work"
after = {{ trigger = "hopeless", on = "failure" }}
"""

MAX_ATTEMPTS: Final = 3
SENT: Final = ("hook", "flaky", "hook", "first", "second", "hook", "hopeless", "first")  # in this rhythm


def free_port() -> int:
    """One that the engine's lives can share; nothing else listens there a moment later."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def furnish(here: Path) -> Home:
    """A home with every kind of trigger, its worker and its inbox."""
    for folder in ("locks", "inbox", "parts"):
        (here / folder).mkdir(parents=True)
    (here / "worker.sh").write_text(WORKER, "utf-8")
    return Home(
        here / "home", CONFIG.format(here=here, attempts=MAX_ATTEMPTS).replace('"inbox"', f'"{here}/inbox"')
    )


class Load:
    """Senders on threads. acknowledged: (trigger, delivery id) -> event id, as the sender was told.

    broken: what no sender should ever see. dropped: files that were put into the inbox.
    """

    def __init__(self, here: Path, home: Home, port: int, *, per_second: float) -> None:
        self.acknowledged: dict[tuple[str, str], str] = {}
        self.fired: dict[str, str] = {}
        self.dropped: list[str] = []
        self.broken: list[str] = []
        self.tries = 0
        self._here, self._home, self._port = here, home, port
        self._between_s = 1 / per_second
        self._over = threading.Event()
        self._abandoned = False
        self._threads = [
            threading.Thread(target=self._go_on, args=(one,), name=one.__name__)
            for one in (self._send, self._send, self._fire, self._drop)
        ]
        self._lock = threading.Lock()
        self._count = 0
        self._urls: dict[str, str] = {}

    def begin(self) -> None:
        """Start all of them."""
        for name in set(SENT):
            self._urls[name] = self._home.tocsin("url", name).stdout.strip().rpartition("/")[2]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Each ends when what it has begun is answered for."""
        self._over.set()
        for thread in self._threads:
            if thread.ident is None:  # never begun
                continue
            thread.join(PATIENCE_S)
            assert not thread.is_alive(), f"{thread.name} still waits for its answer"

    def abandon(self) -> None:
        """Nobody will answer any more."""
        self._abandoned = True
        self.end()

    def _go_on(self, once: Callable[[int], None]) -> None:
        while not self._over.is_set():
            with self._lock:
                self._count += 1
                n = self._count
            try:
                once(n)
            except Exception as error:  # noqa: BLE001 - told by the judge; a thread's own end is silent
                self.broken.append(f"{once.__name__} {n}: {error!r}")
            self._over.wait(self._between_s)

    def _until(self, tried: Callable[[], str | None]) -> str:
        """Again and again, also after the end: what was begun is answered for."""
        pause = threading.Event()
        for _ in range(int(PATIENCE_S / PAUSE_S)):
            if self._abandoned:
                break
            self.tries += 1
            answer = tried()
            if answer is not None:
                return answer
            pause.wait(PAUSE_S)
        raise AssertionError("never answered")

    def _send(self, n: int) -> None:
        trigger, delivery = SENT[n % len(SENT)], f"d{n}"
        event_id = self._until(lambda: self._post(trigger, delivery))
        self.acknowledged[trigger, delivery] = event_id
        if n % 5 == 0 and (again := self._post(trigger, delivery)) not in (None, event_id):
            self.broken.append(f"{trigger} {delivery} was {event_id}, then {again}")

    def _post(self, trigger: str, delivery: str) -> str | None:
        url = f"http://127.0.0.1:{self._port}/api/triggers/{self._urls[trigger]}"
        headers = {"Content-Type": "application/json", "X-Delivery": delivery}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, b"{}", headers), timeout=10) as answer:
                return str(json.loads(answer.read())["event_id"])
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503):
                self.broken.append(f"{trigger} {delivery}: HTTP {error.code}")
            return None
        except (OSError, ValueError, HTTPException):
            return None  # it is away, or died before it had said all

    def _fire(self, n: int) -> None:
        key = f"k{n}"
        event_id = self._until(lambda: self._fired(key))
        self.fired[key] = event_id

    def _fired(self, key: str) -> str | None:
        done: subprocess.CompletedProcess[str] = self._home.tocsin(
            "fire", "hand", "--key", key, "--no-wait", "--json"
        )
        if done.returncode == 0:
            return str(json.loads(done.stdout)["event_id"])
        if done.returncode != 5:
            self.broken.append(f"fire {key}: exit {done.returncode}: {done.stderr[-300:]}")
        return None

    def _drop(self, n: int) -> None:
        if n % 3:  # nobody makes a dropper wait; the others are slowed down by an engine that is away
            return
        part = self._here / "parts" / f"f{n}"
        part.write_text(str(n), "utf-8")
        part.rename(self._here / "inbox" / f"f{n}.txt")
        self.dropped.append(f"f{n}.txt")
