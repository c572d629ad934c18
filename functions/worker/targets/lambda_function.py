"""A Lambda function: the payload is its event. `sync` waits for its answer, `async` for its acceptance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from functions.worker.targets import Call, Outcome, failed, outcome_of_fault, succeeded
from shared.domain.errors import StoreError
from shared.domain.grants import LAMBDA
from shared.domain.limits import MAX_OUTPUT_BYTES
from shared.ports.aws_api import AwsApi, AwsCall, Role


def role_of(call: Call, target_type: str) -> Role | None:
    """The role that was granted to the owner for this, who is its external id."""
    role_arn = call.roles.get(target_type)
    return None if role_arn is None else Role(role_arn, call.owner_id)


class LambdaTarget:
    def __init__(self, api: AwsApi) -> None:
        self._api = api

    def call(self, call: Call) -> Outcome:
        function_arn = call.target["function_arn"]
        is_sync = call.target["invocation"] == "sync"
        try:
            answer = self._api.call(
                AwsCall(
                    client="lambda",
                    operation="Invoke",
                    parameters={
                        "FunctionName": function_arn,
                        "InvocationType": "RequestResponse" if is_sync else "Event",
                    }
                    | _event_of(call),
                    region=function_arn.split(":")[3],
                    timeout_ms=call.timeout_ms,
                    role=role_of(call, LAMBDA),
                    trace=call.trace,
                )
            )
        except StoreError as error:
            return outcome_of_fault(error)
        if not is_sync:
            return succeeded(answer.get("ResponseMetadata", {}).get("RequestId"), completion="accepted")
        return _outcome_of(answer)


def _event_of(call: Call) -> dict[str, bytes]:
    """Nothing where nothing was given: the function gets an empty object then, as of any caller, and not null."""
    return {} if call.payload is None else {"Payload": json.dumps(call.payload, separators=(",", ":")).encode()}


def _outcome_of(answer: Mapping[str, Any]) -> Outcome:
    content: bytes = answer.get("Payload", b"")
    text = content[: MAX_OUTPUT_BYTES + 1].decode(errors="replace")
    if answer.get("FunctionError") is None:
        return succeeded(text or None)
    error = _error_in(content)
    return failed(str(error.get("errorType") or "function_error"), str(error.get("errorMessage") or text))


def _error_in(content: bytes) -> Mapping[str, Any]:
    try:
        error = json.loads(content)
    except ValueError:
        return {}
    return error if isinstance(error, dict) else {}
