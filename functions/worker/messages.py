"""What happens to a message: hidden for a while, or done with.

Neither may stop a run: a message that could not be hidden or deleted comes again, and the claim rule knows what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shared.domain.errors import StoreError
from shared.observability.logs import logger_for
from shared.ports import Delivery, DueQueue

_logger = logger_for("worker")

Acknowledge = Callable[[Sequence[Delivery]], None]


class Messages:
    def __init__(
        self, queue: DueQueue, acknowledge: Acknowledge | None = None, *, told_hidden: Acknowledge | None = None
    ) -> None:
        """`told_hidden` hears of each message that was hidden."""
        self._queue = queue
        self._told_hidden = told_hidden
        #: On Lambda the mapping deletes what the host reports as done.
        self._acknowledge = acknowledge if acknowledge is not None else queue.delete

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        try:
            self._queue.hide(delivery, seconds=seconds)
        except StoreError as error:
            _logger.warning(
                "a message could not be hidden",
                extra={"action": "message.hide", "message_id": delivery.message_id, "error": str(error)},
            )
        else:
            if self._told_hidden is not None:
                self._told_hidden([delivery])

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        if not deliveries:
            return
        try:
            self._acknowledge(deliveries)
        except StoreError as error:
            _logger.warning(
                "messages could not be deleted",
                extra={"action": "message.delete", "count": len(deliveries), "error": str(error)},
            )
