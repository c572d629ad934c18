from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra.components.tables import Tables
from infra.environments import Environment
from infra.words import in_pascal_case


class DataStack(Stack):
    """What must outlive every deployment: the tables, apart from all that may be replaced."""

    def __init__(self, scope: Construct, construct_id: str, *, stack_name: str, environment: Environment) -> None:
        super().__init__(
            scope,
            construct_id,
            stack_name=stack_name,
            description="Carillon: jobs, schedules, runs, fleet and access",
            termination_protection=environment.is_protected,
        )
        self.tables = Tables(self, "Tables", is_protected=environment.is_protected)
        for name in self.tables:
            CfnOutput(self, f"{in_pascal_case(name)}Table", value=self.tables[name].table_name)
