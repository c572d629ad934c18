from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shared.domain.events import Event


class EventBus(Protocol):
    """Where lifecycle events go. Nothing depends on them: rows are the record."""

    def publish(self, events: Sequence[Event]) -> None:
        """Put them, some perhaps twice. Raises StoreError when some could not be put, after all others were."""
        ...
