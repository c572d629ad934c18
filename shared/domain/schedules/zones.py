"""Time zones from the `tzdata` package and from nowhere else.

`ZoneInfo(name)` prefers the host's database, which may be years older, so two hosts would disagree about a slot.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module, resources
from zoneinfo import ZoneInfo


def tzdata_version() -> str:
    """The IANA release in use, such as `2026f`."""
    return str(import_module("tzdata").IANA_VERSION)


@cache
def zone_names() -> frozenset[str]:
    """Every name the package lists; `localtime`, `posixrules` and the like of a host's database are not among them."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


@cache
def zone(name: str) -> ZoneInfo:
    """The zone of that name. Raises KeyError for a name that is not listed: it never becomes part of a path."""
    if name not in zone_names():
        raise KeyError(name)
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)
