"""Named secrets in one TOML file of mode 0600: implements `seams.SecretStore`.

Holds webhook tokens, so that `tocsin url` can print an address again; the database has only their
hashes.
"""

from __future__ import annotations

import json
import os
import tempfile
import tomllib
from pathlib import Path

from tocsin.errors import StoreUnusable


class FileSecrets:
    """Reads the file at each call: another process may have written it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, name: str) -> str | None:
        """The value, or None."""
        return self._load().get(name)

    def names(self) -> list[str]:
        """Every name, in order."""
        return sorted(self._load())

    def put(self, name: str, value: str) -> None:
        """Store or replace a value; on disk when it returns."""
        self._save(self._load() | {name: value})

    def delete(self, name: str) -> None:
        """Forget a value, if it is there."""
        self._save({key: value for key, value in self._load().items() if key != name})

    def _load(self) -> dict[str, str]:
        try:
            found = tomllib.loads(self._path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise StoreUnusable(f"{self._path} cannot be read: {error}") from error
        return {key: value for key, value in found.items() if isinstance(value, str)}

    def _save(self, secrets: dict[str, str]) -> None:
        """Replace the file whole: a crash leaves the old one or the new one."""
        text = "".join(f"{quoted(key)} = {quoted(value)}\n" for key, value in sorted(secrets.items()))
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            replace(self._path, text)
        except OSError as error:
            raise StoreUnusable(f"{self._path} cannot be written: {error}") from error


def replace(path: Path, text: str) -> None:
    """Put the text in the file's place, on disk, mode 0600. Leaves nothing behind when it fails."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".secrets-")  # made 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)  # gone already unless something failed
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """A file's new place is on disk only when its folder is."""
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
