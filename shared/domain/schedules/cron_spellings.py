"""Spellings of other tools that are no cron expression here, each refused with the request that says the same."""

from __future__ import annotations

import re

from shared.domain.errors import InvalidRequest
from shared.domain.schedules.cron_fields import refused

_ZONE_IN_FRONT = re.compile(r"(?:CRON_)?TZ=(?P<zone>\S+)[ \t]+(?P<rest>.+)", re.IGNORECASE)
_EVERY = re.compile(r"@every[ \t]+(?:(?P<h>[0-9]{1,5})h)?(?:(?P<m>[0-9]{1,5})m)?(?:(?P<s>[0-9]{1,5})s)?", re.IGNORECASE)
_AT = re.compile(r"at\((?P<local>[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)\)", re.IGNORECASE)
_COMMENT = re.compile(r"[ \t]+#.*")
_UNIX_FIELDS = 5
_SECONDS_FIRST = 6
_WITH_A_YEAR = 7


def refusal_of(text: str) -> InvalidRequest | None:
    """The refusal of a spelling that is another tool's; None when there is nothing of that kind in it."""
    if found := _ZONE_IN_FRONT.fullmatch(text):
        example = {"cron": found["rest"], "timezone": found["zone"]}
        return refused("a time zone is no part of the expression; give it in the member timezone", example)
    found = _COMMENT.search(text)
    if found and (text.startswith("@") or len(text[: found.start()].split()) >= _UNIX_FIELDS):
        return refused(f"{found.group().strip()!r} is a comment; leave it out", text[: found.start()])
    if found := _AT.fullmatch(text):
        example = {"at": found["local"], "timezone": "UTC"}
        return refused("at(...) is one instant; give it in the member at", example)
    if text.lower().startswith("@every"):
        return refused("an interval is given in the member every", {"every": _interval_of(text)})
    return None


def hint_of_many(fields: list[str]) -> tuple[str, str] | None:
    """What too many fields probably mean, and the expression that says it here; None when it cannot be told."""
    if len(fields) == _WITH_A_YEAR and "?" in fields:
        return (
            "the form with seconds and a year is Quartz's; a year takes the AWS form",
            f"cron({' '.join(fields[1:])})",
        )
    if len(fields) == _SECONDS_FIRST and "?" in (fields[2], fields[4]):
        return "a sixth field for the year takes the AWS form", f"cron({' '.join(fields)})"
    if len(fields) == _SECONDS_FIRST and fields[0] == "0":
        return "the first field is for seconds, as in Quartz and Spring; leave it out", " ".join(fields[1:])
    return None


def _interval_of(text: str) -> str:
    found = _EVERY.fullmatch(text)
    parts = "".join(f"{found[unit]}{unit.upper()}" for unit in "hms" if found[unit]) if found else ""
    return f"PT{parts}" if parts else "PT1H"
