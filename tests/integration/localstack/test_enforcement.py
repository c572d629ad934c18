"""The emulator with TLS and roles enforced: it answers whoever trusts it, and a role may do what its policy says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from localstack import emulator, endpoints, processes, roles
from localstack.certificate import certificate_in, trusting
from localstack.environment import ACCOUNT, REGION, TRUSTED
from localstack.workspace import Workspace

pytestmark = pytest.mark.emulator

TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ecs-tasks.amazonaws.com"}}
ALLOWED = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": f"arn:aws:sqs:{REGION}:{ACCOUNT}:allowed"}


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    workspace = Workspace(tmp_path_factory.mktemp("enforcing"))
    made, port = certificate_in(workspace.folder), emulator.free_port(0)
    with trusting(made):
        process = emulator.launch(workspace, port, certificate=made)
        try:
            emulator.wait_until_ready(process, workspace, port, has_tls=True)
            yield emulator.endpoint_of(port, has_tls=True)
        finally:
            assert processes.stop([process], grace_seconds=emulator.GRACE_SECONDS) == []


def under_role(endpoint: str, *statements: dict[str, Any]) -> Any:
    """A client of SQS with the credentials of a new role."""
    iam = endpoints.client("iam", endpoint=endpoint)
    name = f"role-{len(iam.list_roles()['Roles'])}"
    document = json.dumps({"Version": "2012-10-17", "Statement": [TRUST]})
    arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=policy)
    given = {key.lower(): value for key, value in roles.assume(endpoint, arn).items()}
    session = boto3.session.Session(region_name=REGION, **given)  # type: ignore[arg-type]
    return session.client("sqs", endpoint_url=endpoint, verify=os.environ[TRUSTED])


def test_a_role_sends_where_its_policy_says_and_nowhere_else(endpoint: str) -> None:
    queues = {name: endpoints.sqs(endpoint).create_queue(QueueName=name)["QueueUrl"] for name in ("allowed", "other")}
    sqs = under_role(endpoint, ALLOWED)

    assert sqs.send_message(QueueUrl=queues["allowed"], MessageBody="x")["MessageId"]
    for url in queues.values():
        with pytest.raises(ClientError, match="AccessDenied"):
            sqs.receive_message(QueueUrl=url)
    with pytest.raises(ClientError, match="AccessDenied"):
        sqs.send_message(QueueUrl=queues["other"], MessageBody="x")


def test_a_batch_is_allowed_only_by_what_is_added_for_the_emulator(endpoint: str) -> None:
    url = endpoints.sqs(endpoint).create_queue(QueueName="allowed")["QueueUrl"]
    batch = [{"Id": "1", "MessageBody": "x"}]
    with pytest.raises(ClientError, match="AccessDenied"):
        under_role(endpoint, ALLOWED).send_message_batch(QueueUrl=url, Entries=batch)

    added = roles.with_batches({"Statement": [ALLOWED]})
    assert under_role(endpoint, ALLOWED, *added).send_message_batch(QueueUrl=url, Entries=batch)["Successful"]


def test_who_does_not_trust_its_certificate_does_not_talk_to_it(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert emulator.is_healthy(endpoint)
    monkeypatch.delenv(TRUSTED)
    assert not emulator.is_healthy(endpoint)
