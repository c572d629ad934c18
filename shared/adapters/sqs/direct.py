"""SendMessageBatch without botocore: the one call that decides how fast a node is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shared.adapters.aws.direct import DirectCalls
from shared.ports.clock import Clock

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

OPERATION = "SendMessageBatch"


class DirectBatches:
    """One service endpoint; threads may share it."""

    def __init__(self, calls: DirectCalls) -> None:
        self._calls = calls

    @classmethod
    def beside(cls, client: SQSClient, clock: Clock) -> DirectBatches | None:
        """To where `client` sends, as whom it sends. None where a proxy is in between."""
        calls = DirectCalls.beside(client, clock)
        return None if calls is None else cls(calls)

    def __call__(self, queue_url: str, entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The answer, as a client of boto3 gives it. Raises what such a client raises."""
        return self._calls(OPERATION, QueueUrl=queue_url, Entries=entries)

    def close(self) -> None:
        """Nothing more is sent."""
        self._calls.close()
