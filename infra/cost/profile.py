"""The bill of a month of work, on top of the idle one."""

from __future__ import annotations

from dataclasses import dataclass

from infra.cost import usage
from infra.cost.bill import KB_IN_A_GB, Item
from infra.cost.measured import Taken, read_measured


@dataclass(frozen=True, slots=True)
class Profile:
    """What is asked in a month. `run_seconds` is what a run takes of its worker function; `on_ecs` its tasks are idle
    costs already.
    """

    one_time_jobs: int = 0
    #: Of jobs whose period is 6 h at most; a longer one is written down at each run.
    recurring_runs: int = 0
    rare_runs: int = 0
    #: Of one-time jobs, those that are cancelled before they fire.
    cancelled_jobs: int = 0
    #: Runs that start within one invocation: 1 when fires come alone, 10 in a herd.
    runs_of_an_invocation: float = usage.RUNS_OF_AN_INVOCATION
    payload_kb: float = 0.5
    output_kb: float = 0.5
    run_seconds: float = 0.05
    #: How long an invocation waits for the fire of what came early.
    hold_seconds: float = usage.HOLD_SECONDS
    #: Jobs that stay in the nodes' memory, and how often they are read anew: at each deployment, and where a node died.
    resident_jobs: int = 0
    reloads: int = 4
    api_reads: int = 0
    run_retention_days: int = 30
    worker_gb: float = 0.5
    api_gb: float = 0.5
    on_ecs: bool = False
    tells_events: bool = True


def items_of(profile: Profile) -> list[Item]:
    jobs = profile.one_time_jobs + profile.cancelled_jobs
    recurring = profile.recurring_runs + profile.rare_runs
    runs = profile.one_time_jobs + recurring
    writes, reads, sqs_requests = _measured(profile)
    extra_kb, extra_output_kb = max(0.0, profile.payload_kb - 1), max(0.0, profile.output_kb - 1)
    invocations = 0.0 if profile.on_ecs else runs / profile.runs_of_an_invocation
    sqs_requests *= usage.MEASURED_IN_BATCHES_OF / profile.runs_of_an_invocation
    requests = jobs + profile.cancelled_jobs + profile.api_reads
    gigabytes = usage.RUN_GB * runs * profile.run_retention_days / 30
    events = usage.EVENTS_OF_A_ONE_TIME_JOB * profile.one_time_jobs + usage.EVENTS_OF_A_RUN * recurring
    work = [
        Item("DynamoDB writes", writes + usage.WRITES_OF_A_PAYLOAD_KB * extra_kb * jobs, "dynamodb_write"),
        Item("DynamoDB writes", usage.WRITES_OF_AN_OUTPUT_KB * extra_output_kb * runs, "dynamodb_write"),
        Item("DynamoDB writes", _writes_of_beats(profile.run_seconds) * runs, "dynamodb_write"),
        Item("DynamoDB reads", reads + usage.READS_OF_A_PAYLOAD_KB * extra_kb * runs, "dynamodb_read"),
        Item("reloads", usage.READS_OF_A_RELOAD * profile.resident_jobs * profile.reloads, "dynamodb_read"),
        Item("DynamoDB storage", gigabytes, "dynamodb_storage"),
        Item("DynamoDB storage", gigabytes, "dynamodb_recovery"),
        Item("SQS", sqs_requests + usage.HIDES_OF_AN_INVOCATION * invocations, "sqs_request"),
        Item("events", events if profile.tells_events else 0, "event"),
        Item("API", requests, "api_request"),
        Item("API", requests, "lambda_request"),
        Item("API", requests * usage.API_SECONDS * profile.api_gb, "lambda_second"),
        Item("logs", requests * usage.LOG_KB_OF_A_REQUEST / KB_IN_A_GB, "log_ingestion"),
    ]
    if profile.on_ecs:
        return work
    return [
        *work,
        Item("worker", invocations, "lambda_request"),
        # Runs of a batch run side by side, so an invocation takes as long as the longest of them.
        Item("worker", invocations * (profile.hold_seconds + profile.run_seconds) * profile.worker_gb, "lambda_second"),
        Item("logs", invocations * usage.LOG_KB_OF_AN_INVOCATION / KB_IN_A_GB, "log_ingestion"),
    ]


def _writes_of_beats(run_seconds: float) -> float:
    beats = int(run_seconds / usage.BEAT_SECONDS)
    return beats + usage.WRITES_OF_A_LISTED_RUN if beats else 0


def _measured(profile: Profile) -> tuple[float, float, float]:
    """Writes and reads of DynamoDB, and requests of SQS."""
    by_kind = read_measured().by_kind
    taken: list[tuple[int, Taken]] = [
        (profile.one_time_jobs, by_kind["one_time"]),
        (profile.recurring_runs, by_kind["recurring_within_6_h"]),
        (profile.rare_runs, by_kind["recurring_beyond_6_h"]),
        (profile.cancelled_jobs, by_kind["cancelled"]),
    ]
    return (
        sum(count * each.writes for count, each in taken),
        sum(count * each.reads for count, each in taken),
        sum(count * each.sqs_requests for count, each in taken),
    )
