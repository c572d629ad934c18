from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import StaleHandle, Unreachable, fault_of_code
from shared.domain.errors import OutcomeUnknown, StoreError, StoreThrottled
from shared.domain.instants import Instant
from shared.domain.keys import owner_of
from shared.domain.message import Dispatch, encode
from shared.ports.due_queue import LONGEST_HIDDEN_SECONDS, TRACE_ATTRIBUTE, Delivery, SendReport

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

#: What SQS takes: entries of a batch, seconds of a wait.
BATCH = 10
LONGEST_WAIT_SECONDS = 20


class SqsDueQueue:
    """One lane in SQS: a standard queue, its message groups the owners (fair queues)."""

    def __init__(
        self,
        client: SQSClient,
        queue_url: str,
        calls: Calls,
    ) -> None:
        self._client = client
        self._url = queue_url
        self._calls = calls

    def send(self, dispatches: Sequence[Dispatch]) -> SendReport:
        """Raises WriteRefused when the queue takes nothing from us at all: no such queue, or no right."""
        accepted: set[int] = set()
        refused: dict[int, str] = {}
        # Ten bodies are some kilobytes, far from the megabyte that a batch may hold.
        for start in range(0, len(dispatches), BATCH):
            self._send_batch(range(start, min(start + BATCH, len(dispatches))), dispatches, accepted, refused)
        return SendReport(frozenset(accepted), refused)

    def _send_batch(
        self, batch: range, dispatches: Sequence[Dispatch], accepted: set[int], refused: dict[int, str]
    ) -> None:
        entries = [_entry(index, dispatches[index]) for index in batch]
        try:
            answer: dict[str, Any] = self._calls.once(
                "queue.send", lambda: dict(self._client.send_message_batch(QueueUrl=self._url, Entries=entries))
            )
        except (StoreThrottled, Unreachable, OutcomeUnknown):
            return
        accepted.update(int(entry["Id"]) for entry in answer.get("Successful", []))
        for entry in answer.get("Failed", []):
            failure = fault_of_code("queue.send", entry["Code"], entry.get("Message", ""))
            # A throttle is called the sender's fault too.
            if entry.get("SenderFault") and not isinstance(failure, StoreThrottled):
                refused[int(entry["Id"])] = failure.reason

    def receive(self, *, limit: int, wait_seconds: int, visibility_seconds: int) -> list[Delivery]:
        answer: dict[str, Any] = self._calls.once(
            "queue.receive",
            lambda: dict(
                self._client.receive_message(
                    QueueUrl=self._url,
                    MaxNumberOfMessages=min(limit, BATCH),
                    WaitTimeSeconds=min(wait_seconds, LONGEST_WAIT_SECONDS),
                    VisibilityTimeout=visibility_seconds,
                    MessageSystemAttributeNames=["ApproximateReceiveCount", TRACE_ATTRIBUTE],
                )
            ),
        )
        now = self._calls.clock.now()
        return [_delivery(message, now) for message in answer.get("Messages", [])]

    def delete(self, deliveries: Sequence[Delivery]) -> None:
        handles = list(dict.fromkeys(delivery.receipt_handle for delivery in deliveries))
        self._calls.in_batches("queue.delete", handles, BATCH, self._delete_batch)

    def _delete_batch(self, handles: Sequence[str]) -> list[tuple[str, StoreError]]:
        entries: list[Any] = [{"Id": str(number), "ReceiptHandle": handle} for number, handle in enumerate(handles)]
        answer: dict[str, Any] = dict(self._client.delete_message_batch(QueueUrl=self._url, Entries=entries))
        return _left("queue.delete", handles, answer)

    def hide(self, delivery: Delivery, *, seconds: int) -> None:
        try:
            self._calls.repeat(
                "queue.hide",
                lambda: self._client.change_message_visibility(
                    QueueUrl=self._url, ReceiptHandle=delivery.receipt_handle, VisibilityTimeout=_hidden(seconds)
                ),
            )
        except StaleHandle:
            return

    def hide_all(self, deliveries: Sequence[Delivery], *, seconds: int) -> None:
        handles = list(dict.fromkeys(delivery.receipt_handle for delivery in deliveries))
        self._calls.in_batches(
            "queue.hide", handles, BATCH, lambda batch: self._hide_batch(batch, seconds=_hidden(seconds))
        )

    def _hide_batch(self, handles: Sequence[str], *, seconds: int) -> list[tuple[str, StoreError]]:
        entries: list[Any] = [
            {"Id": str(number), "ReceiptHandle": handle, "VisibilityTimeout": seconds}
            for number, handle in enumerate(handles)
        ]
        answer: dict[str, Any] = dict(self._client.change_message_visibility_batch(QueueUrl=self._url, Entries=entries))
        return _left("queue.hide", handles, answer)


def _left(operation: str, handles: Sequence[str], answer: dict[str, Any]) -> list[tuple[str, StoreError]]:
    """What of a batch was not done, and why; a stale handle is done with."""
    done = {entry["Id"] for entry in answer.get("Successful", [])}
    reasons = {
        entry["Id"]: fault_of_code(operation, entry["Code"], entry.get("Message", ""))
        for entry in answer.get("Failed", [])
    }
    unanswered = OutcomeUnknown(operation, "not in the answer")
    left = [(handle, reasons.get(str(number), unanswered)) for number, handle in enumerate(handles)]
    return [
        (handle, reason)
        for number, (handle, reason) in enumerate(left)
        if str(number) not in done and not isinstance(reason, StaleHandle)
    ]


def _hidden(seconds: float) -> int:
    return min(max(int(seconds), 0), LONGEST_HIDDEN_SECONDS)


def _entry(index: int, dispatch: Dispatch) -> Any:
    entry: dict[str, Any] = {
        "Id": str(index),
        "MessageBody": encode(dispatch),
        "MessageGroupId": owner_of(dispatch.job_key),
    }
    if dispatch.trace is not None:
        entry["MessageSystemAttributes"] = {TRACE_ATTRIBUTE: {"DataType": "String", "StringValue": dispatch.trace}}
    return entry


def _delivery(message: dict[str, Any], now: Instant) -> Delivery:
    return Delivery.of(
        message["Body"],
        message_id=message["MessageId"],
        receipt_handle=message["ReceiptHandle"],
        attributes=message.get("Attributes", {}),
        received_at=now,
    )
