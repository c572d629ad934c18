"""The four ways to say when, each read from its keys of the `schedule` object."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shared.domain.durations import format_duration, parse_duration
from shared.domain.instants import DAY, HOUR, LAST_INSTANT, MINUTE, Instant, to_rfc3339
from shared.domain.limits import MAX_CRON_LENGTH, MAX_HORIZON_MS, MAX_PAST_MS, MIN_INTERVAL_MS
from shared.domain.schedules.cron_parse import parse_cron
from shared.domain.schedules.fields import problem, read_bool, read_instant, read_moment, read_timezone, shown
from shared.domain.schedules.local_time import local_to_instant
from shared.domain.schedules.values import At, Cron, Dst, Every

Given = Mapping[str, object]

_RATE = re.compile(r"rate\((?P<value>[1-9][0-9]{0,5}) (?P<unit>minute|hour|day)(?P<plural>s?)\)")
_RATE_UNITS = {"minute": MINUTE, "hour": HOUR, "day": DAY}


def read_at(given: Given, now: Instant) -> At:
    """An instant, or a local time with its zone."""
    moment, has_offset = read_moment(given["at"], "#/at")
    zone_name = read_timezone(given["timezone"]) if "timezone" in given else None
    if has_offset:
        return At(instant=_checked_instant(moment, now, given["at"]), timezone=zone_name)
    if zone_name is None:
        raise problem("#/at", f"{shown(given['at'])} has no offset; add Z for UTC or give a timezone", to_rfc3339(now))
    instant = local_to_instant(zone_name, moment)
    if instant is None:
        raise problem("#/at", f"{shown(given['at'])} never was: the clock of {zone_name} jumped over it")
    return At(instant=_checked_instant(instant, now, given["at"]), local=str(given["at"]), timezone=zone_name)


def read_in(given: Given, now: Instant) -> At:
    """A duration from now."""
    return At(instant=_checked_instant(Instant(now + parse_duration(given["in"], "#/in")), now, given["in"], "#/in"))


def read_every(given: Given, now: Instant) -> Every:
    """A fixed interval, anchored at `anchor` or else now, as long as no `start_at` says otherwise."""
    interval_ms = parse_duration(given["every"], "#/every")
    if interval_ms < MIN_INTERVAL_MS:
        raise problem("#/every", f"{shown(given['every'])} is shorter than {format_duration(MIN_INTERVAL_MS)}", "PT1M")
    if "anchor" in given:
        return Every(interval_ms=interval_ms, anchor=read_instant(given["anchor"], "#/anchor"))
    return Every(interval_ms=interval_ms, anchor=now, includes_anchor=False)


def read_cron(given: Given, now: Instant) -> Cron | Every:
    """A cron expression of either dialect, or AWS `rate(...)`, which is an interval."""
    expression = given["cron"]
    if not isinstance(expression, str):
        raise problem("#/cron", f"{shown(expression)} is not a text", "30 2 * * MON-FRI")
    zone_name = read_timezone(given.get("timezone", "UTC"))
    dst = _read_dst(given.get("dst", "run"))
    has_seconds = read_bool(given.get("seconds", False), "#/seconds")
    if expression.strip(" \t").startswith("rate("):
        return Every(interval_ms=_read_rate(expression.strip(" \t")), anchor=now, includes_anchor=False)
    text = parse_cron(expression, has_seconds=has_seconds).text
    return Cron(expression=text, timezone=zone_name, dst=dst, has_seconds=has_seconds)


def _read_dst(value: object) -> Dst:
    if value == "run":
        return "run"
    if value == "skip":
        return "skip"
    raise problem("#/dst", f"{shown(value)} is neither run nor skip", "run")


def _read_rate(text: str) -> int:
    found = _RATE.fullmatch(text) if len(text) <= MAX_CRON_LENGTH else None
    if found is None:
        raise problem(
            "#/cron", f"{shown(text)} is not rate(n unit) with a whole n and minutes, hours or days", "rate(5 minutes)"
        )
    value = int(found["value"])
    if (value == 1) == bool(found["plural"]):
        right = f"rate({value} {found['unit']}{'' if value == 1 else 's'})"
        raise problem("#/cron", f"{shown(text)}: 1 goes with the singular, other numbers with the plural", right)
    return value * _RATE_UNITS[found["unit"]]


def _checked_instant(instant: Instant, now: Instant, value: object, pointer: str = "#/at") -> Instant:
    if instant < now - MAX_PAST_MS:
        raise problem(
            pointer,
            f"{shown(value)} is more than {format_duration(MAX_PAST_MS)} before now, {to_rfc3339(now)}",
            to_rfc3339(Instant(now + HOUR)),
        )
    if instant > min(now + MAX_HORIZON_MS, LAST_INSTANT):
        raise problem(pointer, f"{shown(value)} is more than 50 years away")
    return instant
