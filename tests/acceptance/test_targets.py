"""Each kind of target reaches a real counterpart of the local stack, and none without a grant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from standardwebhooks import Webhook

from carillon.client import Client, Run, every, in_
from carillon.client.errors import InvalidRequest
from localstack import endpoints
from localstack.receiver import Receiver
from localstack.stack import Stack
from tests.acceptance.waiting import unique, wait_for
from tests.counterparts import Counterparts

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

PAYLOAD = {"run": "{{run_id}}", "token": "{{fencing_token}}", "text": "日本語 🚀"}


@pytest.fixture
def counterparts(stack: Stack) -> Counterparts:
    return Counterparts(lambda service: endpoints.client(service, endpoint=stack.endpoint), unique("target"))


def aws(service: str, operation: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "aws", "service": service, "operation": operation, "parameters": parameters}


def refused(client: Client, target: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidRequest, match="no grant of type") as caught:
        client.create_job(schedule=in_("PT2S"), target=target)
    assert [error.pointer for error in caught.value.errors] == [pointer]


def run_once(client: Client, target: dict[str, Any], payload: Any = PAYLOAD) -> Run:
    """The run of a job that fires at once, when it has ended."""
    job = client.create_job(
        job_id=unique("target"), schedule=in_("PT2S"), target=target, payload=payload, retry={"max_attempts": 1}
    )
    return client.wait_for_run(job["job_id"], timeout=30)


def output_of(run: Run) -> str:
    assert run["output"] is not None
    return run["output"]


def succeeded(run: Run, completion: str) -> Run:
    assert (run["status"], run["completion"]) == ("succeeded", completion), run
    return run


def filled(run: Run) -> dict[str, Any]:
    return {"run": run["run_id"], "token": str(run["fencing_token"]), "text": PAYLOAD["text"]}


def test_a_webhook_is_signed_by_each_live_key(client: Client, webhook: Receiver) -> None:
    keys = [client.create_signing_key() for _ in range(2)]
    try:
        url = f"{webhook.url}/at/{{{{slot}}}}?run={{{{run_id}}}}"
        target = {"type": "http", "url": url, "headers": {"X-Job": "{{job_id}}"}}

        def signed_run() -> Run | None:
            run = succeeded(run_once(client, target), "done")
            return run if "webhook-signature" in webhook.requests[-1].headers else None

        run = wait_for(signed_run, seconds=60, what="the worker, who remembers that there was no key, reads again")
    finally:
        for key in keys:
            client.delete_signing_key(key["key_id"])

    received = webhook.requests[-1]
    for key in keys:
        assert Webhook(key["secret"]).verify(received.content, received.headers) == filled(run)
    assert received.path == f"/at/{run['slot'].replace(':', '%3A')}?run={run['run_id']}"
    assert received.headers["x-job"] == run["job_id"]


def test_a_webhook_carries_a_secret_that_no_job_holds(
    client: Client, webhook: Receiver, counterparts: Counterparts
) -> None:
    arn = counterparts.secret("t0ken")
    target = {"type": "http", "url": webhook.url, "auth": {"secret_ref": arn}}
    refused(client, target, "#/target/auth/secret_ref")

    client.create_grant(target_type="secret", resource=arn, hosts=["any"])
    run = succeeded(run_once(client, target), "done")

    assert webhook.requests[0].headers["authorization"] == "Bearer t0ken"
    assert "t0ken" not in json.dumps([run, client.get_job(run["job_id"])])


def test_a_receiver_that_answers_410_pauses_its_job(client: Client, webhook: Receiver) -> None:
    webhook.status = 410
    job_id = unique("gone")
    client.create_job(job_id=job_id, schedule=every("PT2S"), target={"type": "http", "url": webhook.url})

    shown = wait_for(
        lambda: job if (job := client.get_job(job_id))["state"] == "paused" else None,
        seconds=30,
        what="the job is paused",
    )

    assert "410" in str(shown["state_reason"])
    assert (shown["updated_by"], shown["next_slots"]) == ("carillon:410", [])
    webhook.status = 200
    resumed = client.resume(job_id)
    assert (resumed["state"], resumed["state_reason"]) == ("active", None)
    client.delete_job(job_id)


def test_a_function_answers_or_accepts(client: Client, counterparts: Counterparts) -> None:
    arn = counterparts.function()
    target = {"type": "lambda", "function_arn": arn}
    refused(client, target, "#/target/function_arn")

    client.create_grant(target_type="lambda", resource=arn)
    answered = succeeded(run_once(client, target), "done")
    succeeded(run_once(client, {**target, "invocation": "async"}), "accepted")
    raised = run_once(client, target, {"raise": "missing"})

    assert json.loads(output_of(answered)) == {"heard": filled(answered)}
    assert (raised["status"], raised["error"] and raised["error"]["message"]) == ("failed", "'missing'")


def test_a_message_reaches_a_queue(client: Client, counterparts: Counterparts) -> None:
    url = counterparts.queue()
    target = aws("sqs", "SendMessage", QueueUrl=url)
    refused(client, target, "#/target/parameters/QueueUrl")

    client.create_grant(target_type="aws", resource=f"arn:aws:sqs:us-east-1:000000000000:{counterparts.prefix}-*")
    run = succeeded(run_once(client, target), "accepted")

    assert run["output"]
    assert [json.loads(body) for body in counterparts.messages(url)] == [filled(run)]


def test_a_message_reaches_a_topic(client: Client, counterparts: Counterparts) -> None:
    url = counterparts.queue()
    arn = counterparts.topic(url)
    client.create_grant(target_type="aws", resource=arn)

    run = succeeded(run_once(client, aws("sns", "Publish", TopicArn=arn, Subject="{{job_id}}")), "accepted")

    assert [json.loads(body) for body in counterparts.messages(url)] == [filled(run)]


def test_an_event_reaches_a_bus(client: Client, counterparts: Counterparts) -> None:
    url = counterparts.queue()
    arn = counterparts.bus(url)
    client.create_grant(target_type="aws", resource=arn)
    entry = {"EventBusName": arn, "Source": "carillon.test", "DetailType": "{{job_id}}"}

    run = succeeded(run_once(client, aws("events", "PutEvents", Entries=[entry])), "accepted")

    (event,) = map(json.loads, counterparts.messages(url))
    assert (event["id"], event["detail-type"], event["detail"]) == (run["output"], run["job_id"], filled(run))


def test_an_execution_is_started(client: Client, counterparts: Counterparts) -> None:
    arn = counterparts.state_machine()
    client.create_grant(target_type="aws", resource=arn)

    target = aws("states", "StartExecution", stateMachineArn=arn, name="{{run_id}}")
    run = succeeded(run_once(client, target), "accepted")

    execution = counterparts.client("stepfunctions").describe_execution(executionArn=output_of(run))
    assert (execution["name"], json.loads(execution["input"])) == (run["run_id"], filled(run))


def test_a_task_is_run(client: Client, counterparts: Counterparts) -> None:
    cluster, definition = counterparts.task_definition()
    target = aws("ecs", "RunTask", cluster=cluster, taskDefinition=definition, startedBy="{{run_id}}")
    client.create_grant(target_type="aws", resource=cluster)
    refused(client, target, "#/target/parameters/taskDefinition")

    client.create_grant(target_type="aws", resource=definition)
    run = succeeded(run_once(client, target), "accepted")

    (task,) = counterparts.client("ecs").describe_tasks(cluster=cluster, tasks=[output_of(run)])["tasks"]
    assert task["startedBy"] == run["run_id"]


def test_a_grant_that_is_taken_back_ends_what_it_allowed(client: Client, counterparts: Counterparts) -> None:
    url = counterparts.queue()
    arn = f"arn:aws:sqs:us-east-1:000000000000:{url.rpartition('/')[2]}"
    granted = client.create_grant(target_type="aws", resource=arn)
    target = aws("sqs", "SendMessage", QueueUrl=url)
    job = client.create_job(job_id=unique("revoked"), schedule=in_("PT2S"), target=target)
    client.delete_grant(granted["grant_id"])

    refused(client, target, "#/target/parameters/QueueUrl")
    client.delete_job(job["job_id"])


def test_nothing_of_carillons_own_is_ever_granted(stack: Stack, client: Client) -> None:
    queue = stack.outputs["DefaultQueueUrl"].rpartition("/")[2]
    for resource in (
        f"arn:aws:sqs:us-east-1:000000000000:{queue}",
        f"arn:aws:sqs:us-east-1:000000000000:{queue[:-4]}*",
        f"arn:aws:dynamodb:us-east-1:000000000000:table/{stack.outputs['AccessTable']}",
    ):
        with pytest.raises(InvalidRequest, match="never granted"):
            client.create_grant(target_type="aws", resource=resource)
