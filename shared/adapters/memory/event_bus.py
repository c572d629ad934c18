from __future__ import annotations

from collections.abc import Sequence

from shared.domain.events import Event


class MemoryEventBus:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def publish(self, events: Sequence[Event]) -> None:
        self.events += events
