"""The contract with whoever drives a deployment: the local stack, scripts, people."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.infra.synthesis import Synthesis

EXPECTED = {
    "ApiLog",
    "DeadLettersLog",
    "SchedulerLog",
    "WorkerLog",
    "WorkerFunctionLog",
    "AlarmTopic",
    "ApiId",
    "ApiUrl",
    "JobsTable",
    "JobSchedulesTable",
    "JobRunsTable",
    "FleetTable",
    "AccessTable",
    "DefaultQueueUrl",
    "DefaultDeadLetterQueueUrl",
    "CatchupQueueUrl",
    "CatchupDeadLetterQueueUrl",
    "LongQueueUrl",
    "LongDeadLetterQueueUrl",
    "UndeliveredQueueUrl",
    "ClusterName",
    "EventBusName",
    "SchedulerServiceName",
    "SchedulerTaskDefinition",
    "WorkerServiceName",
    "WorkerTaskDefinition",
}


@pytest.mark.parametrize("environment", ["local", "dev", "prod"])
def test_every_environment_puts_out_the_same_names(synthesised: Callable[[str], Synthesis], environment: str) -> None:
    synthesis = synthesised(environment)
    outputs = [
        key
        for template in (synthesis.data, synthesis.service)
        for key in template.to_json()["Outputs"]
        if not key.startswith("ExportsOutput")
    ]

    assert sorted(outputs) == sorted(EXPECTED)
