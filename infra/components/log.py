from __future__ import annotations

from types import MappingProxyType

from aws_cdk import RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.settings import Environment

_RETENTION = MappingProxyType(
    {
        1: logs.RetentionDays.ONE_DAY,
        3: logs.RetentionDays.THREE_DAYS,
        5: logs.RetentionDays.FIVE_DAYS,
        7: logs.RetentionDays.ONE_WEEK,
        14: logs.RetentionDays.TWO_WEEKS,
        30: logs.RetentionDays.ONE_MONTH,
        60: logs.RetentionDays.TWO_MONTHS,
        90: logs.RetentionDays.THREE_MONTHS,
        120: logs.RetentionDays.FOUR_MONTHS,
        150: logs.RetentionDays.FIVE_MONTHS,
        180: logs.RetentionDays.SIX_MONTHS,
        365: logs.RetentionDays.ONE_YEAR,
        400: logs.RetentionDays.THIRTEEN_MONTHS,
        545: logs.RetentionDays.EIGHTEEN_MONTHS,
        731: logs.RetentionDays.TWO_YEARS,
        1096: logs.RetentionDays.THREE_YEARS,
        1827: logs.RetentionDays.FIVE_YEARS,
        2192: logs.RetentionDays.SIX_YEARS,
        2557: logs.RetentionDays.SEVEN_YEARS,
        2922: logs.RetentionDays.EIGHT_YEARS,
        3653: logs.RetentionDays.TEN_YEARS,
    }
)


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
