"""Opens and closes the doors: TCP for deliveries, a Unix socket for this user's own commands."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final

from aiohttp import web

from tocsin.errors import Refused
from tocsin.web.app import Limits, WebContext, build
from tocsin.web.connections import Connection, Crowded
from tocsin.web.guards import WILDCARDS

SHUTDOWN_S: Final = 2.0  # for requests under way; what they asked for is committed or not, whoever waits
SOCKET_PATH_BYTES: Final = 100  # the kernel takes 107 on Linux, 103 on macOS
STRANGERS_LOGS: Final = ("aiohttp.server", "aiohttp.access")


class Server:
    """The HTTP server. `start` once, `stop` any number of times."""

    def __init__(self, context: WebContext, limits: Limits | None = None) -> None:
        self._context = context
        self._limits = limits or Limits()
        self._runner: web.AppRunner | None = None
        self._doors: list[asyncio.Server] = []
        self._socket: Path | None = None

    async def start(self, host: str, port: int, socket_path: Path | None, *, http: bool) -> str | None:
        """Open the doors; returns the URL, None without HTTP.

        port 0: any free one. The Unix socket is left out where there are none or its path is too
        long. Raises Refused when an address cannot be had; nothing is open then.
        """
        quieten()
        app = build(self._context, limits=self._limits, host=host)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=SHUTDOWN_S)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(self.stop)
            await self._runner.setup()
            url = await self._open_tcp(host, port) if http else None
            if socket_path is not None and can_bind(socket_path):
                await self._open_unix(socket_path)
            undo.pop_all()
        return url

    async def stop(self) -> None:
        """Take no new connection, let what is under way end for a moment, close everything."""
        doors, self._doors = self._doors, []
        for door in doors:
            door.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        for door in doors:
            await door.wait_closed()
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)
            self._socket = None

    async def _open_tcp(self, host: str, port: int) -> str:
        loop = asyncio.get_running_loop()
        try:
            door = await loop.create_server(self._stranger, host, port)
        except (OSError, OverflowError) as error:  # the latter for a port beyond 65535
            raise Refused(no_address(host, port, error)) from error
        self._doors.append(door)
        return url_of(host, door.sockets[0].getsockname()[1])

    async def _open_unix(self, path: Path) -> None:
        try:
            listener = private_socket(path)
        except OSError as error:
            raise Refused(f"cannot listen on {path}: {error.strerror or error}") from error
        self._socket = path
        self._doors.append(await asyncio.get_running_loop().create_unix_server(self._owner, sock=listener))

    def _stranger(self) -> asyncio.Protocol:
        """The protocol of a new TCP connection."""
        manager = self._manager()
        return Crowded() if len(manager.connections) >= self._limits.connections else self._owner()

    def _owner(self) -> asyncio.Protocol:
        """The protocol of a new connection. The owner's are not counted: `down` must get through."""
        return Connection(self._manager(), self._limits)

    def _manager(self) -> web.Server:
        assert self._runner is not None  # noqa: S101 - doors are open only while there is a runner
        assert self._runner.server is not None  # noqa: S101 - it was set up before they were opened
        return self._runner.server


def quieten() -> None:
    """A stranger's nonsense must not fill the log with tracebacks; ``guards`` says what was refused."""
    for name in STRANGERS_LOGS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def no_address(host: str, port: int, error: Exception) -> str:
    """What is in the way, and the way out."""
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {port} is taken: stop what listens on {host}, or set another port in [engine]"
    return f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}"


def url_of(host: str, port: int) -> str:
    """The address to give to a client on this machine."""
    name = "127.0.0.1" if host in WILDCARDS else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def can_bind(path: Path) -> bool:
    """Whether this machine has Unix sockets and the path fits into one's address."""
    return hasattr(socket, "AF_UNIX") and len(os.fsencode(path)) <= SOCKET_PATH_BYTES


def private_socket(path: Path) -> socket.socket:
    """A bound socket of mode 0600 that does not listen yet, so nobody comes in before the mode is set.

    What a dead engine left is taken away; the home's lock says that it is dead. Raises OSError, also
    when something other than a socket is there.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(errno.EEXIST, "something that is no socket is there")
        path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o600)
    except OSError:
        listener.close()
        raise
    return listener
