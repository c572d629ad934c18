"""The API's `schedule` object: parsed with every problem named, and written back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from shared.domain.durations import format_duration, parse_duration
from shared.domain.errors import FieldProblem, InvalidRequest
from shared.domain.instants import Instant, to_rfc3339
from shared.domain.limits import MAX_HORIZON_MS, MAX_RUNS, MAX_WINDOW_MS
from shared.domain.schedules.fields import problem, read_exclude, read_instant, read_whole_number, shown
from shared.domain.schedules.kinds import read_at, read_cron, read_every, read_in
from shared.domain.schedules.slots import is_slot, last_of, next_slot
from shared.domain.schedules.values import At, Cron, Every, Schedule

_OPTIONS = ("start_at", "end_at", "max_runs", "window", "exclude")
_KEYS = {
    "at": ("timezone",),
    "in": (),
    "cron": ("timezone", "dst", "seconds"),
    "every": ("anchor",),
}
_READERS = {"at": read_at, "in": read_in, "cron": read_cron, "every": read_every}
_EXAMPLE = {"cron": "30 2 * * MON-FRI", "timezone": "Europe/Berlin"}

_T = TypeVar("_T")


def parse_schedule(
    document: Mapping[str, object],
    *,
    now: Instant,
    needs_slot: bool = True,
    over: Schedule | None = None,
    counted: int = 0,
) -> Schedule:
    """The value behind a `schedule` object; `now` is the moment of creation.

    A null counts as absent, except for `timezone`. `needs_slot`: refuse a schedule that has no slot left to fire.
    `over`: the schedule that it replaces, whose anchor stays unless another one is meant. `counted`: so many of its
    `max_runs` were planned before now.

    Raises:
        InvalidRequest: one problem per field at fault, with pointers from the object itself, such as `#/cron`.
    """
    kind = _kind_of(document)
    given = {name: value for name, value in document.items() if value is not None or name == "timezone"}
    problems = _unknown_keys(kind, given)
    options = {
        name: value for name, read in _option_readers(given).items() if (value := _collect(problems, read)) is not None
    }
    schedule = _collect(problems, lambda: _READERS[kind](given, now))
    if problems or schedule is None:
        raise InvalidRequest(problems)
    schedule = replace(schedule, **options, given_end_at=options.get("end_at"))
    if isinstance(schedule, Every):
        schedule = _anchored(schedule, over, is_given="anchor" in given)
    schedule = _with_last_run(schedule, now, counted)
    if needs_slot:
        _check_slots_left(schedule, now)
    return schedule


def to_document(schedule: Schedule) -> dict[str, Any]:
    """The `schedule` object of the API; parsing it again gives the same slots."""
    if isinstance(schedule, At):
        own: dict[str, Any] = {"at": schedule.local or to_rfc3339(schedule.instant)}
        own |= {"timezone": schedule.timezone} if schedule.timezone else {}
    elif isinstance(schedule, Cron):
        own = {"cron": schedule.expression, "timezone": schedule.timezone, "dst": schedule.dst}
        own |= {"seconds": True} if schedule.has_seconds else {}
    else:
        own = {"every": format_duration(schedule.interval_ms), "anchor": to_rfc3339(schedule.anchor)}
    return own | {
        "start_at": _shown_instant(schedule.start_at),
        "end_at": _shown_instant(schedule.given_end_at),
        "max_runs": schedule.max_runs,
        "window": format_duration(schedule.window_ms),
        "exclude": [{"date": day.isoformat(), "reason": reason} for day, reason in schedule.exclude],
    }


def _shown_instant(instant: Instant | None) -> str | None:
    return None if instant is None else to_rfc3339(instant)


def _kind_of(document: object) -> str:
    if not isinstance(document, Mapping):
        raise problem("#", f"a schedule is an object, not {shown(document)}", _EXAMPLE)
    kinds = [kind for kind in _KEYS if document.get(kind) is not None]
    if len(kinds) == 1:
        return kinds[0]
    detail = f"{' and '.join(kinds)} exclude each other" if kinds else "the schedule says no time"
    raise problem(f"#/{kinds[1]}" if kinds else "#", f"{detail}; give exactly one of at, in, cron, every", _EXAMPLE)


def _unknown_keys(kind: str, given: Mapping[str, object]) -> list[FieldProblem]:
    allowed = (kind, *_KEYS[kind], *_OPTIONS)
    problems = []
    for name in given:
        if name in allowed:
            continue
        pointer = "#/" + str(name)[:40].replace("~", "~0").replace("/", "~1")
        others = [other for other, keys in _KEYS.items() if name in keys]
        detail = (
            f"belongs to {' and '.join(others)}, not to {kind}"
            if others
            else f"unknown; {kind} takes {', '.join(allowed)}"
        )
        problems.append(FieldProblem(pointer, detail))
    return problems


def _option_readers(given: Mapping[str, object]) -> dict[str, Callable[[], Any]]:
    readers: dict[str, Callable[[], Any]] = {}
    if "start_at" in given:
        readers["start_at"] = lambda: read_instant(given["start_at"], "#/start_at")
    if "end_at" in given:
        readers["end_at"] = lambda: read_instant(given["end_at"], "#/end_at")
    if "max_runs" in given:
        readers["max_runs"] = lambda: read_whole_number(given["max_runs"], "#/max_runs", low=1, high=MAX_RUNS)
    if "window" in given:
        readers["window_ms"] = lambda: _read_window(given["window"])
    if "exclude" in given:
        readers["exclude"] = lambda: read_exclude(given["exclude"])
    return readers


def _read_window(value: object) -> int:
    window_ms = parse_duration(value, "#/window")
    if window_ms > MAX_WINDOW_MS:
        raise problem("#/window", f"{shown(value)} is longer than {format_duration(MAX_WINDOW_MS)}", "PT15M")
    return window_ms


def _collect(problems: list[FieldProblem], read: Callable[[], _T]) -> _T | None:
    try:
        return read()
    except InvalidRequest as error:
        problems.extend(error.problems)
        return None


def _anchored(schedule: Every, over: Schedule | None, *, is_given: bool) -> Every:
    """With the anchor that is given; else with that of the schedule before it; else at `start_at`."""
    if isinstance(over, Every):
        is_meant = schedule.anchor == over.anchor if is_given else schedule.start_at in {None, over.start_at}
        if is_meant:
            return replace(schedule, anchor=over.anchor, includes_anchor=over.includes_anchor)
    if is_given or schedule.start_at is None:
        return schedule
    return replace(schedule, anchor=schedule.start_at, includes_anchor=True)


def _with_last_run(schedule: Schedule, now: Instant, counted: int) -> Schedule:
    """`max_runs` as an end: the slots are counted once, when it is read, so no counter is kept while the job runs."""
    if schedule.max_runs is None or isinstance(schedule, At):
        return schedule
    left = schedule.max_runs - counted
    if left <= 0:
        raise problem("#/max_runs", f"{counted} runs are planned by now; ask for more, or leave it out", counted + 1)
    last = last_of(schedule, Instant(now - 1), left, horizon=Instant(now + MAX_HORIZON_MS))
    return schedule if last is None else replace(schedule, end_at=last)


def _check_slots_left(schedule: Schedule, now: Instant) -> None:
    if schedule.start_at is not None and schedule.end_at is not None and schedule.end_at < schedule.start_at:
        raise problem("#/end_at", "lies before start_at")
    if isinstance(schedule, At):
        if not is_slot(schedule, schedule.instant):
            raise problem("#/at", "start_at, end_at or exclude leave no slot to fire")
        return
    pointer = "#/cron" if isinstance(schedule, Cron) else "#/every"
    first = next_slot(schedule, Instant(now - 1))
    if first is None:
        limits = " between start_at and end_at" if schedule.start_at or schedule.end_at else ""
        raise problem(pointer, f"no slot is left to fire{limits}, counted from {to_rfc3339(now)}")
    if first > now + MAX_HORIZON_MS:
        raise problem(pointer, f"the first slot, {to_rfc3339(first)}, is more than 50 years away")
