"""What is stored is encrypted with keys that AWS owns, or with one key of the account, which then can be taken away."""

from __future__ import annotations

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

#: What DynamoDB and SQS ask of whoever calls them about a table or queue under a key of the account.
USE = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)
#: DynamoDB keeps a grant for what it does by itself, such as expiring rows and making backups.
GRANT = "kms:CreateGrant"


class Encryption(Construct):
    """One key for tables, queues, logs and alarms. Losing it is losing them, so it stays when its stack goes."""

    def __init__(self, scope: Construct, construct_id: str, *, is_protected: bool) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            description="Carillon: tables, queues, logs, alarms",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN if is_protected else RemovalPolicy.DESTROY,
        )
        self._admit_services()

    def _admit_services(self) -> None:
        """Services that write for us without a role of ours: log groups, and alarms that publish to a topic."""
        stack = Stack.of(self)
        services = {
            f"logs.{stack.region}.amazonaws.com": {
                "ArnLike": {
                    "kms:EncryptionContext:aws:logs:arn": f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:*"
                }
            },
            "cloudwatch.amazonaws.com": {"StringEquals": {"aws:SourceAccount": stack.account}},
        }
        for principal, condition in services.items():
            self.key.add_to_resource_policy(
                iam.PolicyStatement(
                    principals=[iam.ServicePrincipal(principal)],
                    actions=["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey", "kms:ReEncrypt*"],
                    resources=["*"],
                    conditions=condition,
                )
            )

    def allow_use(self, role: iam.Role) -> None:
        """By way of DynamoDB and SQS only: with these rights the role can decrypt nothing by itself."""
        stack = Stack.of(self)
        through = [f"{service}.{stack.region}.amazonaws.com" for service in ("dynamodb", "sqs")]
        role.add_to_policy(
            iam.PolicyStatement(
                actions=[*USE],
                resources=[self.key.key_arn],
                conditions={"StringEquals": {"kms:ViaService": through}},
            )
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=[GRANT],
                resources=[self.key.key_arn],
                # To the service itself, and to nobody whom the role chooses.
                conditions={
                    "StringEquals": {"kms:ViaService": through},
                    "Bool": {"kms:GrantIsForAWSResource": "true"},
                },
            )
        )
