"""What a failed call of AWS means: the one place where botocore's errors are told apart.

refused by a condition      ConditionFailed, TransactionRefused   the stores turn it into a value
refused by rate, conflict   StoreThrottled, StoreContended        made again
never sent                  Unreachable                           made again
no answer, or 5xx           OutcomeUnknown                        made again: every call of ours may be repeated
refused for what it holds   ItemRefused                           never made again
an old receipt handle       StaleHandle                           no failure
anything else               WriteRefused                          a mistake of ours, or a missing right
"""

from __future__ import annotations

from typing import Any

from botocore import exceptions
from botocore.parsers import ResponseParserError

from shared.domain.errors import ItemRefused, OutcomeUnknown, StoreContended, StoreError, StoreThrottled, WriteRefused

#: Everything that a call of a client raises.
CALL_FAILURES = (exceptions.BotoCoreError, exceptions.ClientError, ResponseParserError)
_NEVER_SENT = (
    exceptions.ConnectTimeoutError,
    exceptions.EndpointConnectionError,
    exceptions.ProxyConnectionError,
)
_UNANSWERED = (
    exceptions.ConnectionError,
    exceptions.HTTPClientError,
    exceptions.IncompleteReadError,
    exceptions.ResponseStreamingError,
    ResponseParserError,
)

#: Codes of whole calls, and of single statements and entries of a batch, which spell them without `Exception`.
_THROTTLES = {
    "KmsThrottled",
    "OverLimit",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "RequestThrottled",
    "SlowDown",
    "Throttled",
    "Throttling",
    "ThrottlingError",
    "TooManyRequests",
}
_CONFLICTS = {"TransactionConflict", "ReplicatedWriteConflict"}
#: `TransactionInProgress`: the same request is still running, so an earlier attempt was received.
_UNKNOWN = {"InternalServerError", "InternalError", "InternalFailure", "RequestTimeout", "TransactionInProgress"}

#: What was sent is too large, or no text that can be stored.
_OF_ITEM = {"ItemCollectionSizeLimitExceeded", "Serialization", "Validation", "ValidationError"}
#: Of SQS, which also says `InvalidParameterValue` of the parameter ReceiptHandle.
_STALE_HANDLES = {"MessageNotInflight", "ReceiptHandleIsInvalid"}

_SERVER_ERROR = 500


class ConditionFailed(WriteRefused):
    """The row is not as the condition says; `row` is what it is, None when there is none or it was not asked for."""

    def __init__(self, operation: str, row: dict[str, Any] | None) -> None:
        self.row = row
        super().__init__(operation, "the condition does not hold")


class TransactionRefused(WriteRefused):
    """A condition of the transaction does not hold."""


class StaleHandle(WriteRefused):
    """The message is gone, or was received by another since."""


class Unreachable(WriteRefused):
    """No connection was made: nothing was sent."""


def fault(operation: str, error: Exception) -> StoreError:
    """What this error of a client means for `operation`."""
    if isinstance(error, exceptions.ClientError):
        return _answered(operation, error)
    if isinstance(error, _NEVER_SENT):
        return Unreachable(operation, str(error))
    if isinstance(error, _UNANSWERED):
        return OutcomeUnknown(operation, str(error))
    return WriteRefused(operation, str(error))


def fault_of_code(operation: str, code: str, message: str = "") -> StoreError:
    """The same for one statement or entry of a batch that failed alone."""
    name = code.rpartition(".")[2].removesuffix("Exception")
    reason = f"{code}: {message}" if message else code
    if name in _THROTTLES:
        return StoreThrottled(operation, reason)
    if name in _CONFLICTS:
        return StoreContended(operation, reason)
    if name in _UNKNOWN:
        return OutcomeUnknown(operation, reason)
    if name in _STALE_HANDLES or (name == "InvalidParameterValue" and "ReceiptHandle" in message):
        return StaleHandle(operation, reason)
    if name in _OF_ITEM:
        return ItemRefused(operation, reason)
    return WriteRefused(operation, reason)


def _answered(operation: str, error: exceptions.ClientError) -> StoreError:
    answer: dict[str, Any] = dict(error.response)
    code = answer.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(operation, answer.get("Item"))
    if code == "TransactionCanceledException":
        return _cancelled(operation, answer)
    meaning = fault_of_code(operation, code, answer.get("Error", {}).get("Message", ""))
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if status >= _SERVER_ERROR and not isinstance(meaning, (StoreThrottled, StoreContended)):
        return OutcomeUnknown(operation, meaning.reason)
    return meaning


def _cancelled(operation: str, answer: dict[str, Any]) -> StoreError:
    codes = [reason.get("Code", "None") for reason in answer.get("CancellationReasons", [])]
    meanings = [fault_of_code(operation, code) for code in codes]
    # A conflict may hide what the condition would have said: first get rid of it.
    for kind in (StoreContended, StoreThrottled):
        if any(isinstance(meaning, kind) for meaning in meanings):
            return kind(operation, ", ".join(codes))
    if "ConditionalCheckFailed" in codes:
        return TransactionRefused(operation, ", ".join(codes))
    return WriteRefused(operation, answer.get("Error", {}).get("Message", ", ".join(codes)))
