"""The function behind the queue of undelivered messages, with partial batch responses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Any

from functions.dead_letters.settling import Settler
from functions.dead_letters.wiring import Parts, parts_from
from shared.domain.errors import StoreError
from shared.domain.instants import Instant
from shared.observability.logs import logger_for
from shared.ports import Delivery
from shared.schema import DEFAULT_LANE

_logger = logger_for("dead_letters")


def settle_all(settler: Settler, lanes: Mapping[str, str], event: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    """Answers the messages that are not done with. `lanes` is by the name of a lane's queue."""
    failures = []
    for record in event["Records"]:
        delivery = _delivery_of(record, settler.clock.now())
        try:
            is_done = settler.settle(delivery, lane=_lane_of(record, lanes))
        except StoreError as error:
            _logger.warning("not settled", extra={"action": "message.settle", "error": str(error)})
            is_done = False
        if not is_done:
            failures.append({"itemIdentifier": delivery.message_id})
    return {"batchItemFailures": failures}


def _lane_of(record: Mapping[str, Any], lanes: Mapping[str, str]) -> str:
    """SQS notes which queue gave the message up; one without the note was put here by hand."""
    source = record.get("attributes", {}).get("DeadLetterQueueSourceArn", "")
    return lanes.get(source.rpartition(":")[2], DEFAULT_LANE)


def _delivery_of(record: Mapping[str, Any], now: Instant) -> Delivery:
    return Delivery.of(
        record["body"],
        message_id=record["messageId"],
        receipt_handle=record["receiptHandle"],
        attributes=record.get("attributes", {}),
        received_at=now,
    )


@cache
def _parts() -> Parts:
    return parts_from(os.environ)


def handler(event: dict[str, Any], _context: object) -> dict[str, list[dict[str, str]]]:
    """What the event source mapping calls."""
    parts = _parts()
    answered = settle_all(parts.settler, parts.lanes, event)
    parts.settler.announcements.publish_once()
    parts.metrics.put(parts.settler.announcements.measured(), at=parts.settler.clock.now())
    return answered
