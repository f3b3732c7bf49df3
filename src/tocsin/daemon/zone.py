"""The machine's IANA time zone, for schedules that name none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tocsin.errors import InvalidSchedule
from tocsin.zones import zone

LOCALTIME: Final = Path("/etc/localtime")  # a link into the zone database on Linux and macOS
TIMEZONE: Final = Path("/etc/timezone")  # Debian's plain-text name


def system_zone(environ: Mapping[str, str]) -> str:
    """TZ, else what /etc says, else UTC. Always a name that `zones.zone` takes."""
    names = (environ.get("TZ", "").lstrip(":"), link_name(), file_name())
    return next((name for name in names if is_zone(name)), "UTC")


def is_zone(name: str) -> bool:
    """Whether schedules can use it; names that mean another thing on another machine do not count."""
    try:
        zone(name)
    except InvalidSchedule:
        return False
    return True


def link_name() -> str:
    """`Europe/Berlin` of a link to …/zoneinfo/Europe/Berlin."""
    try:
        return str(LOCALTIME.readlink()).partition("zoneinfo/")[2]
    except OSError:
        return ""


def file_name() -> str:
    """What the text file holds."""
    try:
        return TIMEZONE.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
