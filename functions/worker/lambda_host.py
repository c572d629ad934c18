"""The worker as a Lambda function behind an SQS event source mapping with partial batch responses.

One invocation claims its batch, drives it to the end and reports what must stay in the queue: everything that was not
acknowledged, so that whatever goes wrong here loses no message.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

from functions.worker.crews import Crews
from functions.worker.executor import Executor
from functions.worker.messages import Messages
from functions.worker.parts import WorkerParts
from functions.worker.waiting import wait_until_due
from functions.worker.wiring import parts_from
from shared.domain.errors import StoreError
from shared.domain.instants import SECOND, Instant
from shared.observability.logs import logger_for
from shared.ports import Delivery, ReceivedMessages

_logger = logger_for("worker")

#: No run goes on in the last seconds of an invocation: they belong to storing how the runs ended ...
_FINISH_SECONDS = 3.0
#: ... but for the last one, which belongs to the answer.
_ANSWER_SECONDS = 1.0
_LONGEST_WAIT_SECONDS = 0.5
_PAUSE_AFTER_FAULT_SECONDS = 0.2


class LambdaContext(Protocol):
    def get_remaining_time_in_millis(self) -> int: ...


@dataclass(slots=True)
class MappedBatch:
    """The messages of one invocation, by id: the mapping deletes what is reported to it as done."""

    queue: ReceivedMessages
    done: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        self.done.update(delivery.message_id for delivery in deliveries)

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        self.queue.hide(delivery, seconds=seconds)
        self.hidden.add(delivery.message_id)

    def hide_all(self, deliveries: Sequence[Delivery], *, seconds: int) -> None:
        self.queue.hide_all(deliveries, seconds=seconds)
        self.hidden.update(delivery.message_id for delivery in deliveries)


class LambdaHost:
    def __init__(self, parts: WorkerParts) -> None:
        self._parts = parts

    def handle(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, list[dict[str, str]]]:
        """Answers the messages that are not done with. Raises LookupError for a queue this worker was not told of."""
        clock = self._parts.clock
        ends_until = clock.monotonic() + context.get_remaining_time_in_millis() / SECOND
        records = event["Records"]
        deliveries = [_delivery_of(record, clock.now()) for record in records]
        if not deliveries:
            return {"batchItemFailures": []}
        lane = self._parts.lane_of(records[0]["eventSourceARN"])
        batch = MappedBatch(self._parts.queues[lane])
        executor = self._parts.executor(lane, queue=batch, ends_until=ends_until - _FINISH_SECONDS)
        # First of all: should this process die, the mapping, which received them for an hour and a half, would not show
        # them before.
        Messages(batch).hide_all(deliveries, seconds=self._parts.settings.visibility_seconds)
        self._drive(executor, deliveries, until=ends_until - _ANSWER_SECONDS)
        self._show_soon(batch, deliveries)
        self._parts.announcements.publish_once()
        self._parts.metrics.put({**executor.measured(), **self._parts.announcements.measured()}, at=clock.now())
        self._parts.traces.flush()
        kept = [delivery.message_id for delivery in deliveries if delivery.message_id not in batch.done]
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in kept]}

    def _show_soon(self, batch: MappedBatch, deliveries: Sequence[Delivery]) -> None:
        """What could not be claimed, and not be hidden either at first."""
        messages, touched = Messages(batch), batch.done | batch.hidden
        for delivery in deliveries:
            if delivery.message_id not in touched:
                messages.hide(delivery, seconds=self._parts.settings.visibility_seconds)

    def _drive(self, executor: Executor, deliveries: Sequence[Delivery], *, until: float) -> None:
        crews = Crews(executor, count=len(deliveries), spare=len(deliveries))
        clock, runs = self._parts.clock, executor.runs
        try:
            executor.claim_once(deliveries)
        except StoreError as error:
            _logger.warning("claiming failed", extra={"action": "run.claim", "error": str(error)})
        while (len(runs) or executor.watched) and clock.monotonic() < until:
            try:
                _step(executor, crews)
            except StoreError as error:
                _logger.warning("a step failed", extra={"action": "worker.step", "error": str(error)})
                clock.sleep(_PAUSE_AFTER_FAULT_SECONDS)
            wait_until_due(
                runs.ended,
                runs,
                clock,
                at_most_seconds=_LONGEST_WAIT_SECONDS,
                unless=lambda: runs.ending > 0 or not (len(runs) or executor.watched),
            )
        # Whatever still runs is not recorded any more: its lease runs out, and its message comes again.
        runs.cancel_all()
        crews.close()


def _step(executor: Executor, crews: Crews) -> None:
    for live in executor.start_due_once():
        crews.launch(live)
    for live in executor.expire_once():
        crews.abandon(live)
    executor.finish_once()
    executor.read_once()
    executor.heartbeat_once()
    executor.look_again_once()


def _delivery_of(record: Mapping[str, Any], now: Instant) -> Delivery:
    return Delivery.of(
        record["body"],
        message_id=record["messageId"],
        receipt_handle=record["receiptHandle"],
        attributes=record.get("attributes", {}),
        received_at=now,
    )


@cache
def _host() -> LambdaHost:
    return LambdaHost(parts_from(os.environ, host="lambda"))


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """What the event source mapping calls."""
    return _host().handle(event, context)
