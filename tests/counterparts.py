"""Real counterparts of targets in the emulator: what a job calls, and where it shows that it was called."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ACCOUNT, REGION = "000000000000", "us-east-1"
ROLE_ARN = f"arn:aws:iam::{ACCOUNT}:role/counterpart"

_FUNCTION = """
def handler(event, context):
    if "raise" in event:
        raise KeyError(event["raise"])
    return {"heard": event}
"""
_MACHINE = {"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}


@dataclass(frozen=True)
class Counterparts:
    """Makes them, with clients that the caller provides; names begin with `prefix`."""

    client: Callable[[str], Any]
    prefix: str

    def queue(self, name: str = "queue") -> str:
        """Its URL."""
        url: str = self.client("sqs").create_queue(QueueName=f"{self.prefix}-{name}")["QueueUrl"]
        return url

    def messages(self, queue_url: str, *, wait_seconds: int = 10) -> list[str]:
        """The bodies of what arrives first."""
        answer = self.client("sqs").receive_message(
            QueueUrl=queue_url, WaitTimeSeconds=wait_seconds, MaxNumberOfMessages=10
        )
        return [message["Body"] for message in answer.get("Messages", [])]

    def topic(self, queue_url: str) -> str:
        """The ARN of a topic whose messages go to the queue as they are."""
        sns = self.client("sns")
        arn: str = sns.create_topic(Name=f"{self.prefix}-topic")["TopicArn"]
        sns.subscribe(
            TopicArn=arn, Protocol="sqs", Endpoint=queue_arn(queue_url), Attributes={"RawMessageDelivery": "true"}
        )
        return arn

    def bus(self, queue_url: str) -> str:
        """The ARN of a bus whose events of source `carillon.test` go to the queue."""
        events = self.client("events")
        name = f"{self.prefix}-bus"
        arn: str = events.create_event_bus(Name=name)["EventBusArn"]
        events.put_rule(Name="all", EventBusName=name, EventPattern=json.dumps({"source": ["carillon.test"]}))
        events.put_targets(Rule="all", EventBusName=name, Targets=[{"Id": "queue", "Arn": queue_arn(queue_url)}])
        return arn

    def state_machine(self) -> str:
        arn: str = self.client("stepfunctions").create_state_machine(
            name=f"{self.prefix}-machine", definition=json.dumps(_MACHINE), roleArn=ROLE_ARN
        )["stateMachineArn"]
        return arn

    def task_definition(self) -> tuple[str, str]:
        """The ARNs of a cluster and of a task definition."""
        ecs = self.client("ecs")
        cluster: str = ecs.create_cluster(clusterName=f"{self.prefix}-cluster")["cluster"]["clusterArn"]
        definition: str = ecs.register_task_definition(
            family=f"{self.prefix}-task", containerDefinitions=[{"name": "main", "image": "scratch", "memory": 64}]
        )["taskDefinition"]["taskDefinitionArn"]
        return cluster, definition

    def function(self) -> str:
        """The ARN of a function that answers with its event, and raises KeyError when that says so."""
        code = io.BytesIO()
        with zipfile.ZipFile(code, "w") as archive:
            archive.writestr("echo.py", _FUNCTION)
        arn: str = self.client("lambda").create_function(
            FunctionName=f"{self.prefix}-echo",
            Runtime="python3.13",
            Role=ROLE_ARN,
            Handler="echo.handler",
            Code={"ZipFile": code.getvalue()},
        )["FunctionArn"]
        return arn

    def secret(self, text: str) -> str:
        """The ARN of a secret."""
        arn: str = self.client("secretsmanager").create_secret(Name=f"{self.prefix}-secret", SecretString=text)["ARN"]
        return arn


def queue_arn(queue_url: str) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue_url.rpartition('/')[2]}"
