"""Roles where the emulator enforces them: each process gets the credentials of its own, as ECS would give it.

The emulator asks for the name of each operation, where AWS asks for the actions that a batch consists of. What a role
may do one by one it is therefore allowed in batches too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from localstack import endpoints
from localstack.verify import deployed_resources

ROLE = "AWS::IAM::Role"
POLICY_NAME = "batches-of-the-emulator"
#: By the action that AWS asks for.
BATCHES: Mapping[str, str] = {
    "sqs:SendMessage": "sqs:SendMessageBatch",
    "sqs:DeleteMessage": "sqs:DeleteMessageBatch",
    "sqs:ChangeMessageVisibility": "sqs:ChangeMessageVisibilityBatch",
}
#: The emulator looks neither at what a statement does nor at its table: it may all of them, or none.
STATEMENTS = frozenset(("dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"))
BATCH_OF_STATEMENTS = "dynamodb:BatchExecuteStatement"
#: The longest that STS gives.
SESSION_SECONDS = 12 * 3600


def assume(endpoint: str, role: str) -> dict[str, str]:
    """Credentials of that role, as variables."""
    sts = endpoints.client("sts", endpoint=endpoint)
    given = sts.assume_role(RoleArn=role, RoleSessionName="local-stack", DurationSeconds=SESSION_SECONDS)["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": given["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": given["SecretAccessKey"],
        "AWS_SESSION_TOKEN": given["SessionToken"],
    }


def allow_batches(assembly: Path, endpoint: str) -> None:
    """Adds to every deployed role what `with_batches` makes of its policies."""
    iam = endpoints.client("iam", endpoint=endpoint)
    for role in deployed_resources(assembly, endpoint, kinds=(ROLE,)):
        name = role.physical_id
        names = iam.list_role_policies(RoleName=name)["PolicyNames"]
        policies = [iam.get_role_policy(RoleName=name, PolicyName=each)["PolicyDocument"] for each in names]
        added = [statement for policy in policies for statement in with_batches(policy)]
        if added:
            document = json.dumps({"Version": "2012-10-17", "Statement": added})
            iam.put_role_policy(RoleName=name, PolicyName=POLICY_NAME, PolicyDocument=document)


def with_batches(policy: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The statements that allow in batches what those of the policy allow one by one."""
    for statement in policy["Statement"]:
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        batches = sorted({BATCHES[action] for action in actions if action in BATCHES})
        if batches:
            yield {**statement, "Action": batches}
        if STATEMENTS.intersection(actions):
            yield {**statement, "Action": BATCH_OF_STATEMENTS, "Resource": "*"}
