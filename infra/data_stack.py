from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra.components.data import Data
from infra.governance import govern
from infra.settings import Environment
from infra.words import in_pascal_case


class DataStack(Stack):
    """The data apart from all that may be replaced, so that no mistake in a deployment of the rest can touch it."""

    def __init__(self, scope: Construct, construct_id: str, *, stack_name: str, environment: Environment) -> None:
        super().__init__(
            scope,
            construct_id,
            stack_name=stack_name,
            description="Carillon: jobs, schedules, runs, fleet and access",
            termination_protection=environment.is_protected,
        )
        self.data = Data(self, "Data", environment=environment)
        govern(self, environment, deployment=self.data.deployment, key=self.data.key)
        for name in self.data.tables:
            table = self.data.tables[name]
            CfnOutput(self, f"{in_pascal_case(name)}Table", value=table.table_name)
            # Kept when the service moves to restored tables: CloudFormation lets nobody take back what is imported.
            self.export_value(table.table_name)
            self.export_value(table.table_arn)
