"""What went wrong in other schedulers, by number: each case is named by the test that keeps it from going wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CASES = {
    "B01": (
        "missed runs: Cluster off overnight; more than 100 missed starts and the CronJob refused to run ever again."
    ),
    "B02": "missed runs: Suspended for days, never scheduled again after resume.",
    "B04": "missed runs: Opposite fault: catch-up worked after restart but not after a stall of the same process.",
    "B05": (
        "missed runs: Default 1 s grace: runs 1.1 to 1.8 s late were dropped silently; about half of all "
        "runs in one queue transport."
    ),
    "B07": "missed runs: After a deploy no tick for 14 min; skipped slots left no trace.",
    "B08": "missed runs: A once-a-day job fell into a two-minute outage and was lost.",
    "B10": (
        "missed runs: Default catch-up window of one minute lost runs in short outages; a one-year "
        "default can start thousands."
    ),
    "B11": "overlap: A run longer than its interval overlapped itself.",
    "B13": "failover: Holder lost the lock store but could still send; backup took over; both sent.",
    "B14": (
        "fencing: GC pause longer than the lease: the old owner goes on; record version is a UUID, so "
        "nobody can tell older from newer."
    ),
    "B16": (
        "fencing: First conditional write succeeded but the answer was lost; the SDK retry failed the "
        "condition and the run was dropped as 'taken by someone else'."
    ),
    "B17": (
        "lease: Waiter saw a new record version but did not restart its wait, so its waiting time was "
        "wrong for the lock it now watched."
    ),
    "B19": (
        "lease: After a network blip nobody took the expired leases because everybody thought the fleet was balanced."
    ),
    "B20": "lease: Losing one shard made users exit the whole process and lag the others.",
    "B22": "failover: After leader re-election jobs stopped or missed a run.",
    "B23": "clock: A node whose clock ran ahead declared healthy peers dead and fired their work.",
    "B25": "clock: Leap second / 1 s step: monthly job ran at 23:59:59.07 and again at 00:00:00.006.",
    "B26": "crash: Job removed from the schedule, process died before the push: lost.",
    "B28": "timer: Delays over 2^31-1 ms fired at once.",
    "B29": "timer: Timer longer than one wheel revolution fired one turn early.",
    "B31": "timer: Scheduler slept until the next known job or poll; a newly added earlier job waited.",
    "B32": "drift: Interval counted from the end of the run: 61 s instead of 60 s, minutes per day.",
    "B34": "update: Changing the cron made the task fire at once.",
    "B35": "update: The change was never picked up until restart, or the task was forgotten.",
    "B37": "update: Delete and recreate with one id: the new one never ran.",
    "B38": "update: Idempotent 'upsert at start-up' by several restarting instances produced several copies.",
    "B40": "cancel: Cancel raced with dispatch and the API claimed success.",
    "B41": "cancel: Cancel during the run ended as 'completed'.",
    "B43": "herd: Everything at :00; a big CI host delays jobs by 95 min and drops some.",
    "B44": "herd: A restart gave all interval jobs one phase for ever.",
    "B46": "sqs: Back-off grew to 54,524 s and SendMessage refused (limit 900).",
    "B47": (
        "sqs: Wrong key case / empty / unknown ids in the partial batch response: whole batch failed or was deleted."
    ),
    "B49": "sqs: Function at its concurrency limit: throttled receives pushed good messages to the DLQ.",
    "B50": "sqs: HTTP 200 with a Failed list: entries lost on send, or re-run after a failed delete.",
    "B52": "sqs: U+FFFF in a payload: 188 failed jobs, each with 5 retries.",
    "B53": "sqs: Delay longer than the visibility timeout: the same task handed out every hour.",
    "B55": "sqs: Messages older than the retention vanish (not to the DLQ); DLQ age counts from the first enqueue.",
    "B56": "dup: Standard queues and the Lambda mapping deliver twice, also concurrently.",
    "B58": (
        "shutdown: Stopping: heartbeats ended first, so another node took the running job; Fargate kills "
        "after at most 120 s."
    ),
    "B59": "dynamodb: UnprocessedItems dropped: 3,000 of 10,000 missing.",
    "B61": "dynamodb: Empty set or empty key refused by the service as a 500.",
    "B62": "dynamodb: A log or plan grew over 400 KB and the status write failed, so the job looked stuck.",
    "B64": "api: Retry after a lost answer created a second job.",
    "B65": "api: Webhook to the metadata address: directly, by redirect, by DNS rebinding, by odd spellings.",
    "B67": "tzdata: A zone changed its rules; stored next_run_time was computed with the old database.",
}


@pytest.fixture(scope="module")
def named() -> set[str]:
    sources = (path for path in TESTS.rglob("*.py") if path != Path(__file__))
    return {number for path in sources for number in re.findall(r"\bB\d\d\b", path.read_text())}


@pytest.mark.parametrize("number", CASES)
def test_a_test_names_the_case(number: str, named: set[str]) -> None:
    assert number in named, CASES[number]


def test_every_number_in_a_test_is_a_case(named: set[str]) -> None:
    assert named <= CASES.keys()
