"""What a platform team asks of every resource: a boundary for roles, tags, and its own key for logs."""

from __future__ import annotations

from aws_cdk import Tags
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.settings import Environment

#: Of everything that one deployment has, for its bill.
DEPLOYMENT_TAG = "carillon"


def govern(scope: Construct, environment: Environment, *, deployment: str, key: kms.IKey | None) -> None:
    """Everything below the scope."""
    Tags.of(scope).add(DEPLOYMENT_TAG, deployment)
    boundary = environment.permission_boundary
    if boundary is not None:
        is_arn = boundary.startswith("arn:")
        policy = (
            iam.ManagedPolicy.from_managed_policy_arn(scope, "Boundary", boundary)
            if is_arn
            else iam.ManagedPolicy.from_managed_policy_name(scope, "Boundary", boundary)
        )
        iam.PermissionsBoundary.of(scope).apply(policy)
    for name, value in environment.tags.items():
        Tags.of(scope).add(name, value)
    if key is not None:
        for construct in scope.node.find_all():
            if isinstance(construct, logs.CfnLogGroup):
                construct.kms_key_id = key.key_arn
