"""Schedules, and the instants and durations in them, from Python's own values."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any, Literal, TypedDict, Unpack, cast

#: RFC 3339, or a datetime. One without a zone is taken as `at` alone: it counts as local time of its `timezone`.
Moment = str | datetime
#: ISO 8601 such as `PT90S`, or a timedelta.
Duration = str | timedelta


class ExcludedDate(TypedDict, total=False):
    date: str
    reason: str


class Options(TypedDict, total=False):
    """What any schedule may say besides its kind."""

    start_at: Moment | None
    end_at: Moment | None
    max_runs: int | None
    window: Duration | None
    exclude: list[ExcludedDate] | None


#: Exactly one of at, in, cron and every. `in` is no name in Python, so the members are spelled as texts.
_Kinds = TypedDict(
    "_Kinds",
    {
        "at": Moment,
        "in": Duration,
        "cron": str,
        "every": Duration,
        "timezone": str,
        "dst": Literal["run", "skip"],
        "seconds": bool,
        "anchor": Moment | None,
    },
    total=False,
)


class Schedule(_Kinds, Options, total=False):
    """As requests take it and answers show it."""


def at(moment: Moment, *, timezone: str | None = None, **options: Unpack[Options]) -> Schedule:
    """Once, at an instant; or at a local time, with its `timezone`."""
    return _schedule(options, at=moment, timezone=timezone)


def in_(delay: Duration, **options: Unpack[Options]) -> Schedule:
    """Once, `delay` after the API accepts it; stored as `at`."""
    return _schedule(options, **{"in": delay})


def every(interval: Duration, *, anchor: Moment | None = None, **options: Unpack[Options]) -> Schedule:
    """For ever at anchor + k * interval; the anchor is now when it is left out."""
    return _schedule(options, every=interval, anchor=anchor)


def cron(
    expression: str,
    *,
    timezone: str | None = None,
    dst: Literal["run", "skip"] | None = None,
    seconds: bool | None = None,
    **options: Unpack[Options],
) -> Schedule:
    """Five fields as in Unix, `@daily` and the like, or AWS `cron(...)` and `rate(...)`; in UTC without a timezone."""
    return _schedule(options, cron=expression, timezone=timezone, dst=dst, seconds=seconds)


def encoded(document: object) -> bytes:
    """As the API reads it, and as it counts the bytes of a payload. Raises TypeError or ValueError for what JSON cannot
    say.
    """
    compact = json.dumps(document, default=_text_of, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return compact.encode()


def moment_text(moment: Moment | None) -> str | None:
    return moment.isoformat(timespec="milliseconds") if isinstance(moment, datetime) else moment


def _schedule(options: Options, **own: object) -> Schedule:
    return cast("Schedule", {name: value for name, value in own.items() if value is not None} | options)


def _text_of(value: Any) -> str | None:
    if isinstance(value, datetime):
        return moment_text(value)
    if isinstance(value, timedelta):
        return f"PT{value // timedelta(milliseconds=1) / 1000:.3f}S"
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")
