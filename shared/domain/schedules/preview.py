"""What a user sees before creating a job: the coming slots in local time and UTC, and whatever is odd about them."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.instants import Instant
from shared.domain.schedules.slots import slots
from shared.domain.schedules.values import Schedule


@dataclass(frozen=True, slots=True)
class PreviewSlot:
    slot: Instant


def preview(schedule: Schedule, after: Instant, count: int) -> list[PreviewSlot]:
    return [PreviewSlot(slot) for slot, _ in zip(slots(schedule, after), range(count), strict=False)]
