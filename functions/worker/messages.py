"""What happens to a message: hidden for a while, or done with.

Neither may stop a run: a message that could not be hidden or deleted comes again, and the claim rule knows what to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.domain.errors import StoreError
from shared.observability.logs import logger_for
from shared.ports import Delivery, ReceivedMessages

_logger = logger_for("worker")


class Messages:
    def __init__(self, queue: ReceivedMessages) -> None:
        self._queue = queue

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        try:
            self._queue.hide(delivery, seconds=seconds)
        except StoreError as error:
            _logger.warning(
                "a message could not be hidden",
                extra={"action": "message.hide", "message_id": delivery.message_id, "error": str(error)},
            )

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        if not deliveries:
            return
        try:
            self._queue.delete(deliveries)
        except StoreError as error:
            _logger.warning(
                "messages could not be deleted",
                extra={"action": "message.delete", "count": len(deliveries), "error": str(error)},
            )
