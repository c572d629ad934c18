"""Spreading fires over a window: one (job, slot) always gets the same delay, on every node and after every restart."""

from __future__ import annotations

import hashlib

from shared.domain.instants import Instant
from shared.domain.schedules.slots import next_slot
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
