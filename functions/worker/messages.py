"""What happens to a message: hidden for a while, or done with.

Neither may stop a run: a message that could not be hidden or deleted comes again, and the claim rule knows what to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from shared.observability.logs import logger_for
from shared.ports import Delivery, ReceivedMessages

_logger = logger_for("worker")


class Messages:
    def __init__(self, queue: ReceivedMessages) -> None:
        self._queue = queue

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        try:
            self._queue.hide(delivery, seconds=seconds)
        except Exception as error:  # noqa: BLE001 (whatever it is, it must not stop a run)
            _logger.warning(
                "a message could not be hidden",
                extra={"action": "message.hide", "message_id": delivery.message_id, "error": str(error)},
            )

    def hide_all(self, deliveries: Sequence[Delivery], *, seconds: int) -> None:
        if not deliveries:
            return
        try:
            self._queue.hide_all(deliveries, seconds=seconds)
        except Exception as error:  # noqa: BLE001 (as above)
            _logger.warning(
                "messages could not be hidden",
                extra={"action": "message.hide", "count": len(deliveries), "error": str(error)},
            )

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        if not deliveries:
            return
        try:
            self._queue.delete(deliveries)
        except Exception as error:  # noqa: BLE001 (whatever it is, it must not stop a run)
            _logger.warning(
                "messages could not be deleted",
                extra={"action": "message.delete", "count": len(deliveries), "error": str(error)},
            )
