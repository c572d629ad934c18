"""A worker behind a proxy that carries its calls out and loses the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from functions.worker.executor import Executor
from functions.worker.settings import WorkerSettings
from functions.worker.targets import Call, Outcome, Targets, succeeded
from localstack.faults import Faults, Rule, faults
from localstack.workspace import Workspace
from shared.adapters.aws.calls import Calls
from shared.adapters.aws.client import dynamodb_client, sqs_client
from shared.adapters.dynamodb import DynamoJobStore, DynamoRunStore
from shared.adapters.sqs import SqsDueQueue
from shared.adapters.system import SystemClock, SystemRandomness
from shared.domain.entry import entry_of
from shared.domain.keys import run_id_of
from shared.domain.message import Dispatch
from shared.domain.run import RunStatus
from shared.domain.schedules import At
from shared.ports import JobWrite
from tests.contract.values import make_job
from tests.emulator import aws_environment

if TYPE_CHECKING:
    from shared.config import TableNames

pytestmark = [pytest.mark.emulator, pytest.mark.timeout(120)]

CLAIM, FINISH = "INSERT", "UPDATE"


@pytest.fixture(scope="module")
def proxy(emulator_endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(Workspace(Path(tmp_path_factory.mktemp("proxy"))), emulator_endpoint) as running:
        yield running


@pytest.fixture
def clients(proxy: Faults) -> Iterator[tuple[Any, Any]]:
    with aws_environment(proxy.endpoint):
        made = dynamodb_client(), sqs_client()
    yield made
    proxy.stop()
    for client in made:
        client.close()


def lost(statement: str) -> Rule:
    """Once, the answer of a batch of such statements."""
    return {
        "service": "dynamodb",
        "operation": "BatchExecuteStatement",
        "body": f"Statements[?starts_with(Statement, '{statement}')]",
        "times": 1,
        "response": {"abort_bytes": 0},
    }


class Counted:
    def __init__(self) -> None:
        self.tokens: list[int] = []

    def call(self, call: Call) -> Outcome:
        self.tokens.append(call.token)
        return succeeded("done")


@pytest.mark.parametrize("after", [[CLAIM], [FINISH], [CLAIM, FINISH]], ids="+".join)
def test_a_reply_that_is_lost_after_claim_or_finish_costs_no_attempt(
    proxy: Faults, clients: tuple[Any, Any], tables: TableNames, queue_url: str, after: list[str]
) -> None:
    dynamodb, sqs = clients
    clock, dice = SystemClock(), SystemRandomness()
    calls = Calls(clock, dice)
    runs, jobs = DynamoRunStore(dynamodb, tables, calls), DynamoJobStore(dynamodb, tables, calls)
    queue, target = SqsDueQueue(sqs, queue_url, calls), Counted()
    slot = clock.now()
    job = make_job(
        schedule=At(instant=slot), target={"type": "counted"}, generation=slot, from_at=slot, created_at=slot
    )
    jobs.write(JobWrite(job=job, previous=None, put_entry=entry_of(job, shard_count=1)))
    dispatch = Dispatch(job.job_key, job.generation, slot, slot, run_id_of(slot), 0, 1, slot)
    queue.send([dispatch])
    worker = Executor(
        queue=queue,
        run_store=runs,
        job_store=jobs,
        targets=Targets({"counted": target}),
        clock=clock,
        randomness=dice,
        settings=WorkerSettings(),
        worker_id="worker",
    )

    proxy.make(*map(lost, after))
    worker.claim_once(queue.receive(limit=10, wait_seconds=5, visibility_seconds=30))
    for live in worker.start_due_once():
        worker.execute(live)
    while worker.finish_once():
        pass

    assert proxy.made() == len(after)
    run = runs.get(dispatch.key)
    assert run is not None
    assert (run.status, run.attempt, run.token, len(run.attempts)) == (RunStatus.SUCCEEDED, 1, 1, 1)
    assert target.tokens == [1]
    assert queue.receive(limit=10, wait_seconds=0, visibility_seconds=0) == []
