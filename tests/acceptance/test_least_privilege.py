"""Each deployable under its own role, where roles are enforced: the flow passes, and what is outside is denied.

A stack of its own, for no other enforces anything. There lane `default` is worked by Lambda and `long` by ECS, so that
both hosts of the worker run. What the emulator cannot tell apart is in `localstack.roles`: which table a PartiQL
statement is about. The templates' own tests look at that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from carillon.client import Client, Run, every, in_
from carillon.client.errors import CarillonError
from localstack import endpoints
from localstack.receiver import Receiver
from localstack.stack import Stack, Variant, borrowed
from localstack.terminal import say
from localstack.workspace import Workspace
from shared.adapters.dynamodb.entry_rows import read_entry
from shared.domain.instants import Instant
from shared.domain.keys import job_key, run_id_of
from shared.domain.message import Dispatch, encode
from shared.schema import TABLES
from tests.acceptance.deployed_roles import MAY, Call, Role, deployed_roles, outside
from tests.acceptance.waiting import moment, unique, wait_for
from tests.counterparts import ACCOUNT, REGION, ROLE_ARN, Counterparts

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

PREFIX = "privilege"
ALLOWED_QUEUE = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{PREFIX}-allowed"
FUNCTION = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:{PREFIX}-echo"
VARIANT = Variant(
    settings={
        "lanes": {"default": {"host": "lambda"}},
        "grants": [{"arn": ALLOWED_QUEUE}, {"arn": FUNCTION}],
        "handlers": {"folder": "tests/own_handlers", "modules": ["letters"]},
    },
    enforces_roles=True,
)
ECHO = {"type": "handler", "name": "echo"}
HOSTS = pytest.mark.parametrize("lane", ["default", "long"], ids=["on Lambda", "on ECS"])


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with borrowed(Workspace(Path(__file__).parents[2] / ".local" / "privilege"), say=say, variant=VARIANT) as running:
        yield running


@pytest.fixture(scope="module")
def counterparts(stack: Stack) -> Iterator[Counterparts]:
    """With one function, under a role that may do nothing."""
    made = Counterparts(lambda service: endpoints.client(service, endpoint=stack.endpoint), PREFIX)
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
    made.client("iam").create_role(
        RoleName=ROLE_ARN.rpartition("/")[2],
        AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}),
    )
    assert made.function() == FUNCTION
    yield made
    made.client("lambda").delete_function(FunctionName=FUNCTION)
    made.client("iam").delete_role(RoleName=ROLE_ARN.rpartition("/")[2])


def run_of(client: Client, lane: str, target: dict[str, Any] = ECHO, **options: Any) -> Run:
    """The run of a job that fires at once, when it has ended."""
    options = {"retry": {"max_attempts": 1}, "payload": {"from": lane}, **options}
    job = client.create_job(job_id=unique("privilege"), schedule=in_("PT1S"), target=target, lane=lane, **options)
    return client.wait_for_run(job["job_id"], timeout=30)


def to_queue(url: str) -> dict[str, Any]:
    return {"type": "aws", "service": "sqs", "operation": "SendMessage", "parameters": {"QueueUrl": url}}


@HOSTS
def test_runs_reach_their_targets_and_what_fails_is_a_dead_letter_until_it_is_redriven(
    client: Client, webhook: Receiver, counterparts: Counterparts, stack: Stack, lane: str
) -> None:
    webhook.status = 500
    failed = run_of(client, lane, {"type": "http", "url": webhook.url})
    assert failed["status"] == "failed"
    dead_letters = stack.outputs[f"{lane.title()}DeadLetterQueueUrl"]
    wait_for(
        lambda: [each for each in counterparts.messages(dead_letters, wait_seconds=0) if failed["run_id"] in each],
        seconds=10,
        what="a copy lies among the dead letters",
    )
    webhook.status = 200
    planned = [client.redrive(job_id=failed["job_id"], idempotency_key=failed["run_id"])["redriven"] for _ in range(2)]
    assert planned == [1, 1]
    wait_for(
        lambda: client.get_run(failed["job_id"], failed["run_id"])["status"] == "succeeded",
        seconds=20,
        what="the run succeeds under its id",
    )
    assert run_of(client, lane)["status"] == "succeeded"


@HOSTS
def test_a_worker_reaches_what_it_was_granted_and_nothing_else(
    client: Client, counterparts: Counterparts, lane: str
) -> None:
    allowed, other = counterparts.queue("allowed"), counterparts.queue("other")
    client.create_grant(target_type="aws", resource=f"arn:aws:sqs:{REGION}:{ACCOUNT}:{PREFIX}-*")
    client.create_grant(target_type="lambda", resource=FUNCTION)

    runs = [
        run_of(client, lane, target) for target in (to_queue(allowed), {"type": "lambda", "function_arn": FUNCTION})
    ]
    denied = run_of(client, lane, to_queue(other))

    assert [run["status"] for run in runs] == ["succeeded", "succeeded"]
    assert counterparts.messages(allowed)
    assert denied["status"] == "failed"
    assert "AccessDenied" in str(denied["error"])


@HOSTS
def test_a_handler_of_the_deployments_own_runs_in_the_worker(client: Client, lane: str) -> None:
    run = run_of(client, lane, {"type": "handler", "name": "letter"}, payload={"to": "Ada"})

    assert (run["status"], run["output"]) == ("succeeded", "Dear Ada, 1")


def test_a_recurring_job_fires_pauses_is_run_by_hand_and_ends_with_its_delete(client: Client) -> None:
    job_id = unique("privilege")
    client.create_job(job_id=job_id, schedule=every("PT1S"), target=ECHO, lane="long")
    wait_for(lambda: len(list(client.runs(job_id))) > 1, seconds=20, what="it has fired twice")
    assert client.pause(job_id)["state"] == "paused"
    assert client.resume(job_id)["state"] == "active"
    by_hand = client.run_now(job_id)
    assert client.wait_for_run(job_id, by_hand["run_id"], timeout=20)["status"] == "succeeded"
    assert client.explain(job_id)
    assert job_id in {job["job_id"] for job in client.list_jobs()}
    client.delete_job(job_id)
    assert client.get_job(job_id)["state"] == "cancelled"


def test_the_fleet_is_read_and_held_by_the_brake(client: Client) -> None:
    fleet = client.fleet()
    assert len(fleet["nodes"]) == 2
    client.set_firing(on=False)
    try:
        assert client.fleet()["firing"] is False
    finally:
        client.set_firing(on=True)


def test_what_a_queue_gave_up_is_settled(client: Client, stack: Stack) -> None:
    job = client.create_job(job_id=unique("privilege"), schedule=in_("PT1H"), target=ECHO, retry={"max_attempts": 1})
    slot = Instant(int(moment(job["next_slots"][0]).timestamp() * 1000))
    key, run_id = job_key("demo", job["job_id"]), run_id_of(slot)
    dispatch = Dispatch(key, job["generation"], slot, slot, run_id, 0, 1, slot)
    queue = endpoints.sqs(stack.endpoint)
    queue.send_message(QueueUrl=stack.outputs["UndeliveredQueueUrl"], MessageBody=encode(dispatch))

    run = client.wait_for_run(job["job_id"], run_id, timeout=30)

    assert (run["status"], run["error"] and run["error"]["type"]) == ("failed", "undelivered")


@contextmanager
def denied(stack: Stack, role: Role, *actions: str) -> Iterator[None]:
    """Meanwhile the role may not do this, whatever else allows it."""
    iam = endpoints.client("iam", endpoint=stack.endpoint)
    statement = {"Effect": "Deny", "Action": [*actions], "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName=role.name, PolicyName="denied", PolicyDocument=document)
    try:
        yield
    finally:
        iam.delete_role_policy(RoleName=role.name, PolicyName="denied")


def test_a_node_sends_under_its_role(client: Client, stack: Stack) -> None:
    with denied(stack, deployed_roles(stack)["scheduler"], "sqs:SendMessageBatch"):
        job = client.create_job(job_id=unique("privilege"), schedule=in_("PT1S"), target=ECHO, lane="long")
        wait_for(
            lambda: "dispatch.unsent" in "".join(stack.workspace.tail(f"scheduler-{each}", 50) for each in (0, 1)),
            seconds=15,
            what="a node says that its queue refuses it",
        )
        assert list(client.runs(job["job_id"])) == []
    assert client.wait_for_run(job["job_id"], timeout=20)["status"] == "succeeded"


def test_a_node_parks_what_fires_far_ahead_and_a_delete_removes_it_there(client: Client, stack: Stack) -> None:
    """A changed job is announced at once, and the node that meets it moves its entry to where it fires."""
    job_id = client.create_job(job_id=unique("privilege"), schedule=every("P1D"), target=ECHO)["job_id"]
    client.pause(job_id)
    client.resume(job_id)

    def places() -> list[bool]:
        rows = endpoints.dynamodb(stack.endpoint).scan(TableName=stack.outputs["JobSchedulesTable"])["Items"]
        entries = [read_entry(row) for row in rows if row["job_key"]["S"] == job_key("demo", job_id)]
        return [entry.key.is_parked for entry in entries if not entry.is_tombstone]

    wait_for(lambda: places() == [True], seconds=20, what="its entry is parked, and lies nowhere else")
    client.delete_job(job_id)
    assert places() == []


def test_the_api_reads_under_its_role(client: Client, stack: Stack) -> None:
    job_id = client.create_job(job_id=unique("privilege"), schedule=in_("PT1H"), target=ECHO)["job_id"]
    role = deployed_roles(stack)["functions.api.app.handler"]
    with denied(stack, role, "dynamodb:GetItem"), pytest.raises(CarillonError):
        client.get_job(job_id)
    assert client.get_job(job_id)["state"] == "active"


def test_every_role_of_the_service_is_known_here(stack: Stack) -> None:
    """Whoever adds one says in `deployed_roles.MAY` what it may do."""
    assert deployed_roles(stack).keys() == MAY.keys()


@pytest.mark.parametrize("used_by", MAY)
def test_whatever_is_outside_of_a_role_is_denied(stack: Stack, used_by: str) -> None:
    calls = list(outside(stack, deployed_roles(stack)[used_by]))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(Call.is_denied, calls))

    assert len(calls) > len(TABLES)
    assert [call.text for call, is_denied in zip(calls, answers, strict=True) if not is_denied] == []
