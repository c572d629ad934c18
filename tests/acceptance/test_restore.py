"""The drill of RUNBOOK.md, "Restoring the tables": back to an instant, a look at what would misfire, and the release.

What is restored from belongs to everybody's stack, and is only read. The node on the restored tables is this file's
own, with queues of its own, so that nobody else runs what it dispatches.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from functions.scheduler.recovery import __main__ as recovery
from functions.scheduler.recovery.forecast import Forecast
from functions.scheduler.recovery.restoring import targets_of
from functions.scheduler.recovery.wiring import Reach, reach
from localstack import endpoints, processes
from localstack.environment import scrubbed
from localstack.keys import issue_key
from localstack.running import Stack, services_of
from localstack.supervisor import read_wanted
from shared.config import queue_variable, table_variable
from shared.domain.message import Dispatch, decode
from shared.domain.run import RunKind
from shared.schema import LANES
from tests.acceptance.raw import RawClient
from tests.acceptance.waiting import RUN, unique, wait_for
from tests.acceptance.workload import sleep
from tests.emulator import aws_environment

pytestmark = [pytest.mark.stack, pytest.mark.timeout(180)]

DATA_STACK = "Carillon-local-data"
PREFIX = f"drill-{RUN}"
OWNER = f"drill-{RUN}"
ECHO = {"type": "handler", "name": "echo"}
SECOND = {"every": "PT1S"}
JOBS: dict[str, dict[str, Any]] = {
    "fire-once": {"schedule": SECOND, "misfire": {"policy": "fire_once", "grace": "PT2S"}},
    "fire-all": {"schedule": SECOND, "misfire": {"policy": "fire_all", "grace": "PT2S", "limit": 4}},
    "skip": {"schedule": SECOND, "misfire": {"policy": "skip", "grace": "PT2S"}},
    "once": {"schedule": {"in": "PT8S"}},
    "far-away": {"schedule": {"in": "PT24H"}},
}
#: All slots of it are older than the grace by more than one.
OUTAGE_SECONDS = 9.0


@dataclass
class Drill:
    """The restored tables, and a node on them. `ids` are those of `JOBS` by their names there."""

    stack: Stack
    ids: dict[str, str]
    reached: Reach
    node: processes.Running
    queues: dict[str, str]
    said: str

    def forecast(self) -> dict[str, Forecast]:
        """What is due of the drill's own jobs, by name."""
        found = {each.entry.job_key.partition("/")[2]: each for each in recovery.misfires(self.reached).found}
        return {name: found[job_id] for name, job_id in self.ids.items() if job_id in found}

    def dispatched(self) -> list[Dispatch]:
        """What the node has sent since it was last asked, of the drill's own jobs."""
        mine = {f"{OWNER}/{job_id}" for job_id in self.ids.values()}
        sent: list[Dispatch] = []
        with closing(endpoints.sqs(self.stack.endpoint)) as sqs:
            for url in self.queues.values():
                while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
                    sent += [decode(message["Body"]) for message in messages]
        return [each for each in sent if each.job_key in mine]


@pytest.fixture(scope="module")
def drill(stack: Stack) -> Iterator[Drill]:
    """The jobs have fired, the tables are restored, an outage goes by, and a node has taken the restored shards."""
    key = issue_key(stack.endpoint, stack.outputs["AccessTable"], owner_id=OWNER)
    caller = RawClient(stack.api_url, key)
    ids = {name: unique(name) for name in JOBS}
    for name, document in JOBS.items():
        answer = caller.post("/v1/jobs", {"job_id": ids[name], "target": ECHO, **document})
        assert answer.status == 201, answer.body
    for name in ("fire-once", "fire-all", "skip"):
        wait_for(
            lambda name=name: caller.get(f"/v1/jobs/{ids[name]}/runs").body["items"],  # type: ignore[misc]
            seconds=20,
            what=f"{name} fires",
        )
    with aws_environment(stack.endpoint), pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr(recovery, "_say", said.append)
        assert recovery.main(["restore", "--stack", DATA_STACK, "--prefix", PREFIX]) == 0
        reached = reach(targets_of(PREFIX))
    # In the tables that were lost they are of no use any more.
    for job_id in ids.values():
        caller.delete(f"/v1/jobs/{job_id}")
    queues = _queues(stack)
    node = _start_node(stack, queues)
    try:
        wait_for(
            lambda: _is_owned(reached),
            seconds=20,
            what="the node owns every shard of the restored fleet",
        )
        sleep(OUTAGE_SECONDS)
        yield Drill(stack, ids, reached, node, queues, "\n".join(said))
    finally:
        processes.stop([node], grace_seconds=20)
        _remove(stack, queues)


def _is_owned(reached: Reach) -> bool:
    snapshot = reached.fleet.snapshot()
    return all(lease.owner in snapshot.nodes for lease in snapshot.leases.values())


def _queues(stack: Stack) -> dict[str, str]:
    with closing(endpoints.sqs(stack.endpoint)) as sqs:
        return {lane: sqs.create_queue(QueueName=f"{PREFIX}-{lane}")["QueueUrl"] for lane in LANES}


def _start_node(stack: Stack, queues: dict[str, str]) -> processes.Running:
    """As the deployed definition has it, but for its tables and queues."""
    with closing(endpoints.ecs(stack.endpoint)) as ecs:
        cluster, services = stack.outputs["ClusterName"], services_of(stack.outputs)
        specs = read_wanted(ecs, cluster=cluster, services=services, endpoint=stack.endpoint)
    spec = next(each for each in specs if each.service == "scheduler")
    own = {table_variable(name): physical for name, physical in targets_of(PREFIX).items()}
    own |= {queue_variable(lane): url for lane, url in queues.items()}
    return processes.start(
        "restored-node",
        [sys.executable, *spec.command[1:]],
        environ={**scrubbed(os.environ, endpoint=stack.endpoint), **dict(spec.environ), **own},
        folder=stack.workspace.subfolder("tasks"),
        log=stack.workspace.log("restored-node"),
    )


def _remove(stack: Stack, queues: dict[str, str]) -> None:
    with closing(endpoints.dynamodb(stack.endpoint)) as dynamodb, closing(endpoints.sqs(stack.endpoint)) as sqs:
        for table in targets_of(PREFIX).values():
            dynamodb.delete_table(TableName=table)
        for url in queues.values():
            sqs.delete_queue(QueueUrl=url)


def test_restored_tables_are_complete_and_the_brake_is_on(drill: Drill) -> None:
    with closing(endpoints.dynamodb(drill.stack.endpoint)) as dynamodb:
        for name, table in targets_of(PREFIX).items():
            backups = dynamodb.describe_continuous_backups(TableName=table)["ContinuousBackupsDescription"]
            assert backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED", name
        ttl = dynamodb.describe_time_to_live(TableName=f"{PREFIX}-job_runs")["TimeToLiveDescription"]
    assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "expires_at")
    assert not drill.reached.fleet.snapshot().control.is_firing
    assert f'"job_runs": "{PREFIX}-job_runs"' in drill.said


def test_what_would_misfire_is_listed_and_is_what_happens_after_the_release(drill: Drill) -> None:
    with aws_environment(drill.stack.endpoint), pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr(recovery, "_say", said.append)
        assert recovery.main(["misfires", "--prefix", PREFIX, "--first", "1000"]) == 0
    assert said[0].startswith("firing is off")
    assert said[1].split() == ["policy", "jobs", "slots", "fired", "caught", "up", "skipped"]
    listed = {name: [line for line in said if f"/{job_id}" in line] for name, job_id in drill.ids.items()}
    assert {name for name, lines in listed.items() if lines} == {"fire-once", "fire-all", "skip", "once"}
    assert drill.dispatched() == []

    told = drill.forecast()
    drill.reached.fleet.set_firing(is_firing=True)
    sent = wait_for(drill.dispatched, seconds=10, what="the node fires")
    sleep(2)
    sent += drill.dispatched()

    def caught_up(name: str) -> int:
        mine = [each for each in sent if each.job_key == f"{OWNER}/{drill.ids[name]}"]
        return sum(each.kind is RunKind.CATCH_UP for each in mine)

    assert [told[name].caught_up for name in ("fire-once", "fire-all", "skip")] == [1, 4, 0]
    assert [caught_up(name) for name in ("fire-once", "fire-all", "skip")] == [1, 4, 0]
    assert all(told[name].skipped > 0 for name in ("fire-once", "fire-all", "skip"))
    assert (told["once"].fired, told["once"].policy) == (1, "once")
    assert [each.job_key for each in sent].count(f"{OWNER}/{drill.ids['once']}") == 1
    assert not [each for each in sent if drill.ids["far-away"] in each.job_key]
