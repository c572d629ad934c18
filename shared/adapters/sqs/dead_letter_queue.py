from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.calls import Calls
from shared.adapters.aws.faults import fault_of_code
from shared.domain.errors import OutcomeUnknown, StoreError
from shared.domain.limits import UNSENDABLE
from shared.ports.dead_letter_queue import DeadLetter

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

BATCH = 10


class SqsDeadLetterQueue:
    """The body is the dispatch as it was; cause and detail are message attributes."""

    def __init__(
        self,
        client: SQSClient,
        queue_url: str,
        calls: Calls,
    ) -> None:
        self._client = client
        self._url = queue_url
        self._calls = calls

    def send(self, letters: Sequence[DeadLetter]) -> None:
        self._calls.in_batches("dead_letters.send", letters, BATCH, self._send_batch)

    def _send_batch(self, letters: Sequence[DeadLetter]) -> list[tuple[DeadLetter, StoreError]]:
        entries: list[Any] = [_entry(number, letter) for number, letter in enumerate(letters)]
        answer: dict[str, Any] = dict(self._client.send_message_batch(QueueUrl=self._url, Entries=entries))
        sent = {entry["Id"] for entry in answer.get("Successful", [])}
        reasons = {
            entry["Id"]: fault_of_code("dead_letters.send", entry["Code"], entry.get("Message", ""))
            for entry in answer.get("Failed", [])
        }
        unanswered = OutcomeUnknown("dead_letters.send", "not in the answer")
        return [
            (letter, reasons.get(str(number), unanswered))
            for number, letter in enumerate(letters)
            if str(number) not in sent
        ]


def _entry(number: int, letter: DeadLetter) -> dict[str, Any]:
    attributes = {"Cause": letter.cause, "Detail": letter.detail}
    return {
        "Id": str(number),
        "MessageBody": letter.body,
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": UNSENDABLE.sub("?", value)}
            for name, value in attributes.items()
            if value
        },
    }
