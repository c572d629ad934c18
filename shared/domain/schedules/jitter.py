"""Spreading fires over a window: one (job, slot) always gets the same delay, on every node and after every restart."""

from __future__ import annotations

import hashlib

from shared.domain.instants import Instant
from shared.domain.schedules.slots import last_slot, next_slot
from shared.domain.schedules.values import Schedule


def fire_at(schedule: Schedule, key: str, slot: Instant) -> Instant:
    """The slot plus a delay in [0, min(window, gap to the next slot)), so fires stay in the order of their slots."""
    if schedule.window_ms == 0:
        return slot
    digest = hashlib.blake2b(f"{key}\n{slot}".encode(), digest_size=8).digest()
    return Instant(slot + int.from_bytes(digest) % jitter_bound(schedule, slot))


def jitter_bound(schedule: Schedule, slot: Instant) -> int:
    """The delay of this slot's fire is less than this; at least 1."""
    if schedule.window_ms == 0:
        return 1
    following = next_slot(schedule, slot)
    return schedule.window_ms if following is None else min(schedule.window_ms, following - slot)


def first_to_fire(schedule: Schedule, key: str, *, since: Instant, floor: Instant) -> Instant | None:
    """The first slot >= since whose fire is not before `floor`; None when there is none."""
    if schedule.window_ms == 0:
        return next_slot(schedule, Instant(max(since, floor) - 1))
    # A slot fires before the next one is planned. So of those up to the floor only the last can fire behind it, and a
    # window that holds a day of seconds need not be gone through.
    before = Instant(max(since, floor - schedule.window_ms) - 1)
    last = last_slot(schedule, before, floor)
    if last is not None and fire_at(schedule, key, last) >= floor:
        return last
    return next_slot(schedule, Instant(max(since - 1, floor)))


def last_to_fire(schedule: Schedule, key: str, *, after: Instant, until: Instant) -> Instant | None:
    """The last slot > after whose fire is not behind `until`; None when there is none."""
    last = last_slot(schedule, after, until)
    if last is not None and fire_at(schedule, key, last) > until:
        return last_slot(schedule, after, Instant(last - 1))
    return last
