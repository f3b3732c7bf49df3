"""Secrets by reference: the configuration names where a value is, never the value. Blocks.

`env:NAME`, `file:PATH`, `keyring:NAME`, `cmd:PROGRAM …` and `store:NAME`, which is what
`tocsin secret set` keeps. Values are held for a short while, so that a webhook starts no program for
each delivery.
"""

from __future__ import annotations

import importlib
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tocsin.errors import SecretMissing
from tocsin.seams import SecretStore

KEPT_S: Final = 30.0  # a rotated secret works within that time
PATIENCE_S: Final = 10.0  # a password manager may ask its agent; a sender waits meanwhile
SERVICE: Final = "tocsin"  # the name that keyrings know it by


class SecretRefs:
    """Implements `seams.SecretReferences`. environ: of this process. monotonic: `Clock.monotonic`."""

    def __init__(
        self, *, store: SecretStore, environ: Mapping[str, str], monotonic: Callable[[], float]
    ) -> None:
        self._store = store
        self._environ = environ
        self._monotonic = monotonic
        self._kept: dict[str, tuple[float, str]] = {}

    def values(self, references: Sequence[str]) -> list[str]:
        """The value of each, without blanks around it. Raises SecretMissing, which names the reference."""
        return [self._value(reference) for reference in references]

    def _value(self, reference: str) -> str:
        end, value = self._kept.get(reference, (float("-inf"), ""))
        now = self._monotonic()
        if now < end:
            return value
        value = self._read(reference).strip()
        if not value:
            raise SecretMissing(reference, "it is empty")
        self._kept[reference] = (now + KEPT_S, value)
        return value

    def _read(self, reference: str) -> str:
        kind, _, name = reference.partition(":")
        match kind:
            case "env":
                return present(reference, self._environ.get(name), "it is not set")
            case "store":
                return present(reference, self._store.get(name), f"`tocsin secret set {name}` keeps it")
            case "file":
                return from_file(reference, name)
            case "cmd":
                return from_command(reference, name)
            case "keyring":
                return from_keyring(reference, name)
        raise SecretMissing(reference, "expected env:, file:, keyring:, cmd: or store:")


def present(reference: str, value: str | None, why: str) -> str:
    if value is None:
        raise SecretMissing(reference, why)
    return value


def from_file(reference: str, name: str) -> str:
    try:
        return Path(name).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SecretMissing(reference, getattr(error, "strerror", None) or "it is no text") from error


def from_command(reference: str, name: str) -> str:
    """The first line that the program prints; there is no shell."""
    try:
        done = subprocess.run(
            shlex.split(name), capture_output=True, timeout=PATIENCE_S, check=True, stdin=subprocess.DEVNULL
        )
        return done.stdout.decode().partition("\n")[0]
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SecretMissing(reference, f"the program failed ({type(error).__name__})") from error


def from_keyring(reference: str, name: str) -> str:
    """From the desktop's own store, if the `keyring` package is there."""
    try:
        keyring: Any = importlib.import_module("keyring")
    except ImportError as error:
        raise SecretMissing(reference, "the package `keyring` is not installed") from error
    try:
        found: str | None = keyring.get_password(SERVICE, name)
    except keyring.errors.KeyringError as error:
        raise SecretMissing(reference, f"the keyring cannot be used ({type(error).__name__})") from error
    return present(reference, found, f"the keyring has no {SERVICE} {name}")
