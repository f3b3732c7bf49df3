"""Where one home keeps its things, from flags, variables and the platform's habits.

Called by every command before anything else; so no pydantic here. Reads the environment only when
called; platformdirs reads XDG variables and HOME from the process's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tocsin.settings import Paths


def resolve_paths(*, home: Path | None, config: Path | None, environ: Mapping[str, str]) -> Paths:
    """The paths of a home, absolute; nothing is created.

    `home` (else TOCSIN_HOME) puts everything under one directory. Else the platform decides: settings
    in its configuration directory, database and secrets in its data directory, logs, runs, lock and
    socket in its state directory. `config` (else TOCSIN_CONFIG) names the file alone; its `conf.d` is
    beside it. An empty variable counts as none.
    """
    root = home or _variable(environ, "TOCSIN_HOME")
    file = config or _variable(environ, "TOCSIN_CONFIG")
    found = _platform() if root is None else _one_directory(_whole(root))
    return found if file is None else _with_config(found, _whole(file))


def make_private(paths: Paths) -> None:
    """Create what directories are missing, 0700, parents too; those that exist are left as they are."""
    wanted = (
        paths.home,
        paths.database.parent,
        paths.lock.parent,
        paths.socket.parent,
        paths.logs,
        paths.runs,
    )
    for directory in wanted:
        _make(directory)


def _make(directory: Path) -> None:
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)


def _variable(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None


def _whole(path: Path) -> Path:
    """Absolute, `~` replaced; links are left as they are."""
    return path.expanduser().absolute()


def _one_directory(home: Path) -> Paths:
    return _under(config=home, data=home, state=home)


def _platform() -> Paths:
    from platformdirs import PlatformDirs  # only where the platform is asked

    dirs = PlatformDirs("tocsin", appauthor=False)
    return _under(config=dirs.user_config_path, data=dirs.user_data_path, state=dirs.user_state_path)


def _under(*, config: Path, data: Path, state: Path) -> Paths:
    """The lock and the socket are state, not runtime files: XDG_RUNTIME_DIR is not the same in a login,
    in cron and under sudo, and two locks for one database would mean two engines.
    """
    return Paths(
        config=config / "tocsin.toml",
        conf_d=config / "conf.d",
        database=data / "tocsin.db",
        secrets=data / "secrets.toml",
        api_token=data / "api-token",
        logs=state / "logs",
        runs=state / "runs",
        lock=state / "engine.lock",
        socket=state / "tocsin.sock",
        home=data,
    )


def _with_config(paths: Paths, file: Path) -> Paths:
    return replace(paths, config=file, conf_d=file.parent / "conf.d")
