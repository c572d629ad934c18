"""Each kind of target reaches a real counterpart of the local stack, and none without a grant."""

from __future__ import annotations

import json
from typing import Any

import pytest
from standardwebhooks import Webhook

from localstack import endpoints
from localstack.client import Client
from localstack.receiver import Receiver
from localstack.stack import Stack
from tests.acceptance.waiting import unique, wait_for
from tests.counterparts import Counterparts

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

PAYLOAD = {"run": "{{run_id}}", "token": "{{fencing_token}}", "text": "日本語 🚀"}


@pytest.fixture
def counterparts(stack: Stack) -> Counterparts:
    return Counterparts(lambda service: endpoints.client(service, endpoint=stack.endpoint), unique("target"))


def grant(client: Client, target_type: str, *resources: str) -> None:
    for resource in resources:
        answer = client.post("/v1/grants", {"target_type": target_type, "resource": resource})
        assert answer.status == 201, answer.body


def aws(service: str, operation: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "aws", "service": service, "operation": operation, "parameters": parameters}


def refused(client: Client, target: dict[str, Any], pointer: str) -> None:
    answer = client.post("/v1/jobs", {"schedule": {"in": "PT2S"}, "target": target})
    assert answer.status == 400, answer.body
    assert [problem["pointer"] for problem in answer.body["errors"]] == [pointer]
    assert "no grant of type" in answer.body["detail"]


def run_once(client: Client, target: dict[str, Any], payload: Any = PAYLOAD, **members: Any) -> dict[str, Any]:
    """The run of a job that fires at once, when it has ended."""
    document = {
        "job_id": unique("target"),
        "schedule": {"in": "PT2S"},
        "target": target,
        "payload": payload,
        "retry": {"max_attempts": 1},
        **members,
    }
    answer = client.post("/v1/jobs", document)
    assert answer.status == 201, answer.body
    return wait_for(
        lambda: next((run for run in client.runs(document["job_id"]) if run["ended_at"] is not None), None),
        seconds=30,
        what=f"the run of {target} ends",
    )


def succeeded(run: dict[str, Any], completion: str) -> dict[str, Any]:
    assert (run["status"], run["completion"]) == ("succeeded", completion), run
    return run


def filled(run: dict[str, Any]) -> dict[str, Any]:
    return {"run": run["run_id"], "token": str(run["fencing_token"]), "text": PAYLOAD["text"]}


def test_a_webhook_is_signed_by_each_live_key(client: Client, webhook: Receiver) -> None:
    keys = [client.post("/v1/signing-keys", {}).body for _ in range(2)]
    try:
        url = f"{webhook.url}/at/{{{{slot}}}}?run={{{{run_id}}}}"
        target = {"type": "http", "url": url, "headers": {"X-Job": "{{job_id}}"}}

        def signed_run() -> dict[str, Any] | None:
            run = succeeded(run_once(client, target), "done")
            return run if "webhook-signature" in webhook.requests[-1].headers else None

        run = wait_for(signed_run, seconds=60, what="the worker, who remembers that there was no key, reads again")
    finally:
        for key in keys:
            assert client.delete(f"/v1/signing-keys/{key['key_id']}").status == 200

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

    grant(client, "secret", arn)
    run = succeeded(run_once(client, target), "done")

    assert webhook.requests[0].headers["authorization"] == "Bearer t0ken"
    assert "t0ken" not in json.dumps([run, client.get(f"/v1/jobs/{run['job_id']}").body])


def test_a_receiver_that_answers_410_pauses_its_job(client: Client, webhook: Receiver) -> None:
    webhook.status = 410
    job_id = unique("gone")
    document = {
        "job_id": job_id,
        "schedule": {"every": "PT2S"},
        "target": {"type": "http", "url": webhook.url},
    }
    assert client.post("/v1/jobs", document).status == 201

    shown = wait_for(
        lambda: (body := client.get(f"/v1/jobs/{job_id}").body)["state"] == "paused" and body,
        seconds=30,
        what="the job is paused",
    )

    assert "410" in shown["state_reason"]
    assert (shown["updated_by"], shown["next_slots"]) == ("carillon:410", [])
    webhook.status = 200
    resumed = client.post(f"/v1/jobs/{job_id}/resume", {}).body
    assert (resumed["state"], resumed["state_reason"]) == ("active", None)
    client.delete(f"/v1/jobs/{job_id}")


def test_a_function_answers_or_accepts(client: Client, counterparts: Counterparts) -> None:
    arn = counterparts.function()
    target = {"type": "lambda", "function_arn": arn}
    refused(client, target, "#/target/function_arn")

    grant(client, "lambda", arn)
    answered = succeeded(run_once(client, target), "done")
    succeeded(run_once(client, {**target, "invocation": "async"}), "accepted")
    raised = run_once(client, target, {"raise": "missing"})

    assert json.loads(answered["output"]) == {"heard": filled(answered)}
    assert (raised["status"], raised["error"]["message"]) == ("failed", "'missing'")


def test_a_message_reaches_a_queue(client: Client, counterparts: Counterparts) -> None:
    url = counterparts.queue()
    target = aws("sqs", "SendMessage", QueueUrl=url)
    refused(client, target, "#/target/parameters/QueueUrl")

    grant(client, "aws", f"arn:aws:sqs:us-east-1:000000000000:{counterparts.prefix}-*")
    run = succeeded(run_once(client, target), "accepted")

    assert run["output"]
    assert [json.loads(body) for body in counterparts.messages(url)] == [filled(run)]


def test_a_message_reaches_a_topic(client: Client, counterparts: Counterparts) -> None:
    url = counterparts.queue()
    arn = counterparts.topic(url)
    grant(client, "aws", arn)

    run = succeeded(run_once(client, aws("sns", "Publish", TopicArn=arn, Subject="{{job_id}}")), "accepted")

    assert [json.loads(body) for body in counterparts.messages(url)] == [filled(run)]


def test_an_event_reaches_a_bus(client: Client, counterparts: Counterparts) -> None:
    url = counterparts.queue()
    arn = counterparts.bus(url)
    grant(client, "aws", arn)
    entry = {"EventBusName": arn, "Source": "carillon.test", "DetailType": "{{job_id}}"}

    run = succeeded(run_once(client, aws("events", "PutEvents", Entries=[entry])), "accepted")

    (event,) = map(json.loads, counterparts.messages(url))
    assert (event["id"], event["detail-type"], event["detail"]) == (run["output"], run["job_id"], filled(run))


def test_an_execution_is_started(client: Client, counterparts: Counterparts) -> None:
    arn = counterparts.state_machine()
    grant(client, "aws", arn)

    target = aws("states", "StartExecution", stateMachineArn=arn, name="{{run_id}}")
    run = succeeded(run_once(client, target), "accepted")

    execution = counterparts.client("stepfunctions").describe_execution(executionArn=run["output"])
    assert (execution["name"], json.loads(execution["input"])) == (run["run_id"], filled(run))


def test_a_task_is_run(client: Client, counterparts: Counterparts) -> None:
    cluster, definition = counterparts.task_definition()
    target = aws("ecs", "RunTask", cluster=cluster, taskDefinition=definition, startedBy="{{run_id}}")
    grant(client, "aws", cluster)
    refused(client, target, "#/target/parameters/taskDefinition")

    grant(client, "aws", definition)
    run = succeeded(run_once(client, target), "accepted")

    (task,) = counterparts.client("ecs").describe_tasks(cluster=cluster, tasks=[run["output"]])["tasks"]
    assert task["startedBy"] == run["run_id"]


def test_a_grant_that_is_taken_back_ends_what_it_allowed(client: Client, counterparts: Counterparts) -> None:
    url = counterparts.queue()
    arn = f"arn:aws:sqs:us-east-1:000000000000:{url.rpartition('/')[2]}"
    grant_id = client.post("/v1/grants", {"target_type": "aws", "resource": arn}).body["grant_id"]
    answer = client.post(
        "/v1/jobs",
        {"job_id": unique("revoked"), "schedule": {"in": "PT2S"}, "target": aws("sqs", "SendMessage", QueueUrl=url)},
    )
    assert answer.status == 201
    assert client.delete(f"/v1/grants/{grant_id}").status == 200

    refused(client, aws("sqs", "SendMessage", QueueUrl=url), "#/target/parameters/QueueUrl")
    client.delete(f"/v1/jobs/{answer.body['job_id']}")


def test_nothing_of_carillons_own_is_ever_granted(stack: Stack, client: Client) -> None:
    queue = stack.outputs["DefaultQueueUrl"].rpartition("/")[2]
    for resource in (
        f"arn:aws:sqs:us-east-1:000000000000:{queue}",
        f"arn:aws:sqs:us-east-1:000000000000:{queue[:-4]}*",
        f"arn:aws:dynamodb:us-east-1:000000000000:table/{stack.outputs['AccessTable']}",
    ):
        answer = client.post("/v1/grants", {"target_type": "aws", "resource": resource})
        assert answer.status == 400, answer.body
        assert "never granted" in answer.body["detail"]
