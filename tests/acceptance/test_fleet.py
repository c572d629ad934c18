"""The fleet under fire: a node is killed while its jobs are due."""

from __future__ import annotations

import os
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from carillon.client import Client, Run, at
from localstack.receiver import Receiver
from localstack.stack import Stack
from tests.acceptance.waiting import in_seconds, unique, wait_for

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

JOBS = 200
SPREAD_SECONDS = 20.0


def test_killing_one_of_two_nodes_loses_no_job_and_repeats_none(
    stack: Stack, client: Client, webhook: Receiver
) -> None:
    stack.wait_for_tasks("scheduler", 2)
    ids = [unique("killed") for _ in range(JOBS)]

    def create(number: int) -> None:
        schedule = at(in_seconds(8 + SPREAD_SECONDS * number / JOBS))
        client.create_job(job_id=ids[number], schedule=schedule, target={"type": "http", "url": webhook.url})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(JOBS)))
    assert webhook.wait_for(lambda requests: len(requests) >= JOBS // 4, timeout_seconds=60)
    os.kill(stack.tasks()["scheduler-0"].pid, signal.SIGKILL)

    assert webhook.wait_for(lambda requests: len(requests) >= JOBS, timeout_seconds=90)
    runs = wait_for(lambda: all_ended(client, ids), seconds=30, what="every run has ended")
    assert Counter(run["status"] for run in runs) == {"succeeded": JOBS}
    assert Counter(run["attempt"] for run in runs) == {1: JOBS}
    per_run = Counter(request.headers["webhook-id"] for request in webhook.requests)
    assert len(per_run) == JOBS
    assert set(per_run.values()) == {1}
    stack.wait_for_tasks("scheduler", 2)


def all_ended(client: Client, ids: list[str]) -> list[Run] | None:
    with ThreadPoolExecutor(8) as pool:
        runs = list(chain.from_iterable(pool.map(client.runs, ids)))
    return runs if len(runs) == len(ids) and all(run["ended_at"] for run in runs) else None
