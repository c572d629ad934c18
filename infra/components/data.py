from __future__ import annotations

from aws_cdk import Names
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.components.encryption import Encryption
from infra.components.shard_count import ShardCount
from infra.components.tables import Tables
from infra.settings import Environment


class Data(Construct):
    """What must outlive every deployment: the tables, and the key they are encrypted with when it is one's own."""

    def __init__(self, scope: Construct, construct_id: str, *, environment: Environment) -> None:
        super().__init__(scope, construct_id)
        #: What it is called on the bill.
        self.deployment = Names.unique_resource_name(self, max_length=64)
        own = environment.encryption == "own"
        self.encryption = Encryption(self, "Encryption", is_protected=environment.is_protected) if own else None
        self.key = self.encryption.key if self.encryption else None
        self.shard_count = ShardCount(self, "ShardCount", wanted=environment.shard_count)
        self.tables = Tables(
            self,
            "Tables",
            is_protected=environment.is_protected,
            key=self.key,
            warm_throughput=environment.warm_throughput,
        )

    def allow_encryption(self, role: iam.Role) -> None:
        """What a role needs of the key to use tables and queues: nothing when AWS owns it."""
        if self.encryption is not None:
            self.encryption.allow_use(role)
