from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.environments import Environment

_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
}


class Log(Construct):
    """A log group that forgets."""

    def __init__(self, scope: Construct, construct_id: str, *, environment: Environment) -> None:
        super().__init__(scope, construct_id)
        self.group = logs.LogGroup(
            self,
            "Group",
            retention=_RETENTION[environment.log_retention_days],
            removal_policy=RemovalPolicy.RETAIN if environment.is_protected else RemovalPolicy.DESTROY,
        )

    def allow_writing(self, role: iam.Role) -> None:
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[self.group.log_group_arn]
            )
        )
