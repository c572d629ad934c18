"""Any call of AWS on the allow-list. Its success means that AWS accepted it: what it sets off goes on by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from functions.worker.targets import Call, Outcome, failed, outcome_of_fault, succeeded
from functions.worker.targets.lambda_function import role_of
from shared.domain.errors import StoreError
from shared.domain.grants import AWS
from shared.domain.targets.aws_actions import Action
from shared.domain.targets.aws_api import action_of, region_of, values_at, with_payload, with_trace
from shared.domain.templates import filled
from shared.ports.aws_api import AwsApi, AwsCall


class AwsApiTarget:
    def __init__(self, api: AwsApi, *, region: str) -> None:
        self._api = api
        self._region = region

    def call(self, call: Call) -> Outcome:
        action = action_of(call.target)
        parameters = with_payload(action, filled(call.target["parameters"], call.values), call.payload)
        parameters = with_trace(action, parameters, call.trace)
        try:
            answer = self._api.call(
                AwsCall(
                    client=action.client,
                    operation=action.operation,
                    parameters=parameters,
                    region=region_of(call.target, self._region),
                    timeout_ms=call.timeout_ms,
                    role=role_of(call, AWS),
                    trace=call.trace,
                )
            )
        except StoreError as error:
            return outcome_of_fault(error)
        return _outcome_of(action, answer)


def _outcome_of(action: Action, answer: Mapping[str, Any]) -> Outcome:
    ids = [str(each) for each in values_at(answer, action.output)]
    output = ids[0] if len(ids) == 1 else json.dumps(ids) if ids else None
    refusals = [str(each) for each in values_at(answer, action.refusals)] if action.refusals else []
    if not refusals:
        return succeeded(output, completion="accepted")
    is_throttle = all("Throttling" in each or "RESOURCE:" in each for each in refusals)
    message = f"{action.name} was refused: {', '.join(refusals)}"
    return failed("throttled" if is_throttle else "refused", message, output=output)
