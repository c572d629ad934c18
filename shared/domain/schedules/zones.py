"""Time zones from the `tzdata` package and from nowhere else.

`ZoneInfo(name)` prefers the host's database, which may be years older, so two hosts would disagree about a slot.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module, resources
from zoneinfo import ZoneInfo

from shared.domain.errors import StoredUnreadable

_LONGEST = 40
_SHOWN = 3


def tzdata_version() -> str:
    """The IANA release in use, such as `2026f`."""
    return str(import_module("tzdata").IANA_VERSION)


@cache
def zone_names() -> frozenset[str]:
    """Every name the package lists; `localtime`, `posixrules` and the like of a host's database are not among them."""
    return frozenset(resources.files("tzdata").joinpath("zones").read_text(encoding="utf-8").split())


def zones_near(name: str) -> tuple[str, ...]:
    """The names that a wrong one was probably meant to be, the likeliest first, at most three.

    Compared within the area that it names (`Europe/Berln`), or by the place alone (`berlin`): a look at all names for
    likeness would take ten milliseconds of whoever sends many.
    """
    wanted = name[:_LONGEST].strip().replace(" ", "_").lower()
    area, slash, _ = wanted.partition("/")
    by_text = {each.lower(): each for each in sorted(zone_names())}
    if wanted in by_text:
        return (by_text[wanted],)
    if slash:
        of_area = [text for text in by_text if text.startswith(f"{area}/")]
        return tuple(by_text[text] for text in get_close_matches(wanted, of_area, n=_SHOWN))
    placed = [each for text, each in by_text.items() if text.rpartition("/")[2] == wanted]
    return tuple(placed[:_SHOWN])


@cache
def zone(name: str) -> ZoneInfo:
    """The zone of that name. Raises StoredUnreadable for a name that is not listed: what a user
    sends was looked up before, and no name becomes part of a path.
    """
    if name not in zone_names():
        raise StoredUnreadable(f"time zone {name!r}", "the time zone data here does not list it")
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)
