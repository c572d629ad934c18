from __future__ import annotations

from collections.abc import Iterator, Sequence

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.words import in_pascal_case
from shared import schema

QUERY = "dynamodb:Query"
_TYPES = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}
_PROJECTIONS = {"ALL": dynamodb.ProjectionType.ALL, "KEYS_ONLY": dynamodb.ProjectionType.KEYS_ONLY}


class Tables(Construct):
    """Every table of `shared.schema`, by its logical name.

    Plain tables of one Region: fencing and leases stand on strongly consistent conditional writes, which a replica in
    another Region does not give.
    """

    def __init__(self, scope: Construct, construct_id: str, *, is_protected: bool) -> None:
        super().__init__(scope, construct_id)
        self._tables = {table.name: self._table(table, is_protected=is_protected) for table in schema.TABLES}

    def __getitem__(self, logical_name: str) -> dynamodb.Table:
        return self._tables[logical_name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def allow(self, role: iam.Role, logical_name: str, actions: Sequence[str]) -> None:
        """Allow the actions on a table, and queries on its indexes, which are resources of their own."""
        table = self._tables[logical_name]
        role.add_to_policy(iam.PolicyStatement(actions=[*actions], resources=[table.table_arn]))
        indexes = [f"{table.table_arn}/index/{index.name}" for index in _shape_of(logical_name).indexes]
        if QUERY in actions and indexes:
            role.add_to_policy(iam.PolicyStatement(actions=[QUERY], resources=indexes))

    def _table(self, shape: schema.Table, *, is_protected: bool) -> dynamodb.Table:
        table = dynamodb.Table(
            self,
            in_pascal_case(shape.name),
            partition_key=_attribute(shape.partition),
            sort_key=_attribute(shape.sort) if shape.sort else None,
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            time_to_live_attribute=shape.ttl,
            deletion_protection=is_protected,
            removal_policy=RemovalPolicy.RETAIN if is_protected else RemovalPolicy.DESTROY,
        )
        for index in shape.indexes:
            _add_index(table, index)
        return table


def _shape_of(logical_name: str) -> schema.Table:
    return next(table for table in schema.TABLES if table.name == logical_name)


def _add_index(table: dynamodb.Table, index: schema.Index) -> None:
    if index.is_local:
        table.add_local_secondary_index(
            index_name=index.name, sort_key=_attribute(index.sort), projection_type=_PROJECTIONS[index.projection]
        )
        return
    table.add_global_secondary_index(
        index_name=index.name,
        partition_key=_attribute(index.partition),
        sort_key=_attribute(index.sort),
        projection_type=_PROJECTIONS[index.projection],
    )


def _attribute(attribute: schema.Attribute) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=attribute.name, type=_TYPES[attribute.type])
