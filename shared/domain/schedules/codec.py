"""The stored form of a schedule: compact, versioned, only texts and ints."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from shared.domain.errors import MessageUnreadable
from shared.domain.instants import Instant
from shared.domain.schedules.matching import EPOCH_ORDINAL
from shared.domain.schedules.values import At, Cron, Every, Schedule

VERSION = 1


def encode(schedule: Schedule) -> dict[str, Any]:
    """JSON-able; options that were not used are left out."""
    if isinstance(schedule, At):
        own: dict[str, Any] = {"k": "at", "t": int(schedule.instant), "local": schedule.local, "z": schedule.timezone}
    elif isinstance(schedule, Cron):
        own = {"k": "cron", "x": schedule.expression, "z": schedule.timezone}
        own |= {"dst": None if schedule.dst == "run" else schedule.dst, "s": 1 if schedule.has_seconds else None}
    else:
        own = {"k": "every", "ms": schedule.interval_ms, "a": int(schedule.anchor)}
        own |= {"skip0": None if schedule.includes_anchor else 1}
    shared = {
        "start": schedule.start_at,
        "end": schedule.end_at,
        "given_end": schedule.given_end_at,
        "runs": schedule.max_runs,
        "w": schedule.window_ms or None,
        "ex": [[day.toordinal() - EPOCH_ORDINAL, reason] for day, reason in schedule.exclude] or None,
    }
    return {"v": VERSION} | {name: value for name, value in (own | shared).items() if value is not None}


def decode(stored: Mapping[str, Any]) -> Schedule:
    """The inverse of `encode`; numbers may be any integral type.

    Raises:
        MessageUnreadable: a version or kind that this release does not know.
    """
    version = stored.get("v")
    if version != VERSION:
        raise MessageUnreadable("a stored schedule of another version", version=version)
    options: dict[str, Any] = {
        "start_at": _instant(stored.get("start")),
        "end_at": _instant(stored.get("end")),
        "given_end_at": _instant(stored.get("given_end")),
        "max_runs": None if stored.get("runs") is None else int(stored["runs"]),
        "window_ms": int(stored.get("w", 0)),
        "exclude": tuple((date.fromordinal(int(day) + EPOCH_ORDINAL), reason) for day, reason in stored.get("ex", ())),
    }
    kind = stored.get("k")
    if kind == "at":
        instant = Instant(int(stored["t"]))
        return At(instant=instant, local=stored.get("local"), timezone=stored.get("z"), **options)
    if kind == "cron":
        has_seconds, dst = bool(stored.get("s")), stored.get("dst", "run")
        return Cron(expression=stored["x"], timezone=stored["z"], dst=dst, has_seconds=has_seconds, **options)
    if kind == "every":
        interval, anchor = int(stored["ms"]), Instant(int(stored["a"]))
        return Every(interval_ms=interval, anchor=anchor, includes_anchor=not stored.get("skip0"), **options)
    raise MessageUnreadable(f"a stored schedule of unknown kind {kind!r}", version=version)


def _instant(value: Any) -> Instant | None:
    return None if value is None else Instant(int(value))
