from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct

from infra.words import in_pascal_case
from shared import schema

QUERY = "dynamodb:Query"


class TableAccess(Construct):
    """The tables of `shared.schema` by logical name, whoever made them, and what roles may do with them."""

    _tables: Mapping[str, dynamodb.ITable]

    def __getitem__(self, logical_name: str) -> dynamodb.ITable:
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

    def allow_partition(self, role: iam.Role, logical_name: str, actions: Sequence[str], *, partition: str) -> None:
        """Allow the actions on the rows of one partition key alone."""
        condition = {"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [partition]}}
        arn = self._tables[logical_name].table_arn
        role.add_to_policy(iam.PolicyStatement(actions=[*actions], resources=[arn], conditions=condition))


class RestoredTables(TableAccess):
    """Tables that `functions.scheduler.recovery` has made, by their physical names. No stack owns them."""

    def __init__(self, scope: Construct, construct_id: str, *, names: Mapping[str, str]) -> None:
        super().__init__(scope, construct_id)
        self._tables = {
            table.name: dynamodb.Table.from_table_name(self, in_pascal_case(table.name), names[table.name])
            for table in schema.TABLES
        }


def _shape_of(logical_name: str) -> schema.Table:
    return next(table for table in schema.TABLES if table.name == logical_name)
