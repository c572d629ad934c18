"""The bill of a month of work, on top of the idle one."""

from __future__ import annotations

from dataclasses import dataclass

from infra.cost import usage
from infra.cost.bill import Item


@dataclass(frozen=True, slots=True)
class Profile:
    """What is asked in a month. `run_seconds` is what a run takes of its worker function; `on_ecs` its tasks are idle
    costs already.
    """

    one_time_jobs: int = 0
    recurring_runs: int = 0
    #: Runs that start within one invocation: 1 when fires come alone, 10 in a herd.
    runs_of_an_invocation: float = usage.RUNS_OF_AN_INVOCATION
    payload_kb: float = 0.5
    run_seconds: float = 0.05
    api_reads: int = 0
    run_retention_days: int = 30
    worker_gb: float = 0.5
    api_gb: float = 0.5
    on_ecs: bool = False


def items_of(profile: Profile) -> list[Item]:
    jobs, runs = profile.one_time_jobs, profile.one_time_jobs + profile.recurring_runs
    extra_kb = max(0.0, profile.payload_kb - 1)
    writes = usage.WRITES_OF_A_ONE_TIME_JOB * jobs + usage.WRITES_OF_A_RECURRING_RUN * profile.recurring_runs
    reads = usage.READS_OF_A_ONE_TIME_JOB * jobs + usage.READS_OF_A_RECURRING_RUN * profile.recurring_runs
    requests = jobs + profile.api_reads
    gigabytes = usage.RUN_GB * runs * profile.run_retention_days / 30
    work = [
        Item("DynamoDB writes", writes + usage.WRITES_OF_A_PAYLOAD_KB * extra_kb * jobs, "dynamodb_write"),
        Item("DynamoDB reads", reads + usage.READS_OF_A_PAYLOAD_KB * extra_kb * runs, "dynamodb_read"),
        Item("DynamoDB storage", gigabytes, "dynamodb_storage"),
        Item("DynamoDB storage", gigabytes, "dynamodb_recovery"),
        Item("SQS", usage.SQS_REQUESTS_OF_A_RUN * runs, "sqs_request"),
        Item("API", requests, "api_request"),
        Item("API", requests, "lambda_request"),
        Item("API", requests * usage.API_SECONDS * profile.api_gb, "lambda_second"),
    ]
    if profile.on_ecs:
        return work
    invocations = runs / profile.runs_of_an_invocation
    return [
        *work,
        Item("worker", invocations, "lambda_request"),
        # Runs of a batch run side by side, so an invocation takes as long as the longest of them.
        Item("worker", invocations * profile.run_seconds * profile.worker_gb, "lambda_second"),
    ]
